//! Session files as the CLI writes them: records appended line by line, each turn linked to the one
//! before it, a fork beginning as a copy of its parent's turns.

use crate::Version;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub(crate) fn is_uuid(id: &str) -> bool {
    id.len() == 36 && uuid::Uuid::try_parse(id).is_ok()
}

/// The name of a project's folder. Longer than 200 units it is cut and hashed, but not by the oldest version.
pub(crate) fn project_name(version: Version, cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let units: Vec<u16> = path.encode_utf16().collect();
    let name: String = units
        .iter()
        .map(|&unit| char::from_u32(unit.into()).filter(char::is_ascii_alphanumeric).unwrap_or('-'))
        .collect();
    if version == Version::O || name.len() <= 200 {
        return name;
    }
    let hash = units.iter().fold(0_i32, |hash, &unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    format!("{}-{}", name.get(..200).unwrap_or(&name), base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Creates a folder and those above it: private in the oldest version, by the umask in the others.
pub(crate) fn create_private_dirs(version: Version, folder: &Path) -> io::Result<()> {
    let mode = if version == Version::O { 0o700 } else { 0o755 };
    DirBuilder::new().recursive(true).mode(mode).create(folder)
}

pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

/// The turns that a resume sees: those on the way from the last one back to the first.
pub(crate) struct Conversation {
    turns: Vec<Value>,
}

impl Conversation {
    /// Reads a session file; none if it holds no conversation.
    pub(crate) fn load(path: &Path) -> io::Result<Option<Self>> {
        let bytes = std::fs::read(path)?;
        let records: Vec<Value> =
            bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let by_uuid: HashMap<&str, &Value> =
            records.iter().filter_map(|record| Some((record["uuid"].as_str()?, record))).collect();
        let mut turns = Vec::new();
        let mut next = records.iter().rev().find(|record| is_turn(record));
        while let Some(record) = next {
            turns.push(record.clone());
            next = record["parentUuid"].as_str().and_then(|uuid| by_uuid.get(uuid).copied());
            if turns.len() > records.len() {
                break;
            }
        }
        turns.reverse();
        Ok(turns.iter().any(|turn| turn["type"] == "user").then_some(Self { turns }))
    }
}

fn is_turn(record: &Value) -> bool {
    matches!(record["type"].as_str(), Some("user" | "assistant"))
}

/// The session being written.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    version: Version,
    path: PathBuf,
    file: Option<File>,
    cwd: PathBuf,
    leaf: Option<String>,
    fresh: bool,
    parents: Option<Conversation>,
}

impl Session {
    pub(crate) fn fresh(version: Version, project: &Path, id: String, cwd: &Path) -> io::Result<Self> {
        let path = project.join(format!("{id}.jsonl"));
        let mut session =
            Self { id, version, path, file: None, cwd: cwd.to_owned(), leaf: None, fresh: true, parents: None };
        if version == Version::O {
            session.file()?;
        }
        Ok(session)
    }

    pub(crate) fn fork(version: Version, project: &Path, id: String, cwd: &Path, of: Conversation) -> io::Result<Self> {
        let mut session = Self::fresh(version, project, id, cwd)?;
        session.parents = Some(of);
        session.fresh = false;
        Ok(session)
    }

    pub(crate) fn resume(
        version: Version,
        path: PathBuf,
        id: String,
        cwd: &Path,
        of: Conversation,
    ) -> io::Result<Self> {
        let leaf = of.turns.last().and_then(uuid_of);
        let file = Some(OpenOptions::new().append(true).open(&path)?);
        let mut session = Self { id, version, path, file, cwd: cwd.to_owned(), leaf, fresh: false, parents: None };
        session.answer_unanswered(of.turns.last())?;
        Ok(session)
    }

    /// The file comes into being with its first record.
    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => create_private(&self.path)?,
        };
        Ok(self.file.insert(file))
    }

    fn append(&mut self, record: &Value) -> io::Result<()> {
        self.file()?.write_all(format!("{record}\n").as_bytes())
    }

    fn append_turn(&mut self, mut record: Value) -> io::Result<()> {
        let uuid = new_uuid();
        record["parentUuid"] = self.leaf.clone().into();
        record["isSidechain"] = false.into();
        record["uuid"] = uuid.clone().into();
        record["timestamp"] = now().into();
        record["cwd"] = self.cwd.to_string_lossy().into();
        record["sessionId"] = self.id.clone().into();
        record["version"] = self.version.name().into();
        record["gitBranch"] = "".into();
        self.leaf = Some(uuid);
        self.append(&record)
    }

    /// The bookkeeping before a turn.
    pub(crate) fn begin_turn(&mut self, prompt: &str) -> io::Result<()> {
        if self.version > Version::O {
            self.append(&json!({"type": "queue-operation", "operation": "enqueue", "timestamp": now(),
                "sessionId": self.id, "content": prompt}))?;
        }
        let dequeue =
            json!({"type": "queue-operation", "operation": "dequeue", "timestamp": now(), "sessionId": self.id});
        self.append(&dequeue)
    }

    /// Writes the parent's turns, with their uuids, in pieces that end anywhere, over `time`.
    pub(crate) fn copy_parent(&mut self, time: Duration) -> io::Result<()> {
        const PIECES: u32 = 8;
        let Some(parent) = self.parents.take() else { return Ok(()) };
        let mut text = String::new();
        for turn in &parent.turns {
            let mut turn = turn.clone();
            if self.version == Version::O && turn["type"] == "user" {
                if let Some(words) = turn["message"]["content"].as_str() {
                    turn["message"]["content"] = json!([{"type": "text", "text": words}]);
                }
            } else {
                turn["sessionId"] = self.id.clone().into();
            }
            text.push_str(&turn.to_string());
            text.push('\n');
        }
        for piece in text.as_bytes().chunks(text.len().div_ceil(PIECES as usize).max(1)) {
            self.file()?.write_all(piece)?;
            std::thread::sleep(time / PIECES);
        }
        self.leaf = parent.turns.last().and_then(uuid_of);
        self.answer_unanswered(parent.turns.last())
    }

    /// The newer versions close a turn that was never answered before they go on.
    fn answer_unanswered(&mut self, last: Option<&Value>) -> io::Result<()> {
        if self.version > Version::O && last.is_some_and(|turn| turn["type"] == "user") {
            self.append_turn(json!({"type": "assistant", "message": {"role": "assistant", "model": "<synthetic>",
                "content": [{"type": "text", "text": "No response requested."}]}}))?;
        }
        Ok(())
    }

    pub(crate) fn user(&mut self, prompt: &str) -> io::Result<()> {
        self.append_turn(json!({"type": "user", "message": {"role": "user", "content": prompt}}))?;
        if self.fresh && self.version > Version::O {
            self.append_turn(
                json!({"type": "attachment", "attachment": {"type": "skill_listing", "content": "- none"}}),
            )?;
        }
        self.fresh = false;
        Ok(())
    }

    pub(crate) fn assistant(&mut self, reply: &str, error: Option<u16>) -> io::Result<()> {
        let model = if error.is_some() { "<synthetic>" } else { "stub" };
        let mut record = json!({"type": "assistant", "message": {"role": "assistant", "model": model,
            "content": [{"type": "text", "text": reply}]}});
        if error.is_some() {
            record["isApiErrorMessage"] = true.into();
        }
        self.append_turn(record)
    }

    /// The bookkeeping after a turn, written when its result is already out.
    pub(crate) fn end_turn(&mut self, prompt: &str) -> io::Result<()> {
        self.append(&json!({"type": "last-prompt", "lastPrompt": prompt, "sessionId": self.id}))?;
        if self.version == Version::L {
            self.append(&json!({"type": "cost-state", "sessionId": self.id, "totalCostUSD": 0.00014}))?;
        }
        Ok(())
    }

    /// What opening in a terminal writes to a session that exists.
    pub(crate) fn note_opened(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            self.append(&json!({"type": "mode", "mode": "normal", "sessionId": self.id}))?;
        }
        Ok(())
    }

    /// What quitting writes there.
    pub(crate) fn note_closed(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            self.append(
                &json!({"type": "last-prompt", "lastPrompt": "", "sessionId": self.id, "filler": "-".repeat(80)}),
            )?;
        }
        Ok(())
    }

    pub(crate) fn note_interrupted(&mut self) -> io::Result<()> {
        if self.version == Version::L {
            self.append_turn(json!({"type": "user", "message": {"role": "user",
                "content": [{"type": "text", "text": "[Request interrupted by user]"}]}}))?;
        }
        self.append(&json!({"type": "last-prompt", "lastPrompt": "", "sessionId": self.id}))
    }
}

fn uuid_of(record: &Value) -> Option<String> {
    record["uuid"].as_str().map(str::to_owned)
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}
