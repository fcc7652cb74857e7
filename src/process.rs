//! Whether a process that was noted earlier still runs, and is still the same one.
//!
//! A pid alone names nobody for long: it is reused. With the process's start it does, so both are
//! noted and both are compared. Read from Linux's `/proc`; where there is none, nothing is known
//! and every answer is the one for "not seen running".

use std::fs;
use std::path::PathBuf;

/// Where processes are looked up. [`Default`] is this system's own place; tests make their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTable {
    /// The mount point of the `proc` file system.
    pub proc: PathBuf,
    /// The file that holds this machine's id.
    pub machine_id: PathBuf,
}

impl Default for ProcessTable {
    fn default() -> Self {
        Self { proc: "/proc".into(), machine_id: "/etc/machine-id".into() }
    }
}

/// A process as its `stat` line shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// Field 3: what it is doing, as a letter.
    state: u8,
    /// Field 22: when it started, in clock ticks since boot.
    start_ticks: u64,
}

impl ProcessTable {
    /// When the process with this pid started, in clock ticks since boot. `None` if no such
    /// process is running: a zombie has ended, though its pid is not free yet.
    #[must_use]
    pub fn start_ticks(&self, pid: u32) -> Option<u64> {
        let line = fs::read(self.proc.join(pid.to_string()).join("stat")).ok()?;
        let stat = parse_stat(&line)?;
        (!matches!(stat.state, b'Z' | b'X' | b'x')).then_some(stat.start_ticks)
    }

    /// Whether the process that had this pid and started at this tick still runs.
    #[must_use]
    pub fn is_running(&self, pid: u32, start_ticks: u64) -> bool {
        self.start_ticks(pid) == Some(start_ticks)
    }

    /// When the running process with this pid started, in ms since 1970 by the present clock.
    #[must_use]
    pub fn started_at_ms(&self, pid: u32) -> Option<u64> {
        let since_boot_ms = self.start_ticks(pid)?.checked_mul(1000)? / ticks_per_second()?;
        self.booted_at_ms()?.checked_add(since_boot_ms)
    }

    /// The name of the room that pids are counted in: this machine and pid namespace, as
    /// `linux:<machine id>:<pid namespace>`; a machine without an id has an empty one. `None` where
    /// the namespace cannot be read.
    #[must_use]
    pub fn pid_domain(&self) -> Option<String> {
        let machine = fs::read_to_string(&self.machine_id).unwrap_or_default();
        let namespace = fs::read_link(self.proc.join("self/ns/pid")).ok()?;
        Some(format!("linux:{}:{}", machine.trim(), namespace.to_str()?))
    }

    fn booted_at_ms(&self) -> Option<u64> {
        let text = fs::read_to_string(self.proc.join("stat")).ok()?;
        let seconds: u64 = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
        seconds.checked_mul(1000)
    }
}

/// Reads a `/proc/<pid>/stat` line. The name in it is in parentheses and may hold anything,
/// parentheses, blanks and line ends too, so fields are counted from the last closing one.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let after_name = line.get(memchr::memrchr(b')', line)? + 1..)?;
    let mut fields = std::str::from_utf8(after_name).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    // The state was field 3; the next that comes is field 4.
    let start_ticks = fields.nth(22 - 4)?.parse().ok()?;
    Some(Stat { state, start_ticks })
}

#[cfg(target_os = "linux")]
fn ticks_per_second() -> Option<u64> {
    Some(rustix::param::clock_ticks_per_second()).filter(|&ticks| ticks > 0)
}

#[cfg(not(target_os = "linux"))]
fn ticks_per_second() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let line = b"42 (a) Z 1 (b) S) S 1 42 42 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 777 1 2 3\n";
        assert_eq!(parse_stat(line), Some(Stat { state: b'S', start_ticks: 777 }));
    }

    #[test]
    fn a_line_that_is_cut_or_foreign_says_nothing() {
        for line in ["", "42 (a", "42 (a)", "42 (a) S 1 2", "42 (a) S 1 42 42 0 -1 4 9 0 0 0 1 2 0 0 20 0 1 0 x"] {
            assert_eq!(parse_stat(line.as_bytes()), None, "{line}");
        }
    }
}
