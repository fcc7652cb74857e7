//! The HTML report in a real browser: it loads without a word on the console, the filter and the
//! detail view work, and nothing in a record is more than text.
//!
//! Without `chromedriver` and Chromium on the machine these tests say so and pass.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::allow_attributes,
    reason = "tests"
)]

#[path = "support/browser.rs"]
mod browser;
#[path = "support/records.rs"]
mod records;

use browser::Browser;
use records::About;
use resume_gate::audit::{Line, Record, Report};
use resume_gate::gate::facts::{Fact, VOCABULARY};
use resume_gate::gate::{TABLE, decision_of};
use resume_gate::segments::{EndReason, Ended, Rung, Segment, Start};
use resume_gate::table::{FactWord, Table};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;

/// A browser, unless the machine has none.
fn browser(width: u32, height: u32, dark: bool) -> Option<Browser> {
    match Browser::start(width, height, dark) {
        Ok(browser) => Some(browser),
        Err(reason) => {
            eprintln!("skipped: {reason}; `apt-get install chromium chromium-driver` brings a browser");
            None
        }
    }
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn id(&mut self) -> String {
        let (a, b) = (self.below(1 << 31), self.below(1 << 31));
        format!(
            "{a:08x}-{:04x}-4{:03x}-a{:03x}-{b:012x}",
            self.below(1 << 16),
            self.below(1 << 12),
            self.below(1 << 12)
        )
    }
}

const NOW_MS: u64 = 1_790_000_000_000;
const HOUR_MS: u64 = 3_600_000;

/// Agents with their chains.
type Chains = Vec<(String, Vec<Segment>)>;

/// Chains and records of `agents` agents with `each` spawns: records newest first.
fn history(agents: u64, each: u64) -> (Chains, Vec<(u64, String)>) {
    let mut numbers = Numbers(7);
    let space = VOCABULARY.combinations();
    let of = |rule: &str| -> Vec<FactWord> {
        space.iter().copied().filter(|word| TABLE.rules[TABLE.first_hit(*word)].id == rule).collect()
    };
    let usual = [
        of("head-is-candidate"),
        of("head-moved-on"),
        of("head-busy"),
        of("head-gone"),
        of("relocate"),
        of("other-identity"),
        of("no-chain"),
    ];
    let weights = [55, 15, 6, 7, 6, 4, 7];
    let (mut chains, mut records) = (Vec::new(), Vec::new());
    for agent in 0..agents {
        let uid = format!(
            "{}-{:02}",
            ["builder", "reviewer", "scribe", "triage", "release"][(agent % 5) as usize],
            agent + 1
        );
        let mut chain: Vec<Segment> = Vec::new();
        let mut at = NOW_MS - (20 + numbers.below(70)) * 24 * HOUR_MS;
        for spawn in 0..each {
            let mut pick = numbers.below(102);
            let word = weights.iter().zip(&usual).find_map(|(weight, words)| {
                if pick < *weight {
                    return Some(words[numbers.below(words.len() as u64) as usize]);
                }
                pick -= weight;
                None
            });
            let word = word.unwrap_or_else(|| space[numbers.below(space.len() as u64) as usize]);
            let head = chain.last().and_then(|s| s.session_id.clone()).unwrap_or_else(|| numbers.id());
            let is_head = word.value_name(Fact::Candidate) == Some("head");
            let candidate = if is_head { head.clone() } else { numbers.id() };
            let note = (numbers.below(9) == 0).then_some("the last session whose file is here is 7c1d0a94…");
            let about = About {
                agent: &uid,
                candidate: &candidate,
                head: &head,
                size: numbers.below(4_000_000),
                note,
                ..About::default()
            };
            records.push((at, records::record(word, at, about)));
            let decision = decision_of(&TABLE.rules[TABLE.first_hit(word)]).name();
            let ended = at + 120_000 + numbers.below(9 * HOUR_MS);
            let (rung, session) = match decision {
                "allow" | "redirect" => (Rung::Native, head.clone()),
                "refuse" => (Rung::Virtualized, numbers.id()),
                _ => (Rung::Native, numbers.id()),
            };
            let crashed = numbers.below(12) == 0;
            chain.push(Segment {
                start: Start {
                    segment_id: format!("s{spawn}"),
                    agent_uid: uid.clone(),
                    provider: "claude".into(),
                    config_dir: Some(format!("/home/pat/.claude{}", if spawn * 3 > each * 2 { "-work" } else { "" })),
                    cwd: "/home/pat/work".into(),
                    started_at_ms: Some((at + 400) as i64),
                    continuity_rung: if spawn == 0 { Rung::Fresh } else { rung },
                    forked_from: (decision == "fork").then(|| head.clone()),
                    ..Start::default()
                },
                session_id: Some(session),
                end: (spawn + 1 < each).then(|| Ended {
                    ended_at_ms: Some(ended as i64),
                    end_reason: if crashed { EndReason::Crashed } else { EndReason::Exited },
                    ..Ended::default()
                }),
                provider_bytes_end: (spawn + 1 < each).then(|| numbers.below(4_000_000)),
                ..Segment::default()
            });
            at = ended + numbers.below(20 * HOUR_MS);
        }
        chains.push((uid, chain));
    }
    records.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    (chains, records)
}

/// A table of yesterday: another order, so another fingerprint.
fn yesterday() -> Table {
    let mut table = TABLE.clone();
    table.rules.to_mut().swap(8, 10);
    table.sha256 = Cow::Borrowed("00000000aaaaaaaa");
    table
}

fn page(agents: u64, each: u64) -> String {
    let (chains, records) = history(agents, each);
    let yesterday = yesterday();
    let mut report = Report::new(vec![&TABLE, &yesterday]);
    for (uid, chain) in &chains {
        report.add_chain(uid, chain);
    }
    for (_, line) in &records {
        report.add(&Record::read(Line::of(line)).unwrap());
    }
    report.html(NOW_MS as i64, "~/.agentmux/shared/agents/transcripts/filestore.db")
}

fn written(name: &str, html: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, html).unwrap();
    path
}

fn screenshot(browser: &Browser, name: &str) {
    let shot = browser.devtools("Page.captureScreenshot", json!({ "format": "png" }));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, base64(shot["data"].as_str().unwrap())).unwrap();
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn ten_thousand_decisions_load_filter_and_open_without_a_word_on_the_console() {
    let file = written("report.html", &page(25, 400));
    let Some(browser) = browser(1280, 900, false) else { return };
    browser.open(&file);
    browser.wait_for("document.getElementById('count').textContent !== ''");
    assert_eq!(browser.run("return document.getElementById('count').textContent"), "10,000 decisions");
    screenshot(&browser, "report-desktop.png");

    browser.run("document.querySelector('#lanes .quiet').click(); document.querySelector('#heat').scrollIntoView()");
    screenshot(&browser, "report-table.png");
    browser.run("document.querySelector('#lanes').scrollIntoView()");
    screenshot(&browser, "report-chain.png");
    browser
        .run("document.querySelector('#lanes .quiet').click(); document.querySelector('#decisions').scrollIntoView()");
    screenshot(&browser, "report-list.png");

    // Only a part of the list is in the page, and scrolling brings more.
    let rows = "return document.querySelectorAll('#list tbody tr').length";
    let before = browser.run(rows).as_u64().unwrap();
    assert!((1..=600).contains(&before), "{before} rows at first");
    browser.run("document.getElementById('more').scrollIntoView()");
    browser.wait_for(&format!("document.querySelectorAll('#list tbody tr').length > {before}"));

    // The search answers within the time in which a person notices a delay.
    let took = browser.run(
        "const q = document.getElementById('q'); q.value = 'reviewer-02'; const start = performance.now();
         q.form.dispatchEvent(new SubmitEvent('submit', { cancelable: true })); return performance.now() - start;",
    );
    assert!(took.as_f64().unwrap() < 1000.0, "filtering took {took} ms");
    assert_eq!(browser.run("return document.getElementById('count').textContent"), "400 of 10,000 decisions");

    // A decision chip narrows it further; the counts agree with each other.
    browser.run("document.querySelector('[data-kind=refuse]').click()");
    let kinds = browser
        .run("return [...new Set([...document.querySelectorAll('#list tbody .badge')].map((b) => b.textContent))]");
    assert_eq!(kinds, json!(["refuse"]));
    browser.run("document.getElementById('clear').click()");
    browser.wait_for("document.getElementById('count').textContent === '10,000 decisions'");

    // From the rule table to its decisions.
    browser.run("[...document.querySelectorAll('#heat .link')].find((b) => b.textContent === 'relocate').click()");
    let hits =
        browser.run("return [...document.querySelectorAll('#heat tbody tr')][14].querySelector('.hits').textContent");
    let count = browser.run("return document.getElementById('count').textContent");
    assert_eq!(count, format!("{} of 10,000 decisions", hits.as_str().unwrap()));

    // A decision opens by a click anywhere on its row, and its address names it.
    browser.run("document.querySelector('#list tbody tr td.text').click()");
    browser.wait_for("document.getElementById('detail').open");
    let detail = browser.run("return document.getElementById('detail').innerText");
    let detail = detail.as_str().unwrap();
    for part in [
        "relocate by relocate (15 of 17)",
        "whole under another login",
        "decides the same",
        "2 rules not reached",
        "head_record",
    ] {
        assert!(detail.contains(part), "{part} is not in {detail}");
    }
    let path = browser.run("return [...document.querySelectorAll('#detail .path li')].map((li) => li.className)");
    assert_eq!(path.as_array().unwrap().iter().filter(|class| *class == "hit").count(), 1);
    assert_eq!(path.as_array().unwrap().len(), 17);
    assert!(browser.run("return location.hash").as_str().unwrap().starts_with("#d="));
    screenshot(&browser, "report-detail.png");
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn everything_can_be_done_from_the_keyboard() {
    let file = written("report-keys.html", &page(3, 20));
    let Some(browser) = browser(1100, 800, false) else { return };
    browser.open(&file);
    browser.wait_for("document.getElementById('count').textContent !== ''");
    let [tab, enter, escape, down, right] = ["\u{e004}", "\u{e007}", "\u{e00c}", "\u{e015}", "\u{e014}"];
    // The first stop is the way past everything to the list.
    browser.press(&[tab, enter]);
    assert_eq!(browser.run("return document.activeElement.id"), "decisions");
    browser.run("document.querySelector('#list tbody a').focus()");
    browser.press(&[down, down, enter]);
    browser.wait_for("document.getElementById('detail').open");
    assert_eq!(browser.run("return document.getElementById('place').textContent"), "3 of 60");
    assert_eq!(browser.run("return document.getElementById('detail').contains(document.activeElement)"), true);
    browser.press(&[right]);
    assert_eq!(browser.run("return document.getElementById('place').textContent"), "4 of 60");
    browser.press(&[escape]);
    browser.wait_for("!document.getElementById('detail').open");
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// What a name, a path or a note could say to break out of the place it is shown in.
const HOSTILE: &str = "</script><script>window.broken=1</script><img src=x onerror=window.broken=2><!--\u{2028}\u{2029}\"'`${window.broken=3}&amp;\u{202e}";

#[test]
fn whatever_a_record_says_is_shown_as_text() {
    let hostile = json!({
        "schema": "resume-gate.decision/1", "id": HOSTILE, "at_ms": 1_789_000_000_000_u64, "rule": HOSTILE, "agent_uid": HOSTILE,
        "decision": { "kind": HOSTILE, "head": HOSTILE }, "reason": HOSTILE, "plan": { "outcome": HOSTILE, "resume": HOSTILE },
        "candidate": { "id": HOSTILE, "offered": HOSTILE }, "head": { "session_id": HOSTILE },
        "facts": { "spawn_provider": "other", (HOSTILE): HOSTILE }, "table": { "sha256": HOSTILE }, "notes": [{ "code": HOSTILE, "text": HOSTILE }],
        "probes": [{ "fact": "head_file", "value": "missing", "path": HOSTILE, "error": HOSTILE }],
    })
    .to_string();
    let segment = Segment {
        start: Start {
            provider: HOSTILE.into(),
            config_dir: Some(HOSTILE.into()),
            cwd: HOSTILE.into(),
            started_at_ms: Some(1_789_000_000_000),
            forked_from: Some(HOSTILE.into()),
            continuity_rung: HOSTILE.into(),
            ..Start::default()
        },
        session_id: Some(HOSTILE.into()),
        earlier_session_ids: vec![HOSTILE.into()],
        ..Segment::default()
    };
    let mut report = Report::new(vec![&TABLE]);
    report.add_chain(HOSTILE, &[segment.clone(), segment]);
    report.add(&Record::read(Line::of(&hostile)).unwrap());
    report.add_unreadable();
    let html = report.html(NOW_MS as i64, HOSTILE);
    assert_eq!(html.matches("</script").count(), 2, "only the page's own");
    assert!(!html.contains("<img") && !html.contains('\u{2028}'));
    let file = written("report-hostile.html", &html);
    let Some(browser) = browser(900, 700, false) else { return };
    browser.open(&file);
    browser.wait_for("document.getElementById('count').textContent !== ''");
    browser.run("document.querySelector('#lanes .quiet').click(); document.querySelector('#list tbody a').click()");
    browser.wait_for("document.getElementById('detail').open");
    assert_eq!(browser.run("return window.broken ?? null"), Value::Null);
    assert_eq!(browser.run("return document.images.length"), 0);
    assert!(browser.run("return document.getElementById('detail').textContent").as_str().unwrap().contains(HOSTILE));
    assert!(browser.run("return document.querySelector('.chain').textContent").as_str().unwrap().contains(HOSTILE));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_record_that_says_nothing_and_a_log_without_records_are_shown_too() {
    let mut report = Report::new(vec![&TABLE]);
    let empty = report.html(0, "a store");
    for line in [
        "{}",
        r#"{"rule":null,"decision":null,"plan":{"outcome":"fresh"}}"#,
        r#"{"id":"x","decision":{"kind":"postpone"}}"#,
    ] {
        report.add(&Record::read(Line::of(line)).unwrap());
    }
    let odd = report.html(0, "a store");
    let (empty, odd) = (written("report-empty.html", &empty), written("report-odd.html", &odd));
    let Some(browser) = browser(900, 700, false) else { return };
    browser.open(&empty);
    browser.wait_for("document.getElementById('count').textContent === '0 decisions'");
    browser.open(&odd);
    browser.wait_for("document.getElementById('count').textContent === '3 decisions'");
    // Decisions without an id are still told apart, however quickly one follows the other.
    for (row, decision) in [(0, "nothing to decide"), (1, "nothing to decide"), (2, "postpone"), (2, "postpone")] {
        browser.run(&format!(
            "document.getElementById('detail').close(); document.querySelectorAll('#list tbody tr')[{row}].click()"
        ));
        browser.wait_for(&format!(
            "document.getElementById('detail').open && document.getElementById('place').textContent === '{} of 3'",
            row + 1
        ));
        let shown = browser.run("return document.querySelector('#detail-body .badge').textContent");
        assert_eq!(shown, decision);
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// Relative luminance of what a page calls a colour, and the contrast of all its texts.
const CONTRASTS: &str = r"
    const part = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    const rgb = (text) => text.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const over = (top, under) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)); };
    const behind = (node) => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) layers.push(rgb(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    const low = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest('[data-zero], :disabled, script, style, option')) continue;
        const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5) low.push(`${contrast.toFixed(2)} ${node.className} ${walk.currentNode.data.slice(0, 40)}`);
    }
    return [...new Set(low)];
";

#[test]
fn it_reads_well_on_a_phone_and_in_the_dark() {
    let file = written("report-small.html", &page(6, 60));
    for (name, width, height, dark) in [
        ("phone", 390, 844, false),
        ("phone-dark", 390, 844, true),
        ("phone-narrow", 360, 700, false),
        ("dark", 1280, 900, true),
        ("light", 1280, 900, false),
    ] {
        let Some(browser) = browser(width, height, dark) else { return };
        browser.open(&file);
        browser.wait_for("document.getElementById('count').textContent !== ''");
        let overflow = browser.run("return document.scrollingElement.scrollWidth - innerWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{name} scrolls sideways by {overflow}");
        if width < 720 {
            let box_of_table = "const t = document.querySelector('table.heat').parentElement";
            let overflow = browser.run(&format!("{box_of_table}; return t.scrollWidth - t.clientWidth"));
            assert!(overflow.as_i64().unwrap() <= 0, "{name}: the rule table scrolls sideways by {overflow}");
        }
        let background = browser.run("return getComputedStyle(document.body).backgroundColor");
        assert_eq!(background == "rgb(19, 21, 24)", dark, "{name}: {background}");
        assert_eq!(browser.run(CONTRASTS), json!([]), "{name}: text that is hard to read");
        screenshot(&browser, &format!("report-{name}.png"));
        browser
            .run("document.querySelector('#lanes .quiet').click(); document.querySelector('#heat').scrollIntoView()");
        screenshot(&browser, &format!("report-{name}-table.png"));
        browser.run("document.getElementById('decisions').scrollIntoView()");
        screenshot(&browser, &format!("report-{name}-list.png"));
        browser.run("document.querySelector('#list tbody tr:nth-child(4)').click()");
        browser.wait_for("document.getElementById('detail').open");
        let overflow = browser.run("const d = document.getElementById('detail'); return d.scrollWidth - d.clientWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{name}: the detail scrolls sideways by {overflow}");
        assert_eq!(browser.run(CONTRASTS), json!([]), "{name}: text that is hard to read in the detail");
        screenshot(&browser, &format!("report-{name}-detail.png"));
        assert_eq!(browser.console(), Vec::<String>::new());
    }
}

#[test]
fn a_screen_reader_finds_a_name_for_everything_it_can_act_on() {
    let file = written("report-names.html", &page(3, 20));
    let Some(browser) = browser(1100, 800, false) else { return };
    browser.open(&file);
    browser.wait_for("document.getElementById('count').textContent !== ''");
    browser.run("document.querySelector('#list tbody tr').click()");
    browser.wait_for("document.getElementById('detail').open");
    browser.run("document.getElementById('detail').close()");
    let tree = browser.devtools("Accessibility.getFullAXTree", json!({}));
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for node in tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != json!(true)) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if ["button", "link", "textbox", "searchbox", "combobox", "image", "table", "dialog", "group", "search"]
            .contains(&role)
        {
            let name = node["name"]["value"].as_str().unwrap_or_default();
            assert!(!name.trim().is_empty(), "a {role} has no name: {node}");
            *seen.entry(role.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(seen.get("table"), Some(&2), "{seen:?}");
    assert!(seen["link"] > 20 && seen["button"] > 20 && seen["image"] >= 3, "{seen:?}");
    let headings = browser.run("return [...document.querySelectorAll('h1,h2')].filter((h) => h.checkVisibility()).map((h) => h.tagName + ' ' + h.textContent)");
    assert_eq!(headings, json!(["H1 Resume decisions", "H2 Agents", "H2 Rule table", "H2 Decisions"]));
}
