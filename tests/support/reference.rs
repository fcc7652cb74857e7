//! A second opinion on the table: the seventeen rules as plain `if`s over names, written by hand
//! and sharing nothing with the table, its compiler or the evaluator.

use std::collections::BTreeMap;

/// The facts of one case by name; a fact that does not apply is absent.
pub type Facts = BTreeMap<&'static str, &'static str>;

/// Rule and decision for a case.
pub fn decide(facts: &Facts) -> (&'static str, &'static str) {
    let is = |fact: &str, value: &str| facts.get(fact) == Some(&value);
    let file_here = is("head_file", "as_left") || is("head_file", "unsized") || is("head_file", "shrunk");
    let parents = is("fork_source", "at_candidate") || is("fork_source", "behind");

    if is("spawn_provider", "other") {
        return ("other-provider", "allow");
    }
    if is("chain", "unknown") {
        return ("chain-unknown", "allow");
    }
    if is("chain", "empty") {
        if !parents {
            return ("no-chain", "allow");
        }
        if is("fork_provider", "claude") && is("fork_identity", "same") && is("fork_record", "complete") {
            return ("fork-from-parent", "fork_from");
        }
        return ("parents-session", "refuse");
    }
    if is("head_health", "poisoned") {
        return ("poisoned-head", "allow");
    }
    if is("head_identity", "different") {
        return ("other-identity", "refuse");
    }
    if is("head_provider", "other") {
        return ("other-providers-head", "refuse");
    }
    if is("head_file", "grown") {
        return ("head-grew", "fork");
    }
    if is("head_login", "other") && (is("head_file", "shrunk") || is("head_file", "empty")) {
        return ("stub-in-place", "refuse");
    }
    if file_here && is("head_busy", "yes") {
        return ("head-busy", "fork");
    }
    if file_here {
        return if is("candidate", "head") { ("head-is-candidate", "allow") } else { ("head-moved-on", "redirect") };
    }
    let gone = is("head_file", "missing") || is("head_file", "empty");
    if gone && is("head_login", "own") && is("head_project", "same") {
        return ("head-gone", "refuse");
    }
    if is("head_file", "missing")
        && is("head_identity", "same")
        && is("head_login", "other")
        && is("head_project", "same")
        && is("head_record", "complete")
    {
        return ("relocate", "relocate");
    }
    if is("candidate", "head") {
        return ("unreachable-candidate", "allow");
    }
    ("unreachable-head", "refuse")
}

/// Every possible case, by nested loops over the facts that can matter to each other.
pub fn every_case() -> Vec<Facts> {
    let mut cases = vec![
        Facts::from([("spawn_provider", "other")]),
        Facts::from([("spawn_provider", "claude"), ("chain", "unknown")]),
    ];
    let empty = Facts::from([("spawn_provider", "claude"), ("chain", "empty")]);
    for source in ["none", "elsewhere"] {
        cases.push(with(&empty, &[("fork_source", source)]));
    }
    for source in ["behind", "at_candidate"] {
        for provider in ["claude", "other"] {
            for identity in ["same", "unknown", "different"] {
                for record in ["complete", "incomplete", "missing", "unrecorded"] {
                    cases.push(with(
                        &empty,
                        &[
                            ("fork_source", source),
                            ("fork_provider", provider),
                            ("fork_identity", identity),
                            ("fork_record", record),
                        ],
                    ));
                }
            }
        }
    }
    let headed = Facts::from([("spawn_provider", "claude"), ("chain", "headed")]);
    cases.push(with(&headed, &[("head_health", "poisoned")]));
    for identity in ["same", "unknown", "different"] {
        for candidate in ["head", "other"] {
            let live = with(&headed, &[("head_health", "ok"), ("head_identity", identity), ("candidate", candidate)]);
            cases.push(with(&live, &[("head_provider", "other")]));
            claudes_heads(&with(&live, &[("head_provider", "claude")]), &mut cases);
        }
    }
    cases
}

fn claudes_heads(live: &Facts, cases: &mut Vec<Facts>) {
    for project in ["same", "different"] {
        for file in ["as_left", "unsized", "shrunk", "grown", "empty", "missing", "unreadable"] {
            for busy in ["no", "yes"] {
                let here = with(live, &[("head_project", project), ("head_file", file), ("head_busy", busy)]);
                cases.push(with(&here, &[("head_login", "own")]));
                cases.push(with(&here, &[("head_login", "unrecorded")]));
                for record in ["complete", "incomplete", "missing"] {
                    cases.push(with(&here, &[("head_login", "other"), ("head_record", record)]));
                }
            }
        }
    }
}

fn with(facts: &Facts, more: &[(&'static str, &'static str)]) -> Facts {
    let mut facts = facts.clone();
    facts.extend(more.iter().copied());
    facts
}
