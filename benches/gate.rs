//! What a decision costs: `cargo bench --bench gate`.
//!
//! The compiled table with everything its why-not answer needs (rule and fact word) against the same
//! rules as a hand-written `if` chain over the same facts, on every possible case in a fixed
//! shuffled order. Allocations are counted: there are to be none.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher, black_box};
use resume_gate::gate::facts::{
    Candidate, Chain, Fact, FactValue, ForkIdentity, ForkProvider, ForkRecord, ForkSource, HeadBusy, HeadFile,
    HeadHealth, HeadIdentity, HeadLogin, HeadProject, HeadProvider, HeadRecord, SpawnProvider, VOCABULARY,
};
use resume_gate::gate::{Ready, TABLE, evaluate, parse_fact_set};
use resume_gate::table::{FactWord, State};
use std::str::FromStr;
use strum::IntoEnumIterator;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// One case in both forms.
#[derive(Clone, Copy)]
struct Case {
    /// As the gate starts out with it: the probes are not asked yet.
    word: FactWord,
    ready: Ready,
    plain: Plain,
}

/// The same case as somebody would write it by hand: an enum a fact, `None` where it does not apply.
#[derive(Clone, Copy)]
struct Plain {
    spawn_provider: Option<SpawnProvider>,
    chain: Option<Chain>,
    fork_source: Option<ForkSource>,
    fork_provider: Option<ForkProvider>,
    fork_identity: Option<ForkIdentity>,
    fork_record: Option<ForkRecord>,
    head_health: Option<HeadHealth>,
    head_identity: Option<HeadIdentity>,
    head_provider: Option<HeadProvider>,
    candidate: Option<Candidate>,
    head_login: Option<HeadLogin>,
    head_project: Option<HeadProject>,
    head_file: Option<HeadFile>,
    head_busy: Option<HeadBusy>,
    head_record: Option<HeadRecord>,
}

fn value<V: FactValue + FromStr>(word: FactWord) -> Option<V> {
    V::from_str(word.value_name(V::FACT)?).ok()
}

/// Where a probe does not apply, any answer will do: nobody asks.
fn ready<V: FactValue + FromStr + IntoEnumIterator>(word: FactWord) -> V {
    value(word).or_else(|| V::iter().next()).unwrap()
}

fn case(word: FactWord) -> Case {
    let unasked = |word: FactWord, fact: Fact| match word.fact(fact) {
        State::Value(_) => word.with_bits(fact.spec(), fact.spec().not_asked_bit()),
        _ => word,
    };
    Case {
        word: Fact::iter().filter(|fact| fact.spec().probe).fold(word, unasked),
        ready: Ready {
            fork_record: ready(word),
            head_file: ready(word),
            head_busy: ready(word),
            head_record: ready(word),
        },
        plain: Plain {
            spawn_provider: value(word),
            chain: value(word),
            fork_source: value(word),
            fork_provider: value(word),
            fork_identity: value(word),
            fork_record: value(word),
            head_health: value(word),
            head_identity: value(word),
            head_provider: value(word),
            candidate: value(word),
            head_login: value(word),
            head_project: value(word),
            head_file: value(word),
            head_busy: value(word),
            head_record: value(word),
        },
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = VOCABULARY.combinations().into_iter().map(case).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..cases.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        cases.swap(i, (state % (i as u64 + 1)) as usize);
    }
    cases
}

/// The seventeen rules by hand, in order: the index of the one that decides.
fn by_hand(case: &Plain) -> usize {
    let parents = matches!(case.fork_source, Some(ForkSource::AtCandidate | ForkSource::Behind));
    let here = matches!(case.head_file, Some(HeadFile::AsLeft | HeadFile::Unsized | HeadFile::Shrunk));
    if case.spawn_provider == Some(SpawnProvider::Other) {
        return 0;
    }
    if case.chain == Some(Chain::Unknown) {
        return 1;
    }
    if parents
        && case.fork_provider == Some(ForkProvider::Claude)
        && case.fork_identity == Some(ForkIdentity::Same)
        && case.fork_record == Some(ForkRecord::Complete)
    {
        return 2;
    }
    if parents {
        return 3;
    }
    if case.chain == Some(Chain::Empty) {
        return 4;
    }
    if case.head_health == Some(HeadHealth::Poisoned) {
        return 5;
    }
    if case.head_identity == Some(HeadIdentity::Different) {
        return 6;
    }
    if case.head_provider == Some(HeadProvider::Other) {
        return 7;
    }
    if case.head_file == Some(HeadFile::Grown) {
        return 8;
    }
    if case.head_login == Some(HeadLogin::Other) && matches!(case.head_file, Some(HeadFile::Shrunk | HeadFile::Empty)) {
        return 9;
    }
    if here && case.head_busy == Some(HeadBusy::Yes) {
        return 10;
    }
    if here && case.candidate == Some(Candidate::Head) {
        return 11;
    }
    if here && case.candidate == Some(Candidate::Other) {
        return 12;
    }
    if case.head_login == Some(HeadLogin::Own)
        && case.head_project == Some(HeadProject::Same)
        && matches!(case.head_file, Some(HeadFile::Missing | HeadFile::Empty))
    {
        return 13;
    }
    if case.head_identity == Some(HeadIdentity::Same)
        && case.head_login == Some(HeadLogin::Other)
        && case.head_project == Some(HeadProject::Same)
        && case.head_file == Some(HeadFile::Missing)
        && case.head_record == Some(HeadRecord::Complete)
    {
        return 14;
    }
    if case.candidate == Some(Candidate::Head) { 15 } else { 16 }
}

#[divan::bench]
fn if_chain_by_hand(bencher: Bencher) {
    let cases = cases();
    bencher.counter(ItemsCount::new(cases.len())).bench_local(|| {
        for case in &cases {
            black_box(by_hand(black_box(&case.plain)));
        }
    });
}

#[divan::bench]
fn compiled_table_with_trace(bencher: Bencher) {
    let cases = cases();
    for case in &cases {
        let evaluation = evaluate(&TABLE, case.word, &mut case.ready.clone());
        assert_eq!(evaluation.rule, by_hand(&case.plain), "both decide alike");
    }
    bencher.counter(ItemsCount::new(cases.len())).bench_local(|| {
        for case in &cases {
            let mut ready = case.ready;
            black_box(evaluate(&TABLE, black_box(case.word), &mut ready));
        }
    });
}

#[divan::bench]
fn fact_set_from_json(bencher: Bencher) {
    let json = r#"{"spawn_provider":"claude","chain":"headed","head_health":"ok","head_identity":"same","head_provider":"claude","candidate":"other","head_login":"own","head_project":"same","head_file":"as_left","head_busy":"no"}"#;
    bencher.bench_local(|| parse_fact_set(black_box(json)));
}
