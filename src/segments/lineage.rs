//! Where an agent came from.

use super::id::is_blank;
use crate::store::StoreError;

/// What is recorded of an agent's origin.
pub trait Lineage {
    /// The agent that `uid` was forked from; `None` if it was not forked. An agent made from a
    /// template has a parent too, and is no fork.
    ///
    /// # Errors
    ///
    /// When what is recorded cannot be read.
    fn parent_of_fork(&self, uid: &str) -> Result<Option<String>, StoreError>;
}

/// A lineage that the caller knows: whatever agent is asked about was forked from this one, or from
/// none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForkedFrom(pub Option<String>);

impl Lineage for ForkedFrom {
    fn parent_of_fork(&self, _uid: &str) -> Result<Option<String>, StoreError> {
        Ok(self.0.clone())
    }
}

/// The agent that `uid` was forked from: another one, and not a blank.
///
/// # Errors
///
/// When what is recorded cannot be read.
pub fn fork_parent(lineage: &dyn Lineage, uid: &str) -> Result<Option<String>, StoreError> {
    Ok(lineage.parent_of_fork(uid)?.filter(|parent| !is_blank(parent) && parent != uid))
}
