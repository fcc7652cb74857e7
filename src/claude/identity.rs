//! Who is signed in at a login, as a key that can be compared and gives nobody away.

use super::dirs::{Places, same_dir};
use super::json;
use super::open::{OpenError, read_small};
use crate::gate::{Head, is_claude};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The largest account file that is read, in bytes. Years of use make some of tens of megabytes.
const ACCOUNT_FILE_BYTES_MAX: u64 = 256 << 20;

/// Bytes of the hash that make the key; two hex digits each.
const KEY_BYTES: usize = 8;

/// How the spawn came by its login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// It was named (`CLAUDE_CONFIG_DIR`, or recorded).
    Named,
    /// None was named, and the provider takes its ambient one.
    Defaulted,
}

/// Why nobody is known to be signed in. Never a reason to take two logins for different people.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The ambient login was named, and then its own account file may be stale.
    #[error("the ambient login was named explicitly, and its own account file may be out of date")]
    AmbientNamed,
    /// There is no home directory to look in.
    #[error("there is no home directory to look in")]
    NoHome,
    /// The account file cannot be read.
    #[error("its account file cannot be read: {0}")]
    Open(#[from] OpenError),
    /// The account file is no JSON object: empty, cut, or reset.
    #[error("its account file is empty or cut")]
    NotWhole,
    /// The account file names no account with its organisation: nobody signed in, or with an API
    /// key or at a cloud provider.
    #[error("its account file names no account and organisation")]
    NotSignedIn,
}

/// What an account file says.
#[derive(Debug)]
pub struct Identity {
    /// The file that was looked at, if it came to that.
    pub path: Option<PathBuf>,
    /// The key, or why there is none.
    pub key: Result<String, Unknown>,
}

/// Who is signed in at a login.
#[must_use]
pub fn identity(config_dir: &Path, login: Login, places: &Places) -> Identity {
    let path = match (login, places.ambient_config_dir()) {
        (Login::Defaulted, _) => match &places.home {
            Some(home) => home.join(".claude.json"),
            None => return Identity { path: None, key: Err(Unknown::NoHome) },
        },
        (Login::Named, Some(ambient)) if same_dir(config_dir, &ambient) => {
            return Identity { path: None, key: Err(Unknown::AmbientNamed) };
        }
        (Login::Named, _) => account_file(config_dir),
    };
    let key = read_small(&path, ACCOUNT_FILE_BYTES_MAX).map_err(Unknown::from).and_then(|text| key_in(&text));
    Identity { path: Some(path), key }
}

/// The head with the key that its own login has now, for one that was recorded before keys were.
/// A recorded key always wins; what cannot be read stays unknown.
#[must_use]
pub fn with_legacy_identity(head: Head, places: &Places) -> Head {
    if head.identity_key.is_some() || !is_claude(&head.provider) {
        return head;
    }
    let config_dir = places.usable(head.config_dir.as_deref());
    let key = config_dir.and_then(|config_dir| identity(&config_dir, Login::Named, places).key.ok());
    Head { identity_key: key, ..head }
}

/// The account file of a login that was named.
#[must_use]
pub fn account_file(config_dir: &Path) -> PathBuf {
    config_dir.join(".claude.json")
}

/// The key of the account that an account file names.
///
/// # Errors
///
/// Why it names none.
pub fn key_in(account_file: &[u8]) -> Result<String, Unknown> {
    let text = json::without_mark(account_file);
    let Ok([account]) = json::pick(text, ["oauthAccount"]) else { return Err(Unknown::NotWhole) };
    let field = |name| match account.as_ref().and_then(|account| account.get(name)) {
        Some(Value::String(text)) => Some(text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    };
    match (field("accountUuid"), field("organizationUuid")) {
        (Some(account), Some(organization)) => Ok(key(account, organization)),
        _ => Err(Unknown::NotSignedIn),
    }
}

/// The key of an account in an organisation: the first 16 hex digits of SHA-256 over `claude`,
/// the account and the organisation with NUL between them.
#[must_use]
pub fn key(account: &str, organization: &str) -> String {
    let hash = Sha256::digest(format!("claude\0{account}\0{organization}"));
    hash.iter().take(KEY_BYTES).fold(String::with_capacity(2 * KEY_BYTES), |mut key, byte| {
        // Writing to a string does not fail.
        let _ = write!(key, "{byte:02x}");
        key
    })
}
