//! What several test files share: a reference for the gate, and the one way to take a snapshot.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses its own part"
)]

pub mod answers;
pub mod reference;

/// Settings under which every snapshot of `area` is taken: into `snapshots/<area>/`, under the
/// name given and nothing else.
pub fn snapshots(area: &str) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots").to_owned() + "/" + area);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Fails unless the snapshots of `area` are exactly the named ones.
pub fn assert_no_missing_or_orphan_snapshots(area: &str, names: impl IntoIterator<Item = String>) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(area);
    let mut expected: Vec<String> = names.into_iter().map(|name| name + ".snap").collect();
    let mut found: Vec<String> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".snap"))
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "snapshots/{area}: every name needs its file and every file its name");
}
