//! A temporary place laid out from a short story: logins, session files, segment logs, links.
//!
//! One statement a line (or between semicolons), in the words of the field reports:
//!
//! ```text
//! start g1 @1000 uid=u1 cfg=/cfg/a cwd=/w key=K1 sid=A from=P provider=claude   (left out: uid=u1 cfg=/cfg/a cwd=/w)
//! session g1 A
//! end g1 @2000 crashed pbytes=500
//! files /cfg/a:-w/A=500 B=700            (whole conversations of that many bytes; default place /cfg/a:-w)
//! marker /cfg/b:-w/A owner=u1 bytes=500  (beside a copy)
//! account /cfg/a a1 o1 bom
//! dir /w/x · link /w -> /real/w
//! ```
//!
//! Paths that begin with `/` lie under the temporary place; project folders are given without that
//! place's part of their name. Everything else is taken as it stands.

use super::agentmux::{Made, write_store};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary place with everything that a spawn can see.
pub struct World {
    dir: TempDir,
    root: PathBuf,
    logs: BTreeMap<String, Vec<u8>>,
    agent_of: BTreeMap<String, String>,
}

impl World {
    /// A place with a home and the working directory `/w`, no store, and no login.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        Self { dir, root, logs: BTreeMap::new(), agent_of: BTreeMap::new() }
    }

    /// The place that a story tells of, with a store of AgentMux's newest kind.
    pub fn of(story: &str) -> Self {
        Self::made(Made::ByNewVersion, story)
    }

    /// The same with a store of this kind.
    pub fn made(made: Made, story: &str) -> Self {
        let mut world = Self::empty();
        world.tell(story);
        write_store(&world.store(), made, &world.logs);
        world
    }

    /// Goes on with the story; the store is written anew.
    pub fn then(&mut self, story: &str) {
        self.tell(story);
        drop(fs::remove_dir_all(self.root.join("store")));
        write_store(&self.store(), Made::ByNewVersion, &self.logs);
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.root.join("store/filestore.db")
    }

    /// The temporary place.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path of the story.
    pub fn at(&self, path: &str) -> PathBuf {
        PathBuf::from(self.place(path))
    }

    /// A path of the story as text; one that does not begin with `/` stays as it is.
    pub fn place(&self, path: &str) -> String {
        if path.starts_with('/') { format!("{}{path}", self.root.display()) } else { path.to_owned() }
    }

    /// The file of a session, `/cfg/a:-w/A`.
    pub fn session(&self, file: &str) -> PathBuf {
        let (login, rest) = file.split_once(':').unwrap_or_else(|| panic!("no login in `{file}`"));
        let (folder, id) = rest.split_once('/').unwrap_or_else(|| panic!("no session in `{file}`"));
        let folder = project_name(&self.root.to_string_lossy()) + folder;
        self.at(login).join("projects").join(folder).join(format!("{id}.jsonl"))
    }

    /// An agent's log, byte for byte, instead of what was told of it.
    pub fn log(&mut self, uid: &str, bytes: impl Into<Vec<u8>>) {
        self.logs.insert(uid.to_owned(), bytes.into());
        self.then("");
    }

    /// What an agent's log holds by the story.
    pub fn told(&self, uid: &str) -> &[u8] {
        self.logs.get(uid).map_or(&[], Vec::as_slice)
    }

    fn tell(&mut self, story: &str) {
        for statement in story.split(['\n', ';']).map(str::trim).filter(|statement| !statement.is_empty()) {
            self.statement(&words(statement));
        }
        let cwd = self.at("/w");
        if fs::symlink_metadata(&cwd).is_err() {
            fs::create_dir(cwd).unwrap();
        }
    }

    fn statement(&mut self, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["start", segment, fields @ ..] => self.start(segment, fields),
            ["session", segment, id, rest @ ..] => {
                let at = moment(rest);
                let event =
                    serde_json::json!({"event":"session","segment_id":segment,"provider_session_id":id,"at_ms":at});
                self.event(segment, &event);
            }
            ["end", segment, rest @ ..] => {
                let reason = rest.iter().find(|word| !word.starts_with('@') && !word.contains('='));
                let event = serde_json::json!({
                    "event": "end", "segment_id": segment, "ended_at_ms": moment(rest),
                    "end_reason": reason.unwrap_or(&"exited"), "byte_end": null,
                    "provider_bytes_end": field(rest, "pbytes").map(|bytes| bytes.parse::<u64>().unwrap()),
                });
                self.event(segment, &event);
            }
            ["files", files @ ..] => files.iter().for_each(|file| {
                let (name, size) = file.split_once('=').unwrap_or_else(|| panic!("no size in `{file}`"));
                let name = if name.contains(':') { name.to_owned() } else { format!("/cfg/a:-w/{name}") };
                put(&self.session(&name), &conversation(size.parse().unwrap()));
            }),
            ["marker", file, rest @ ..] => {
                let session = self.session(file);
                let size = fs::metadata(&session).map_or(0, |found| found.len());
                let marker = serde_json::json!({
                    "owner_uid": field(rest, "owner").unwrap_or("u1"),
                    "source": "/elsewhere",
                    "bytes": field(rest, "bytes").map_or(size, |bytes| bytes.parse().unwrap()),
                    "token": field(rest, "token").unwrap_or("t1"),
                });
                put(&marker_of(&session), format!("{marker}\n").as_bytes());
            }
            ["account", login, account, organization, how @ ..] => {
                let text = account_file(account, organization, how);
                put(&self.at(login).join(".claude.json"), &text);
            }
            ["dir", path] => fs::create_dir_all(self.at(path)).unwrap(),
            ["link", link, "->", target] => {
                let link = self.at(link);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(self.place(target), link).unwrap();
            }
            other => panic!("no such statement: {other:?}"),
        }
    }

    fn start(&mut self, segment: &str, fields: &[&str]) {
        let uid = field(fields, "uid").unwrap_or("u1");
        let path = |name, default| field(fields, name).unwrap_or(default);
        let dir = |path: &str| (path != "-").then(|| self.place(path));
        let event = serde_json::json!({
            "event": "start", "segment_id": segment, "agent_uid": uid, "definition_id": null,
            "provider": field(fields, "provider").unwrap_or("claude"),
            "config_dir": dir(path("cfg", "/cfg/a")), "provider_session_id": field(fields, "sid"),
            "cwd": dir(path("cwd", "/w")).unwrap_or_default(), "channel": "dev", "agentmux_version": "0.57.7",
            "block_id": "b1", "zone": null, "byte_start": null, "started_at_ms": moment(fields),
            "continuity_rung": field(fields, "rung").unwrap_or("fresh"),
            "predecessor_segment_id": field(fields, "pred"), "lease_epoch": null,
            "identity_key": field(fields, "key"), "forked_from": field(fields, "from"),
        });
        self.agent_of.insert(segment.to_owned(), uid.to_owned());
        self.event(segment, &event);
    }

    fn event(&mut self, segment: &str, event: &serde_json::Value) {
        let uid = self.agent_of.get(segment).map_or("u1", String::as_str);
        self.logs.entry(uid.to_owned()).or_default().extend_from_slice(format!("{event}\n").as_bytes());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What a test made unreadable has to be readable to be taken away.
        let _ = std::process::Command::new("chmod").arg("-R").arg("u+rwX").arg(self.dir.path()).status();
    }
}

/// Words between blanks; double quotes keep blanks in.
fn words(statement: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in statement.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    // A word of nothing but quotes is an empty one on purpose.
    let blank = statement.contains("\"\"");
    words.retain(|word| blank || !word.is_empty());
    words
}

/// The value of `name=value`.
pub fn field<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn moment(words: &[&str]) -> i64 {
    words.iter().find_map(|word| word.strip_prefix('@')).map_or(1000, |ms| ms.parse().unwrap())
}

/// Writes a file and the folders above it.
pub fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Where the marker of a session's file lies.
pub fn marker_of(session: &Path) -> PathBuf {
    PathBuf::from(format!("{}.agentmux-relocated", session.display()))
}

/// A conversation of exactly this many bytes, whole where that many are enough for a record.
pub fn conversation(bytes: usize) -> Vec<u8> {
    let (start, end) = (r#"{"type":"user","uuid":"11111111-1111-4111-8111-111111111111","message":""#, "\"}\n");
    match bytes.checked_sub(start.len() + end.len()) {
        Some(rest) => format!("{start}{}{end}", "x".repeat(rest)).into_bytes(),
        None => vec![b'x'; bytes],
    }
}

fn account_file(account: &str, organization: &str, how: &[&str]) -> Vec<u8> {
    let email = how.iter().find(|word| word.contains('@')).unwrap_or(&"x@example.org");
    let text = format!(
        "{{\n  \"numStartups\": 4,\n  \"oauthAccount\": {{\n    \"accountUuid\": \"{account}\",\n    \
         \"organizationUuid\": \"{organization}\",\n    \"emailAddress\": \"{email}\"\n  }}\n}}\n"
    );
    let text = if how.contains(&"crlf") { text.replace('\n', "\r\n") } else { text };
    let mark: &[u8] = if how.contains(&"bom") { b"\xef\xbb\xbf" } else { b"" };
    [mark, text.as_bytes()].concat()
}

/// The name that Claude gives the folder of a working directory, worked out apart from the crate.
pub fn project_name(path: &str) -> String {
    let units: Vec<u16> = path.encode_utf16().collect();
    let name: String = units
        .iter()
        .map(|&unit| char::from_u32(unit.into()).filter(char::is_ascii_alphanumeric).unwrap_or('-'))
        .collect();
    if units.len() <= 200 {
        return name;
    }
    let mut hash = 0_i32;
    for unit in units {
        hash = hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    }
    let (mut rest, mut digits) = (i64::from(hash).abs(), Vec::new());
    while rest > 0 || digits.is_empty() {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[usize::try_from(rest % 36).unwrap()]);
        rest /= 36;
    }
    digits.reverse();
    format!("{}-{}", &name[..200], String::from_utf8(digits).unwrap())
}
