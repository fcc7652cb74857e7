//! The command itself, run in a [`World`]: an environment with nothing in it but a home of its own,
//! and one call that asks every way of asking at once and holds the answers against each other.

use super::agentmux::read_log;
use super::support::reference;
use super::world::{World, field};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longer than any answer takes on a busy machine, far shorter than waiting for ever.
const PROMPT: Duration = Duration::from_secs(8);

/// What one run of the command gave.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Exit status.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Answer {
    fn new(output: Output, took: Duration) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let answer = Self {
            status: output.status.code().unwrap_or_else(|| panic!("ended by a signal: {output:?}")),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            took,
        };
        assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
        assert!(answer.took < PROMPT, "took {:?}: {answer:?}", answer.took);
        answer
    }

    /// Standard output as the one JSON document it must be.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one document on one line: {self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl World {
    /// The command with nothing in its environment but a home of its own.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_resume-gate"));
        command.env_clear().env("HOME", self.root().join("home")).current_dir(self.root());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command with these arguments.
    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        let mut command = self.command();
        for (place, arg) in args.into_iter().enumerate() {
            command.arg(&arg);
            // The decision log has tests of its own.
            if place == 0 && arg.as_ref() == "decide" {
                command.arg("--no-log");
            }
        }
        run(&mut command)
    }

    /// Runs the command and feeds it this on standard input.
    pub fn feed(&self, args: &[&str], input: &[u8]) -> Answer {
        let began = Instant::now();
        let mut child = self.command().args(args).stdin(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        drop(writer.join());
        Answer::new(output, began.elapsed())
    }

    /// The flags for a spawn in the words of the field reports: `cand=A cfg=/cfg/a cwd=/w key=K1
    /// poison=B hist=A uid=u1 from=u0 provider=codex`. Left out: uid u1, login /cfg/a, directory
    /// /w, no candidate.
    pub fn spawn(&self, spawn: &str) -> Vec<OsString> {
        let words: Vec<&str> = spawn.split_whitespace().collect();
        let mut flags = Flags::new(self);
        for (name, flag, default) in [
            ("uid", "agent", Some("u1")),
            ("cand", "resume", None),
            ("hist", "history", None),
            ("cfg", "config-dir", Some("/cfg/a")),
            ("cwd", "cwd", Some("/w")),
            ("key", "identity", None),
            ("poison", "poisoned", None),
            ("from", "forked-from", None),
            ("provider", "provider", None),
            ("current", "current", None),
        ] {
            if let Some(value) = field(&words, name).or(default) {
                let is_path = matches!(name, "cfg" | "cwd");
                flags = flags.with(flag, &if is_path { self.place(value) } else { value.to_owned() });
            }
        }
        flags.0
    }

    /// Asks about a spawn, in [`World::spawn`]'s words.
    pub fn decide(&self, spawn: &str) -> Decision {
        self.decide_with(&self.spawn(spawn))
    }

    /// Asks about a spawn in every way there is, and holds the answers against each other: JSON,
    /// text, argument list and exit status of `decide`, and `explain`, `eval` and the reference on
    /// the same facts. None of them may touch anything but the store.
    pub fn decide_with(&self, flags: &[OsString]) -> Decision {
        let before = (listing(self.root(), &["store"]), self.logs_on_disk());
        let ask = |command: &str, more: &[&str]| {
            self.run([OsString::from(command)].iter().chain(flags).cloned().chain(more.iter().map(OsString::from)))
        };
        let answer = ask("decide", &["--format", "json"]);
        assert_eq!(answer.status, 0, "{answer:?}");
        let decision = Decision { json: answer.json(), stderr: answer.stderr, root: self.root().to_owned() };
        decision.check_form();
        decision.check_args(&ask("decide", &["--format", "args"]));
        decision.check_text(&ask("decide", &[]));
        let coded = ask("decide", &["--format", "args", "--exit-code"]);
        let candidate_given = flags.iter().any(|flag| {
            let flag = flag.to_string_lossy();
            ["--resume=", "--history="]
                .iter()
                .any(|name| flag.strip_prefix(name).is_some_and(|id| !id.trim().is_empty()))
        });
        assert_eq!(coded.status, decision.expected_status(candidate_given), "{decision:?}");
        decision.check_explanation(&ask("explain", &["--format", "json"]), &ask("explain", &[]));
        decision.check_against_reference();
        assert_eq!(before, (listing(self.root(), &["store"]), self.logs_on_disk()), "something was written");
        decision
    }

    fn logs_on_disk(&self) -> Vec<Vec<u8>> {
        let is_store = fs::metadata(self.store()).is_ok_and(|found| found.is_file() && found.len() > 0);
        if is_store { ["u1", "u2"].iter().map(|uid| read_log(&self.store(), uid)).collect() } else { Vec::new() }
    }
}

/// Flags of one spawn, given one by one.
pub struct Flags(pub Vec<OsString>);

impl Flags {
    /// Nothing but the store.
    pub fn new(world: &World) -> Self {
        Self(Vec::new()).with_os("store", world.store().into_os_string())
    }

    /// With `--name=value`.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.with_os(name, value.into())
    }

    /// With `--name=value`, which need not be text.
    #[must_use]
    pub fn with_os(mut self, name: &str, value: OsString) -> Self {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value);
        self.0.push(flag);
        self
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Answer {
    let began = Instant::now();
    let output = command.output().unwrap();
    Answer::new(output, began.elapsed())
}

/// A decision and its plan.
#[derive(Debug)]
pub struct Decision {
    /// What `decide --format json` printed.
    pub json: Value,
    /// What it said beside that.
    pub stderr: String,
    root: PathBuf,
}

impl Decision {
    /// `redirect B by head-moved-on: --resume B`: decision, head, rule, and what is carried out.
    pub fn said(&self) -> String {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let decision = &self.json["decision"];
        let mut said = if decision.is_null() { "nothing".to_owned() } else { text(&decision["kind"]) };
        for name in ["head", "from_config_dir", "from_cwd"] {
            if let Some(value) = decision[name].as_str() {
                said += &format!(" {}", value.replace(&*self.root.to_string_lossy(), ""));
            }
        }
        if let Some(rule) = self.json["rule"].as_str() {
            said += &format!(" by {rule}");
        }
        let args: Vec<String> = self.json["plan"]["args"].as_array().unwrap().iter().map(text).collect();
        let copy = if self.json["plan"]["copy"].is_null() { "" } else { "copy, " };
        let outcome = text(&self.json["plan"]["outcome"]);
        said + ": " + copy + &if args.is_empty() { outcome } else { args.join(" ") }
    }

    /// The value of a fact, or nothing where it does not apply or was not asked for.
    pub fn fact(&self, name: &str) -> &str {
        self.json["facts"][name].as_str().unwrap_or_default()
    }

    /// The codes of the notes, in order.
    pub fn notes(&self) -> Vec<&str> {
        self.json["notes"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap()).collect()
    }

    /// What the note with this code says.
    pub fn note(&self, code: &str) -> &str {
        let notes = self.json["notes"].as_array().unwrap();
        let note = notes.iter().find(|note| note["code"] == code);
        note.unwrap_or_else(|| panic!("no note `{code}` in {notes:?}"))["text"].as_str().unwrap()
    }

    /// What a probe saw.
    pub fn probe(&self, fact: &str) -> &Value {
        let probes = self.json["probes"].as_array().unwrap();
        probes.iter().find(|probe| probe["fact"] == fact).unwrap_or_else(|| panic!("`{fact}` not in {probes:?}"))
    }

    fn check_form(&self) {
        let keys: Vec<&str> = self.json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = [
            "schema",
            "decision",
            "rule",
            "reason",
            "plan",
            "agent_uid",
            "candidate",
            "head",
            "facts",
            "not_asked",
            "probes",
            "table",
            "store",
            "notes",
        ];
        for key in expected {
            assert!(keys.contains(&key), "no `{key}` in {keys:?}");
        }
        expected.sort_unstable();
        assert_eq!(self.json["schema"], "resume-gate.decision/1");
        for note in self.json["notes"].as_array().unwrap() {
            let text = note["text"].as_str().unwrap();
            assert!(!text.is_empty() && !text.ends_with('.'), "{note}");
            assert!(self.stderr.contains("note:"), "a note that stderr does not show: {note}");
        }
        let (plan, decision) = (&self.json["plan"], &self.json["decision"]);
        assert_eq!(plan["fork_session"], plan["outcome"] == "fork", "{plan}");
        assert_eq!(plan["resume"].is_null(), plan["outcome"] == "fresh", "{plan}");
        if !plan["copy"].is_null() {
            assert!(["relocate", "fork_from"].contains(&decision["kind"].as_str().unwrap()), "{plan}");
            for made in ["marker", "token", "bytes"] {
                assert!(plan["copy"][made].is_null(), "made without being asked to: {plan}");
            }
        }
        if decision["kind"] == "refuse" {
            assert_eq!(plan["outcome"], "fresh", "{plan}");
        }
    }

    fn check_args(&self, answer: &Answer) {
        let args: String = match &self.json["plan"] {
            plan if plan["copy"].is_null() => {
                plan["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned() + "\n").collect()
            }
            _ => {
                assert!(answer.stderr.contains("--apply"), "{answer:?}");
                String::new()
            }
        };
        assert_eq!((answer.status, &answer.stdout), (0, &args));
    }

    fn check_text(&self, answer: &Answer) {
        assert_eq!(answer.status, 0);
        let first = answer.stdout.lines().next().unwrap();
        assert!(first.contains(self.json["rule"].as_str().unwrap_or_default()), "{answer:?}");
        assert!(answer.stdout.contains(self.json["reason"].as_str().unwrap()), "{answer:?}");
        assert!(!answer.stdout.contains('\x1b') && !answer.stderr.contains('\x1b'), "colour: {answer:?}");
    }

    fn expected_status(&self, candidate_given: bool) -> i32 {
        let nothing_resumed = self.json["plan"]["resume"].is_null();
        match self.json["decision"]["kind"].as_str() {
            _ if nothing_resumed => i32::from(candidate_given) * 11,
            Some("allow") => 0,
            Some("redirect") => 10,
            Some("relocate") => 12,
            Some("fork") => 13,
            Some("fork_from") => 14,
            other => panic!("{other:?} resumes something"),
        }
    }

    /// `explain` gives the same object and more.
    fn check_explanation(&self, json: &Answer, text: &Answer) {
        assert_eq!((json.status, text.status), (0, 0));
        let mut explanation = json.json();
        let object = explanation.as_object_mut().unwrap();
        let steps = object.remove("steps").unwrap();
        let miss = object.remove("nearest_miss").unwrap();
        let change = object.remove("would_change").unwrap();
        assert_eq!(
            object.insert("schema".into(), "resume-gate.decision/1".into()).unwrap(),
            "resume-gate.explanation/1"
        );
        assert_eq!(explanation, self.json, "`explain` and `decide` differ");
        assert!(change.is_array() && (miss.is_null() || miss["rule"].is_string()));

        let Some(rule) = self.json["rule"].as_str() else {
            assert_eq!(steps, Value::Array(Vec::new()));
            return;
        };
        let steps = steps.as_array().unwrap();
        assert_eq!(steps.len(), 17);
        let hit = steps.iter().position(|step| step["outcome"] == "hit").unwrap();
        assert_eq!(steps[hit]["rule"], rule);
        assert!(steps[..hit].iter().all(|step| step["outcome"] == "missed"));
        assert!(steps[hit + 1..].iter().all(|step| step["outcome"] == "not_reached"));
        assert!(text.stdout.lines().next().unwrap().contains(&format!("by {rule} ({} of 17)", hit + 1)), "{text:?}");
        assert_eq!(text.stdout.lines().nth(1), self.json["reason"].as_str());
    }

    /// The reference comes to the same decision on the facts that were gathered.
    fn check_against_reference(&self) {
        if self.json["decision"].is_null() {
            return;
        }
        let leak = |text: &str| -> &'static str { text.to_owned().leak() };
        let facts = self.json["facts"].as_object().unwrap();
        let facts = facts.iter().map(|(fact, value)| (leak(fact), leak(value.as_str().unwrap()))).collect();
        let (rule, kind) = reference::decide(&facts);
        assert_eq!((&self.json["rule"], &self.json["decision"]["kind"]), (&rule.into(), &kind.into()), "{facts:?}");
    }
}

/// Everything below a place, with what each thing is, its mode, and its bytes if it is small.
pub fn listing(root: &Path, left_out: &[&str]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if left_out.iter().any(|left_out| name == Path::new(left_out)) {
                continue;
            }
            let is = fs::symlink_metadata(&path).unwrap();
            let kind = is.file_type();
            let what = if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                folders.push(path);
                "folder".to_owned()
            } else if kind.is_fifo() || kind.is_socket() {
                "pipe or socket".to_owned()
            } else if is.len() > 1 << 20 {
                format!("{} bytes, changed at {}.{}", is.len(), is.mtime(), is.mtime_nsec())
            } else {
                fs::read(&path)
                    .map_or_else(|error| error.to_string(), |bytes| format!("{:?}", String::from_utf8_lossy(&bytes)))
            };
            found.insert(name, format!("{:o} {what}", is.mode()));
        }
    }
    found
}
