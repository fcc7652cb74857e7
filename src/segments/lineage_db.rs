//! The lineage that AgentMux records in its own database.

use super::id::is_blank;
use super::lineage::Lineage;
use crate::store::{AgentsDb, StoreError};

impl Lineage for AgentsDb {
    /// A fork is an agent with a parent *and* a branch label.
    fn parent_of_fork(&self, uid: &str) -> Result<Option<String>, StoreError> {
        let Some(agent) = self.agent(uid)? else { return Ok(None) };
        let is_fork = agent.branch_label.is_some_and(|label| !is_blank(&label));
        Ok(agent.parent_id.filter(|_| is_fork))
    }
}
