//! A checked table as Rust source: the static that evaluation runs on.
//!
//! The text is one item, `pub static TABLE: Table`. Where it is included, the model's names must be
//! in scope: `use super::table::{Claim, ClaimKind, Condition, Invariant, Rule, Table};` (or wherever
//! they are). Equal tables give equal text.

use super::model::{Claim, Condition, Invariant, Rule, Table};
use std::fmt::Write as _;

/// The source text of `table`, read from the file called `path`.
#[must_use]
pub fn emit(table: &Table, path: &str) -> String {
    let mut out = Text::default();
    out.line(format_args!("// @generated from {path} by the build script. Do not edit: change the table and build."));
    out.line(format_args!("/// The table in `{path}`, checked and compiled when this crate was built."));
    out.line(format_args!("pub static TABLE: Table = Table {{"));
    out.field("name", &table.name);
    out.line(format_args!("    version: {},", table.version));
    out.field("sha256", &table.sha256);
    out.list("invariants", &table.invariants, |out, invariant| out.invariant(invariant));
    out.list("rules", &table.rules, |out, rule| out.rule(rule));
    out.line(format_args!("}};"));
    out.0
}

/// The text so far.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn field(&mut self, name: &str, text: &str) {
        self.line(format_args!("    {name}: ::std::borrow::Cow::Borrowed({text:?}),"));
    }

    fn list<T>(&mut self, name: &str, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.line(format_args!("    {name}: ::std::borrow::Cow::Borrowed(&["));
        items.iter().for_each(|each| item(self, each));
        self.line(format_args!("    ]),"));
    }

    fn invariant(&mut self, invariant: &Invariant) {
        self.line(format_args!("    Invariant {{"));
        self.field("id", &invariant.id);
        self.field("states", &invariant.states);
        self.list("claims", &invariant.claims, |out, claim| out.claim(claim));
        self.line(format_args!("    }},"));
    }

    fn claim(&mut self, claim: &Claim) {
        self.line(format_args!("    Claim {{"));
        self.line(format_args!("    kind: ClaimKind::{:?},", claim.kind));
        self.list("of", &claim.of, |out, condition| out.condition(*condition));
        self.line(format_args!("    then: {:#b},", claim.then));
        self.line(format_args!("    line: {},", claim.line));
        self.line(format_args!("    }},"));
    }

    fn rule(&mut self, rule: &Rule) {
        self.line(format_args!("    Rule {{"));
        self.field("id", &rule.id);
        self.field("invariant", &rule.invariant);
        self.list("when", &rule.when, |out, condition| out.condition(*condition));
        self.line(format_args!("    then: {},", rule.then));
        self.field("what", &rule.what);
        self.field("why", &rule.why);
        self.field("next", &rule.next);
        self.line(format_args!("    line: {},", rule.line));
        self.line(format_args!("    forbidden: {:#x},", rule.forbidden));
        self.line(format_args!("    asks: {:#x},", rule.asks));
        self.line(format_args!("    tested: {:#x},", rule.tested));
        self.line(format_args!("    }},"));
    }

    fn condition(&mut self, condition: Condition) {
        self.line(format_args!("    Condition {{ fact: {}, wanted: {:#x} }},", condition.fact, condition.wanted));
    }
}
