//! What the demo is played on: two logins of one person, session files as Claude Code keeps them,
//! and a store with each agent's chain.

use crate::claude::dirs::Places;
use crate::claude::identity::{account_file, key};
use crate::claude::layout;
use crate::cli::terminal::now_ms;
use crate::segments::{EndReason, Rung, Start, record_end_with_provider_bytes, record_session, record_start};
use crate::spawn::{Login, Offered, Parentage, SpawnRequest};
use crate::store::{SqliteStore, WRITER_WAIT};
use serde_json::json;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The session that a pane still holds although the conversation moved on.
pub(super) const STALE: &str = "91ab3c60-1f0e-4c7b-9d52-6a1c0f3e7b11";
/// The session it moved on to.
const NEWEST: &str = "5f2c8d14-7a36-4e0b-8c19-d2e4b7a09c55";
/// A session that was announced and never written.
const NEVER_WRITTEN: &str = "c0a81b7e-52d4-4f6a-b3e8-19f7d60c2a83";
/// A session that was left under another login.
const ELSEWHERE: &str = "e37d5a92-0b84-4d1f-a6c5-3f9b82e1d740";
/// A session that somebody continued in a terminal.
const CONTINUED: &str = "2b9e6f08-c473-4a5d-91e2-7d0c5b8a3f66";
/// The session that an agent was forked at.
const PARENTS: &str = "84d0f1c3-6e29-47ab-8f50-b1c9e2d73a04";

const ACCOUNT: &str = "3d1f0c5e-demo-account";
const ORGANIZATION: &str = "a7b24e90-demo-organization";
/// How long one spawn of the demo may take.
const BUDGET: Duration = Duration::from_secs(5);

/// One of the six decisions, as something that happens to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    Allow,
    Redirect,
    Refuse,
    Relocate,
    Fork,
    ForkFrom,
}

impl Scene {
    /// In the order in which they are shown.
    pub(super) const ALL: [Self; 6] =
        [Self::Allow, Self::Redirect, Self::Refuse, Self::Relocate, Self::Fork, Self::ForkFrom];

    /// What happened before the spawn.
    pub(super) fn story(self) -> &'static str {
        match self {
            Self::Allow => "1. The pane holds the agent's newest session, and its file is as it was left.",
            Self::Redirect => {
                "2. The pane still holds a session from nine days ago; the agent has had a newer one since."
            }
            Self::Refuse => "3. The newest session was announced, but its process died before it wrote anything.",
            Self::Relocate => "4. A rebuild signed in again with an empty login; the conversation lies in the old one.",
            Self::Fork => "5. Somebody resumed the agent's session in a terminal and went on there.",
            Self::ForkFrom => "6. The agent was just forked from another one and has said nothing yet.",
        }
    }

    /// The agent it happens to.
    pub(super) fn agent(self) -> &'static str {
        match self {
            Self::Allow => "ada",
            Self::Redirect => "brian",
            Self::Refuse => "chandra",
            Self::Relocate => "dana",
            Self::Fork => "edsger",
            Self::ForkFrom => "frances",
        }
    }
}

/// The demo's folder with the logins and the store.
#[derive(Debug)]
pub(super) struct Stage {
    login: PathBuf,
    old_login: PathBuf,
    work: PathBuf,
    store: PathBuf,
}

/// What comes of laying something out.
pub(super) type Played<T> = Result<T, Box<dyn Error>>;

impl Stage {
    /// Lays the logins and the working directory out.
    pub(super) fn new(folder: &Path) -> std::io::Result<Self> {
        let stage = Self {
            login: folder.join("login"),
            old_login: folder.join("old-login"),
            work: folder.join("work"),
            store: folder.join("store").join("filestore.db"),
        };
        fs::create_dir_all(&stage.work)?;
        for login in [&stage.login, &stage.old_login] {
            fs::create_dir_all(login)?;
            let account = json!({ "oauthAccount": { "accountUuid": ACCOUNT, "organizationUuid": ORGANIZATION } });
            fs::write(account_file(login), account.to_string())?;
        }
        Ok(stage)
    }

    /// Lets a scene happen, up to the spawn that is about to follow.
    pub(super) fn play(&self, scene: Scene) -> Played<SpawnRequest> {
        let agent = scene.agent();
        let mut request = self.request(agent, STALE);
        match scene {
            Scene::Allow => {
                self.lived(agent, &self.login, NEWEST)?;
                request.candidate = Some(NEWEST.to_owned());
            }
            Scene::Redirect => {
                self.lived(agent, &self.login, STALE)?;
                self.lived(agent, &self.login, NEWEST)?;
            }
            Scene::Refuse => {
                self.lived(agent, &self.login, STALE)?;
                self.record(agent, &self.login, NEVER_WRITTEN, EndReason::Crashed, None)?;
            }
            Scene::Relocate => {
                self.lived(agent, &self.old_login, ELSEWHERE)?;
                request.candidate = Some(ELSEWHERE.to_owned());
            }
            Scene::Fork => {
                self.lived(agent, &self.login, CONTINUED)?;
                self.say(&self.login, CONTINUED, "And one more thing, from the terminal.")?;
                request.candidate = Some(CONTINUED.to_owned());
            }
            Scene::ForkFrom => {
                self.lived("grace", &self.old_login, PARENTS)?;
                request.candidate = Some(PARENTS.to_owned());
                request.parentage = Parentage::ForkOf("grace".to_owned());
            }
        }
        Ok(request)
    }

    fn request(&self, agent: &str, candidate: &str) -> SpawnRequest {
        SpawnRequest {
            agent_uid: Some(agent.to_owned()),
            provider: "claude".to_owned(),
            candidate: Some(candidate.to_owned()),
            offered: Offered::Held,
            poisoned: None,
            login: Login::Named(self.login.to_string_lossy().into_owned()),
            cwd: self.work.to_string_lossy().into_owned(),
            identity: None,
            current: None,
            parentage: Parentage::None,
            store: Some(self.store.clone()),
            places: Places::default(),
            budget: BUDGET,
        }
    }

    /// A session that was held, and whose process then ended in good order.
    fn lived(&self, agent: &str, login: &Path, session: &str) -> Played<()> {
        let bytes = self.say(login, session, "Good morning. Where were we?")?;
        self.record(agent, login, session, EndReason::Exited, Some(bytes))
    }

    fn record(&self, agent: &str, login: &Path, session: &str, reason: EndReason, bytes: Option<u64>) -> Played<()> {
        let mut store = SqliteStore::recorder(&self.store, WRITER_WAIT)?;
        let start = Start {
            agent_uid: agent.to_owned(),
            provider: "claude".to_owned(),
            config_dir: Some(login.to_string_lossy().into_owned()),
            cwd: self.work.to_string_lossy().into_owned(),
            continuity_rung: Rung::Fresh,
            identity_key: Some(key(ACCOUNT, ORGANIZATION)),
            ..Start::default()
        };
        let segment = record_start(&mut store, &start, now_ms())?;
        record_session(&mut store, agent, &segment, session, now_ms())?;
        record_end_with_provider_bytes(&mut store, agent, &segment, reason, None, bytes, now_ms())?;
        Ok(())
    }

    /// Appends a turn to a session's file; its size afterwards, in bytes.
    fn say(&self, login: &Path, session: &str, text: &str) -> Played<u64> {
        let file = layout::session_file(login, &self.work, session).ok_or("the session id is no file name")?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut content = fs::read_to_string(&file).unwrap_or_default();
        for (kind, text) in [("user", text), ("assistant", "I am listening.")] {
            let record = json!({
                "type": kind,
                "uuid": uuid::Uuid::new_v4().to_string(),
                "sessionId": session,
                "cwd": self.work,
                "message": { "role": kind, "content": text },
            });
            content.push_str(&format!("{record}\n"));
        }
        fs::write(&file, &content)?;
        Ok(content.len() as u64)
    }
}
