//! A checked table as Rust source: the static that evaluation runs on.
//!
//! The text is one item, `pub static TABLE: Table`. Where it is included, the model's types must be
//! in scope: `use super::table::{Claim, ClaimKind, Condition, Index, Invariant, Rule, Table};`. Equal
//! tables give equal text.

use super::model::{Claim, Condition, Invariant, Rule, Table};
use std::fmt::{Arguments, Write as _};

/// The source text of `table`, which was read from the file called `path`.
#[must_use]
pub fn emit(table: &Table, path: &str) -> String {
    let mut out = Source::default();
    out.line(format_args!("// @generated from {path} by the build script. To change it, change that file and build."));
    out.line(format_args!("/// The table in `{path}`, checked and compiled when this crate was built."));
    out.block("pub static TABLE: Table = Table", ";", |out| {
        out.text("name", &table.name);
        out.line(format_args!("version: {},", table.version));
        out.text("sha256", &table.sha256);
        out.list("invariants", &table.invariants, Source::invariant);
        out.list("rules", &table.rules, Source::rule);
        let masks: Vec<String> =
            table.rules.iter().map(|rule| format!("({:#x}, {:#x})", rule.forbidden, rule.asks)).collect();
        let masks = masks.join(", ");
        out.line(format_args!("index: ::std::borrow::Cow::Borrowed(const {{ &Index::of(&[{masks}]) }}),"));
    });
    out.text
}

/// Lines of source, indented by how deep they stand.
#[derive(Default)]
struct Source {
    text: String,
    depth: usize,
}

impl Source {
    fn line(&mut self, line: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", 4 * self.depth);
    }

    fn nested(&mut self, open: Arguments<'_>, close: Arguments<'_>, content: impl FnOnce(&mut Self)) {
        self.line(open);
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.line(close);
    }

    fn block(&mut self, head: &str, end: &str, content: impl FnOnce(&mut Self)) {
        self.nested(format_args!("{head} {{"), format_args!("}}{end}"), content);
    }

    fn text(&mut self, field: &str, text: &str) {
        self.line(format_args!("{field}: ::std::borrow::Cow::Borrowed({text:?}),"));
    }

    fn list<T>(&mut self, field: &str, items: &[T], each: impl Fn(&mut Self, &T)) {
        let open = format_args!("{field}: ::std::borrow::Cow::Borrowed(&[");
        self.nested(open, format_args!("]),"), |out| items.iter().for_each(|item| each(out, item)));
    }

    fn invariant(&mut self, invariant: &Invariant) {
        self.block("Invariant", ",", |out| {
            out.text("id", &invariant.id);
            out.text("states", &invariant.states);
            out.list("claims", &invariant.claims, Self::claim);
        });
    }

    fn claim(&mut self, claim: &Claim) {
        self.block("Claim", ",", |out| {
            out.line(format_args!("kind: ClaimKind::{:?},", claim.kind));
            out.list("of", &claim.of, Self::condition);
            out.line(format_args!("then: {:#b},", claim.then));
            out.line(format_args!("line: {},", claim.line));
        });
    }

    fn rule(&mut self, rule: &Rule) {
        self.block("Rule", ",", |out| {
            out.text("id", &rule.id);
            out.text("invariant", &rule.invariant);
            out.list("when", &rule.when, Self::condition);
            out.line(format_args!("then: {},", rule.then));
            out.text("what", &rule.what);
            out.text("why", &rule.why);
            out.text("next", &rule.next);
            out.line(format_args!("line: {},", rule.line));
            out.line(format_args!("forbidden: {:#x},", rule.forbidden));
            out.line(format_args!("asks: {:#x},", rule.asks));
            out.line(format_args!("tested: {:#x},", rule.tested));
        });
    }

    fn condition(&mut self, condition: &Condition) {
        self.line(format_args!("Condition {{ fact: {}, wanted: {:#x} }},", condition.fact, condition.wanted));
    }
}
