//! Work that may hang (a lock, a network disk, a pipe) and must not be waited for.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs `work` on a thread of its own and waits for it for at most `budget`. `None`: it was not
/// done by then (or no thread could be started), and is left to itself; what it returns later is
/// dropped. It must therefore own everything it touches, and change nothing.
pub fn within_deadline<T, F>(budget: Duration, work: F) -> Option<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (done, result) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("bounded-read".to_owned())
        .spawn(move || {
            // Nobody listens any more when the deadline has passed; that is what it is for.
            let _late = done.send(work());
        })
        .ok()?;
    result.recv_timeout(budget).ok()
}
