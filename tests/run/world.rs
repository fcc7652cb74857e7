//! A store, logins of one person or two, a working directory, and the two programs in them.

use crate::api;
use resume_gate::claude::layout;
use resume_gate::claude::marker::Marker;
use resume_gate::process::ProcessTable;
use resume_gate::segments::{Segment, segments};
use resume_gate::store::SqliteStore;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names real providers to test with as well, separated by colons: paths of `claude` programs.
const REAL: &str = "RESUME_GATE_REAL_CLAUDE";

/// The versions that the stub can be.
pub(crate) const STUBS: [Provider; 3] =
    [Provider::Stub("2.0.77"), Provider::Stub("2.1.112"), Provider::Stub("2.1.332")];
/// The stubs that keep a registry of their processes.
pub(crate) const REGISTERING: [Provider; 2] = [Provider::Stub("2.1.112"), Provider::Stub("2.1.332")];
/// The newest stub, for what does not depend on the version.
pub(crate) const NEWEST: Provider = Provider::Stub("2.1.332");

/// A provider to test with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Provider {
    /// The stand-in as this version.
    Stub(&'static str),
    /// The program at this path, against a stand-in for its API.
    Real(&'static Path),
}

impl Provider {
    /// Whether it behaves as 2.0.77 does.
    pub(crate) fn is_oldest(self) -> bool {
        match self {
            Self::Stub(version) => version == "2.0.77",
            Self::Real(path) => {
                let version = Command::new(path).arg("--version").output().unwrap().stdout;
                version.starts_with(b"2.0.")
            }
        }
    }
}

impl std::fmt::Display for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stub(version) => write!(f, "stub {version}"),
            Self::Real(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The stubs, and the real providers that the environment names.
pub(crate) fn providers() -> Vec<Provider> {
    let real = std::env::var_os(REAL).unwrap_or_default();
    let real: Vec<Provider> = std::env::split_paths(&real)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| Provider::Real(Box::leak(path.into_boxed_path())))
        .collect();
    if real.is_empty() {
        println!("real providers skipped: {REAL} names none");
    }
    STUBS.into_iter().chain(real).collect()
}
/// The agent under test.
pub(crate) const U1: &str = "u1";
/// Another one.
pub(crate) const U2: &str = "u2";

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    _dir: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) store: PathBuf,
    provider: Provider,
    /// Of the stand-in for the API of a real provider.
    api_port: Option<u16>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// Our line on standard error: what was done and by which rule.
    pub(crate) fn line(&self) -> &str {
        self.stderr.lines().find_map(|line| line.strip_prefix("resume-gate: ")).unwrap_or_default()
    }
}

/// A command that starts with the signals as a shell leaves them, even where the tests themselves
/// were started with some ignored (by `nohup`, or in the background of a script): `run` would pass
/// that on to the provider, as it should.
fn with_default_signals(program: &str) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or_default();
    let ours = [1, 2, 3, 15].iter().fold(0, |mask, signal| mask | 1_u64 << (signal - 1));
    if ignored & ours == 0 {
        return Command::new(program);
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM", program]);
    command
}

impl World {
    pub(crate) fn new(provider: Provider) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let cwd = root.join("work");
        fs::create_dir_all(&cwd).unwrap();
        let store = root.join("data/filestore.db");
        let api_port = matches!(provider, Provider::Real(_)).then(api::serve);
        let world = Self { _dir: dir, root, cwd, store, provider, api_port };
        world.sign_in("a", "ann");
        world.sign_in("b", "ann");
        world.sign_in("c", "bob");
        world
    }

    pub(crate) fn provider(&self) -> Provider {
        self.provider
    }

    /// The provider's program.
    pub(crate) fn program(&self) -> PathBuf {
        match self.provider {
            Provider::Stub(_) => stub(),
            Provider::Real(path) => path.to_owned(),
        }
    }

    pub(crate) fn login(&self, name: &str) -> PathBuf {
        self.root.join("cfg").join(name)
    }

    fn sign_in(&self, login: &str, who: &str) {
        fs::create_dir_all(self.login(login)).unwrap();
        let account = format!(r#"{{"oauthAccount":{{"accountUuid":"{who}","organizationUuid":"org"}}}}"#);
        fs::write(self.login(login).join(".claude.json"), account).unwrap();
    }

    /// A directory beside the working directory.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn session(&self, login: &str, id: &str) -> PathBuf {
        self.session_in(login, &self.cwd, id)
    }

    pub(crate) fn session_in(&self, login: &str, cwd: &Path, id: &str) -> PathBuf {
        layout::session_file(&self.login(login), cwd, id).unwrap()
    }

    /// Our command in a bare environment.
    pub(crate) fn gate<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = with_default_signals(env!("CARGO_BIN_EXE_resume-gate"));
        self.bare(&mut command).args(arguments).env("RESUME_GATE_STORE", &self.store);
        command
    }

    /// Any program in the bare environment.
    pub(crate) fn bare_command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.bare(&mut command).env("RESUME_GATE_STORE", &self.store);
        command
    }

    /// The provider by itself with a pipe to type into.
    pub(crate) fn claude_typing(&self, login: &str, arguments: &[&str]) -> Child {
        let mut command = Command::new(self.program());
        self.bare(&mut command).args(arguments).env("CLAUDE_CONFIG_DIR", self.login(login));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    /// The provider by itself, as a person uses it on the side.
    pub(crate) fn claude(&self, login: &str, arguments: &[&str]) -> Ended {
        let mut command = Command::new(self.program());
        self.bare(&mut command).args(arguments).env("CLAUDE_CONFIG_DIR", self.login(login)).output().unwrap().into()
    }

    fn bare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.root.join("home"))
            .envs(self.surroundings())
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
    }

    /// What the provider finds in its environment: enough that a real one reaches nothing but the
    /// stand-in for its API.
    fn surroundings(&self) -> Vec<(&'static str, String)> {
        let mut found = match self.provider {
            Provider::Stub(version) => vec![("STUB_CLAUDE_VERSION", version.to_owned())],
            Provider::Real(_) => [
                ("ANTHROPIC_API_KEY", "no-key"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("CLAUDE_CODE_MAX_RETRIES", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("DISABLE_TELEMETRY", "1"),
                ("TERM", "dumb"),
            ]
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec(),
        };
        found.extend(self.api_port.map(|port| ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"))));
        found
    }

    /// `run` with options of its own and arguments for the provider, under login `a` unless another is named.
    pub(crate) fn run_command(&self, options: &[&str], arguments: &[&str]) -> Command {
        let mut command = self.gate(["run"]);
        if !options.contains(&"--agent") {
            command.args(["--agent", U1]);
        }
        if !options.contains(&"--config-dir") {
            command.arg("--config-dir").arg(self.login("a"));
        }
        command.args(options).arg("--").arg(self.program()).args(arguments);
        command
    }

    pub(crate) fn run(&self, options: &[&str], arguments: &[&str]) -> Ended {
        self.run_command(options, arguments).output().unwrap().into()
    }

    /// A turn of the agent's under login `a`.
    pub(crate) fn say(&self, words: &str) -> Ended {
        self.run(&[], &["-p", words]).ok()
    }

    /// `run` in the background, its output kept for later.
    pub(crate) fn start(&self, options: &[&str], arguments: &[&str]) -> Child {
        let mut command = self.run_command(options, arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// `run` in the background with a pipe to type into.
    pub(crate) fn start_typing(&self, options: &[&str], arguments: &[&str]) -> Child {
        let mut command = self.run_command(options, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The agent's chain.
    pub(crate) fn chain(&self, uid: &str) -> Vec<Segment> {
        let mut store = SqliteStore::reader(&self.store, Duration::from_secs(5)).unwrap();
        let folded = segments(&mut store, uid).unwrap();
        assert_eq!(folded.anomalies, [], "what `run` writes reads without a remark");
        folded.segments
    }

    /// The newest segment.
    pub(crate) fn newest(&self, uid: &str) -> Segment {
        self.chain(uid).pop().expect("the agent has a segment")
    }

    /// The session of the newest segment.
    pub(crate) fn head(&self, uid: &str) -> String {
        self.newest(uid).session_id.expect("the newest segment has a session")
    }

    /// Fails if a copy, a marker or a temporary is left under any login.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        for path in listing(&self.root.join("cfg")).into_keys() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.contains("agentmux"), "{} is left", path.display());
        }
    }
}

/// The stand-in's program.
pub(crate) fn stub() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_stub-claude"))
}

/// Everything below a folder with its content.
pub(crate) fn listing(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut listing(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

pub(crate) fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// Whether a copy waits there.
pub(crate) fn is_marked(session: &Path) -> bool {
    Marker::path_for(session).exists()
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The provider that a running `run` has spawned.
pub(crate) fn provider_of(run: &Child) -> u32 {
    let children = format!("/proc/{0}/task", run.id());
    until("the provider is there", || {
        fs::read_dir(&children).ok()?.flatten().find_map(|task| {
            let pids = fs::read_to_string(task.path().join("children")).ok()?;
            let pid: u32 = pids.split_whitespace().next()?.parse().ok()?;
            // Between fork and exec it is still us.
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            (name.trim() != "resume-gate").then_some(pid)
        })
    })
}

pub(crate) fn until_ended(pid: u32) {
    until("the process has ended", || ProcessTable::default().start_ticks(pid).is_none().then_some(()));
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

pub(crate) fn finish(child: Child) -> Ended {
    child.wait_with_output().unwrap().into()
}

/// Types a line.
pub(crate) fn type_line(child: &mut Child, line: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
}
