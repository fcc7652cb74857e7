//! `segments check`: every place where a log is not as it should be, and what was made of it.

use super::super::Format;
use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::terminal::Terminal;
use super::super::words::{anomalies, count, shown};
use super::document::head_of_document;
use super::{LogArgs, failed, shown_path};
use crate::explain::Ink;
use crate::segments::{Anomaly, Folded, Severity, agents, segments};
use serde_json::{Value, json};
use std::fmt::Write;

const CHECK_SCHEMA: &str = "resume-gate.segments-check/1";

/// Check logs for damage and for anything unusual
///
/// Names each place by its byte offset and line, what it is, and what was made of it. Damage is what
/// does not count or is lost; a note was read in full. Nothing is repaired. Without an agent, all
/// logs are checked. Exits 1 if anything was found.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    log: LogArgs,
}

/// One log, read in full, or why it cannot be.
#[derive(Debug)]
struct Checked {
    uid: String,
    found: Result<Folded, String>,
}

impl Checked {
    fn is_sound(&self) -> bool {
        self.found.as_ref().is_ok_and(|folded| folded.anomalies.is_empty())
    }
}

pub(super) fn run(args: &CheckArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let mut store = args.log.reader(&terminal.env)?;
    LogArgs::note_absence(&store, terminal);
    let checked: Vec<Checked> = match args.log.agent(&terminal.env) {
        Some(uid) => {
            let found = Ok(without_chain(segments(&mut store, &uid).map_err(failed)?));
            vec![Checked { uid, found }]
        }
        None => {
            let logs = agents(&mut store).map_err(failed)?;
            // One log that cannot be read hides no other.
            let check = |uid: String| {
                let found = segments(&mut store, &uid).map(without_chain).map_err(|error| error.to_string());
                Checked { uid, found }
            };
            logs.into_iter().map(|log| log.uid).map(check).collect()
        }
    };
    let sound = checked.iter().all(Checked::is_sound);
    if args.log.format == Format::Json {
        let mut document = head_of_document(CHECK_SCHEMA, &store);
        document.insert("ok".to_owned(), json!(sound));
        document.insert("agents".to_owned(), checked.iter().map(checked_json).collect());
        terminal.json(&document.into())?;
    } else {
        terminal.out(&text(&checked, &shown_path(&store), terminal.ink))?;
    }
    Ok(if sound { Exit::Done } else { Exit::Found })
}

/// What is kept of a log while the others are read.
fn without_chain(folded: Folded) -> Folded {
    Folded { segments: Vec::new(), ..folded }
}

fn text(checked: &[Checked], store: &str, ink: Ink) -> String {
    if checked.is_empty() {
        return format!("no agent has segments in `{store}`\n");
    }
    let mut out = String::new();
    for Checked { uid, found } in checked {
        let agent = ink.strong(&format!("agent {uid}"));
        let folded = match found {
            Ok(folded) => folded,
            Err(error) => {
                let _ = writeln!(out, "{agent}   {}", ink.bad(&shown(error)));
                continue;
            }
        };
        let read = format!("{} of {}", count(folded.lines, "line"), count(folded.bytes, "byte"));
        let verdict = match folded.anomalies.len() as u64 {
            0 => ink.good("as it should be"),
            number => ink.warn(&anomalies(number)),
        };
        let _ = writeln!(out, "{agent}   {read}: {verdict}");
        let offsets = folded.anomalies.iter().map(|anomaly| anomaly.offset.to_string().len()).max().unwrap_or_default();
        let lines = folded.anomalies.iter().map(|anomaly| anomaly.line.to_string().len()).max().unwrap_or_default();
        for anomaly in &folded.anomalies {
            let Anomaly { offset, line, kind, .. } = anomaly;
            let severity = match kind.severity() {
                Severity::Damage => ink.bad("damage"),
                Severity::Note => "note  ".to_owned(),
            };
            let code = ink.faint(&format!("[{}]", kind.code()));
            let what = shown(&anomaly.describe());
            let _ = writeln!(out, "  byte {offset:>offsets$}, line {line:>lines$}  {severity}  {what} {code}");
        }
    }
    out
}

fn checked_json(checked: &Checked) -> Value {
    let anomaly = |anomaly: &Anomaly| {
        let severity: &str = anomaly.kind.severity().into();
        json!({
            "offset": anomaly.offset,
            "line": anomaly.line,
            "code": anomaly.kind.code(),
            "severity": severity,
            "subject": anomaly.subject,
            "what": anomaly.kind.what(),
            "made_of_it": anomaly.kind.made_of_it(),
        })
    };
    match &checked.found {
        Ok(folded) => json!({
            "agent_uid": checked.uid,
            "lines": folded.lines,
            "bytes": folded.bytes,
            "anomalies": folded.anomalies.iter().map(anomaly).collect::<Vec<_>>(),
            "error": null,
        }),
        Err(error) => json!({ "agent_uid": checked.uid, "anomalies": [], "error": error }),
    }
}
