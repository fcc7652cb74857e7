//! What a probe saw: kept by whoever implements [`Probes`](super::Probes), shown with the trace.

use super::facts::Fact;
use std::path::PathBuf;

/// What was looked at to answer one question about the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The fact that was asked for.
    pub fact: Fact,
    /// Name of the value that was answered.
    pub value: &'static str,
    /// The file or folder that was looked at.
    pub path: Option<PathBuf>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The size in bytes it was compared with.
    pub recorded: Option<u64>,
    /// What went wrong on the way.
    pub error: Option<String>,
}
