//! The claims are worth something only if they catch an edit that changes a decision. So every rule
//! of the shipped table is removed, swapped with the next one, and given every other decision.

use super::SHIPPED;
use resume_gate::gate::facts::VOCABULARY;
use resume_gate::table::{Rule, Table, Verdict, load};
use std::collections::BTreeMap;

/// The text above the rules, and the rows.
fn rows() -> (&'static str, Vec<String>) {
    let (head, rules) = SHIPPED.split_once("\nrules:\n").unwrap();
    let rows = rules.split("  - id: ").skip(1).map(|row| format!("  - id: {row}"));
    (head, rows.collect())
}

fn file(head: &str, rows: &[String]) -> String {
    format!("{head}\nrules:\n{}", rows.concat())
}

/// What each combination comes to under these rules; `None`: no rule takes it.
fn decisions(rules: &[Rule]) -> Vec<Option<usize>> {
    let decide = |word| rules.iter().find(|rule| rule.verdict(word) == Verdict::Hits).map(|rule| rule.then);
    VOCABULARY.combinations().into_iter().map(decide).collect()
}

/// What became of the mutants: by kind, how many there are, and those that pass the checks.
#[derive(Default)]
struct Tally {
    made: BTreeMap<&'static str, usize>,
    changing: BTreeMap<&'static str, usize>,
    survivors: Vec<String>,
    escaped: Vec<String>,
}

impl Tally {
    fn take(&mut self, shipped: &Table, kind: &'static str, name: String, text: &str, rules: &[Rule]) {
        let changes = decisions(rules) != decisions(&shipped.rules);
        *self.made.entry(kind).or_default() += 1;
        *self.changing.entry(kind).or_default() += usize::from(changes);
        if let Some(table) = load(text.as_bytes(), &VOCABULARY).table {
            assert_eq!(decisions(&table.rules), decisions(rules), "the text is not the mutant that was meant: {name}");
            let list = if changes { &mut self.escaped } else { &mut self.survivors };
            list.push(name);
        }
    }
}

#[test]
fn every_mutant_of_the_shipped_table_that_changes_a_decision_is_refused() {
    let shipped = load(SHIPPED.as_bytes(), &VOCABULARY).table.unwrap();
    let (head, rows) = rows();
    assert_eq!(rows.len(), shipped.rules.len());
    assert_eq!(file(head, &rows), SHIPPED);
    let mut tally = Tally::default();
    for i in 0..rows.len() {
        let id = &shipped.rules[i].id;
        let (mut text, mut rules) = (rows.clone(), shipped.rules.to_vec());
        text.remove(i);
        rules.remove(i);
        tally.take(&shipped, "remove", format!("remove {id}"), &file(head, &text), &rules);

        if i + 1 < rows.len() {
            let (mut text, mut rules) = (rows.clone(), shipped.rules.to_vec());
            text.swap(i, i + 1);
            rules.swap(i, i + 1);
            let name = format!("swap {id} with {}", shipped.rules[i + 1].id);
            tally.take(&shipped, "swap", name, &file(head, &text), &rules);
        }

        for (then, decision) in
            VOCABULARY.decisions.iter().enumerate().filter(|(then, _)| *then != shipped.rules[i].then)
        {
            let (mut text, mut rules) = (rows.clone(), shipped.rules.to_vec());
            let now = VOCABULARY.decisions[rules[i].then];
            text[i] = text[i].replace(&format!("    then: {now}\n"), &format!("    then: {decision}\n"));
            rules[i].then = then;
            tally.take(&shipped, "decide", format!("{id} → {decision}"), &file(head, &text), &rules);
        }
    }
    assert_eq!(tally.made, BTreeMap::from([("remove", 17), ("swap", 16), ("decide", 85)]));
    // Every other decision of every rule changes something, since no rule is dead.
    assert_eq!(tally.changing, BTreeMap::from([("remove", 16), ("swap", 6), ("decide", 85)]));
    assert_eq!(tally.escaped, Vec::<String>::new(), "these change a decision and pass");
    // These pass because they change no decision for any combination. Removed: the candidate is the
    // head and its file is here, which `unreachable-candidate` allows too. Swapped: two rules that
    // take nothing from each other, or decide alike what both would take.
    let expected = [
        "swap other-provider with chain-unknown",
        "swap chain-unknown with fork-from-parent",
        "swap no-chain with poisoned-head",
        "swap poisoned-head with other-identity",
        "swap other-identity with other-providers-head",
        "swap other-providers-head with head-grew",
        "swap head-grew with stub-in-place",
        "remove head-is-candidate",
        "swap head-is-candidate with head-moved-on",
        "swap head-moved-on with head-gone",
        "swap head-gone with relocate",
    ];
    assert_eq!(tally.survivors, expected);
}
