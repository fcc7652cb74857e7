//! Claude Code's files, read from real disks: names that the CLI itself made, real links, pipes and
//! sparse files, and real processes.

#![cfg(all(unix, feature = "host"))]
#![expect(clippy::unwrap_used, reason = "tests")]

mod busy;
mod disk;
mod head_file;
mod hostile;
mod identity;
mod layout;
mod logins;
mod records;
mod rejection;
mod turns;
