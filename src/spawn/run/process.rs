//! The provider as a process: spawned, sent the signals that are meant for it, reaped, its standard
//! error passed on byte for byte while it is kept for a look at it.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How much of the end of standard error is kept, in bytes.
const KEPT_BYTES: usize = 64 << 10;
/// How long after the provider's end its standard error is waited for. Only processes of its own
/// that outlive it keep it open.
const STDERR_PATIENCE: Duration = Duration::from_secs(1);

/// What can happen while a provider runs.
#[derive(Debug, Clone, Copy)]
enum Event {
    Signal(Received),
    Ended,
}

/// A signal that this process received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub signal: i32,
    /// Whether the system sent it to the whole process group, as a terminal does: then the provider
    /// has received it already.
    pub by_terminal: bool,
}

/// The signals that this process receives, on their way to the provider.
#[derive(Debug)]
pub struct Signals {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

/// Where whoever catches signals puts them.
#[derive(Debug, Clone)]
pub struct SignalSender(Sender<Event>);

impl Signals {
    /// None received so far.
    #[must_use]
    pub fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// The end to put signals in.
    #[must_use]
    pub fn sender(&self) -> SignalSender {
        SignalSender(self.sender.clone())
    }
}

impl Signals {
    /// Whether a signal came that no provider was there to receive.
    pub(super) fn is_asked_to_end(&self) -> bool {
        self.receiver.try_recv().is_ok()
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

impl SignalSender {
    /// Passes a signal on.
    pub fn send(&self, received: Received) {
        // Nobody waits for a provider any more.
        let _ = self.0.send(Event::Signal(received));
    }
}

/// How a provider ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Whether this process was asked to end meanwhile, as the provider then was too.
    pub(super) is_stopped: bool,
    /// The end of its standard error, if that was watched.
    pub(super) stderr: Vec<u8>,
}

impl Ended {
    /// The status as shells give it: a signal is 128 and its number.
    pub(super) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or_default())
    }

    /// Whether it exited by itself with a status other than 0.
    pub(super) fn has_failed(&self) -> bool {
        !self.is_stopped && self.status.code().is_some_and(|code| code != 0)
    }
}

/// A provider that was spawned and has not been reaped.
#[derive(Debug)]
pub(super) struct Provider {
    child: Child,
    stderr: Option<Tee>,
}

impl Provider {
    /// Spawns it. With `stderr`, its standard error goes there and is kept; else it is inherited.
    pub(super) fn spawn(command: &mut Command, stderr: Option<&File>) -> io::Result<Self> {
        let out = stderr.map(File::try_clone).transpose()?;
        if out.is_some() {
            command.stderr(Stdio::piped());
        }
        let mut child = command.spawn()?;
        let stderr = child.stderr.take().zip(out).map(|(pipe, out)| Tee::start(pipe, out));
        Ok(Self { child, stderr })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end and reaps it; hands on the signals that come meanwhile.
    pub(super) fn wait(mut self, signals: &Signals) -> io::Result<Ended> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let ended = signals.sender.clone();
        // It is waited for but not reaped there: until this thread reaps it, its pid stays its own,
        // and a signal cannot hit another process.
        thread::spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Some(pid) = pid
                && let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options)
            {}
            let _ = ended.send(Event::Ended);
        });
        let mut is_stopped = false;
        while let Ok(Event::Signal(received)) = signals.receiver.recv() {
            is_stopped = true;
            let signal = Signal::from_named_raw(received.signal);
            if let (false, Some(pid), Some(signal)) = (received.by_terminal, pid, signal) {
                // It may have ended just now.
                let _ = kill_process(pid, signal);
            }
        }
        let status = self.child.wait()?;
        let stderr = self.stderr.map(Tee::finish).unwrap_or_default();
        Ok(Ended { status, is_stopped, stderr })
    }
}

/// Passes bytes on and keeps the last of them.
#[derive(Debug)]
struct Tee {
    kept: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl Tee {
    fn start(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = channel::<()>();
        let ours = Arc::clone(&kept);
        thread::spawn(move || {
            // Dropped, and so heard, when this thread ends.
            let _closing = sender;
            let mut bytes = [0; 8 << 10];
            loop {
                let count = match from.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let new = bytes.get(..count).unwrap_or_default();
                let mut kept = ours.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(new);
                let surplus = kept.len().saturating_sub(KEPT_BYTES);
                kept.drain(..surplus);
                drop(kept);
                // Nobody reads it any more; the provider must not be held up by that.
                let _ = to.write_all(new);
            }
        });
        Self { kept, closed }
    }

    /// What was kept, once everything was passed on.
    fn finish(self) -> Vec<u8> {
        // Hears nothing but the end, and waits no longer for a process that keeps the pipe open.
        let (Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) =
            self.closed.recv_timeout(STDERR_PATIENCE);
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
