//! Where an agent came from, by AgentMux's own database.

use crate::{Place, WAIT};
use resume_gate::segments::Lineage;
use resume_gate::store::{AgentsDb, StoreErrorKind};
use std::fs;

fn parent(place: &Place, uid: &str) -> Option<String> {
    AgentsDb::open(&place.db(), WAIT).unwrap().parent_of_fork(uid).unwrap()
}

/// B27
#[test]
fn a_fork_has_a_parent_and_a_branch_label_and_a_template_only_a_parent() {
    let place = Place::new().made_by_another(
        "WAL",
        "PRAGMA user_version = 41;
         CREATE TABLE db_agents (id TEXT PRIMARY KEY, name TEXT, parent_id TEXT, branch_label TEXT);
         INSERT INTO db_agents VALUES ('u1', 'x', NULL, NULL), ('fork', 'x', 'u1', 'try'), ('template', 'x', 'u1', NULL),
             ('blank', 'x', 'u1', ' '), ('label', 'x', NULL, 'try'), ('empty', 'x', '', '');",
    );
    let parents = ["fork", "u1", "template", "blank", "label", "empty", "nobody"].map(|uid| parent(&place, uid));
    assert_eq!(parents, [Some("u1".to_owned()), None, None, None, None, None, None]);
}

#[test]
fn without_the_file_the_table_or_a_column_there_is_no_lineage() {
    let place = Place::new();
    assert_eq!(parent(&place, "u1"), None);
    assert!(!place.db().exists());
    let other = Place::new().made_by_another("WAL", "CREATE TABLE other (x)");
    assert_eq!(parent(&other, "u1"), None);
    let older = Place::new().made_by_another(
        "WAL",
        "CREATE TABLE db_agents (id TEXT, parent_id TEXT); INSERT INTO db_agents VALUES ('u1', 'u2')",
    );
    assert_eq!(parent(&older, "u1"), None);
}

#[test]
fn a_database_that_cannot_be_read_is_an_error_and_not_an_agent_without_parents() {
    let place = Place::new();
    fs::write(place.db(), "no database at all, only some text").unwrap();
    let agents = AgentsDb::open(&place.db(), WAIT).and_then(|agents| agents.agent("u1"));
    assert_eq!(agents.unwrap_err().kind, StoreErrorKind::NotADatabase);
}
