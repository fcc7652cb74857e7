//! What replaying decision records costs: `cargo bench --bench audit`.
//!
//! One record for every possible combination of facts, over and over: as entries in memory, as the
//! bytes of a log, and the same log read as one `serde_json::Value` a line, which is the obvious way.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/support/records.rs"]
mod records;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use resume_gate::audit::{Entry, Replay, entries};
use resume_gate::gate::TABLE;
use resume_gate::gate::facts::VOCABULARY;

/// How often every combination comes.
const ROUNDS: usize = 20;

fn main() {
    divan::main();
}

fn log() -> String {
    let words = VOCABULARY.combinations();
    let about = records::About::default();
    (0..ROUNDS).flat_map(|_| &words).zip(0..).map(|(word, at)| records::record(*word, at, about) + "\n").collect()
}

fn replayed<'a>(recorded: impl Iterator<Item = Entry<'a>>) -> u64 {
    let mut replay = Replay::new(&TABLE, vec![&TABLE]);
    recorded.for_each(|entry| replay.add(&entry));
    replay.unchanged
}

#[divan::bench]
fn replay_from_memory(bencher: Bencher<'_, '_>) {
    let log = log();
    let recorded: Vec<Entry<'_>> = entries(log.as_bytes()).map(|read| read.unwrap().1).collect();
    bencher.counter(ItemsCount::new(recorded.len())).bench(|| {
        let mut replay = Replay::new(&TABLE, vec![&TABLE]);
        black_box(&recorded).iter().for_each(|entry| replay.add(entry));
        replay.unchanged
    });
}

#[divan::bench]
fn replay_of_a_log(bencher: Bencher<'_, '_>) {
    let log = log();
    bencher
        .counter(BytesCount::new(log.len()))
        .bench(|| replayed(entries(black_box(log.as_bytes())).map(|read| read.unwrap().1)));
}

#[divan::bench]
fn a_tree_for_each_line_of_the_log(bencher: Bencher<'_, '_>) {
    let log = log();
    bencher.counter(BytesCount::new(log.len())).bench(|| {
        let lines = black_box(&log).lines();
        lines
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|value| value["rule"].is_string())
            .count()
    });
}
