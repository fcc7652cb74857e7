//! Which recorded decisions a command is about.

use super::super::error::CliError;
use super::super::terminal::Terminal;
use super::failed;
use super::time::{Span, moment};
use crate::audit::{Entry, Line, Record, log};
use crate::gate::decision::DecisionKind;
use crate::segments::is_agent_uid;
use crate::store::{SqliteStore, WRITER_WAIT};
use crate::table::nearest;
use std::ops::ControlFlow;
use strum::VariantNames;

/// Narrows a command down to some decisions; all that are given must fit.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SelectArgs {
    /// Only of this agent
    #[arg(long, value_name = "UID")]
    pub agent: Option<String>,
    /// Only these decisions: allow, redirect, refuse, relocate, fork, fork_from
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    pub decision: Vec<String>,
    /// Only decided by this rule
    #[arg(long, value_name = "ID")]
    pub rule: Option<String>,
    /// Only with this outcome: resume, fork, fresh, held
    #[arg(long, value_name = "OUTCOME")]
    pub outcome: Option<String>,
    /// Only with this session as candidate, head, or what was resumed
    #[arg(long, value_name = "SID", allow_hyphen_values = true)]
    pub session: Option<String>,
    /// Only from this time on: `2026-03-01`, `2026-03-01 14:30`, `3h`, `2d`, `tuesday`, `yesterday`
    #[arg(long, value_name = "TIME", conflicts_with = "on")]
    pub since: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "TIME", conflicts_with = "on")]
    pub until: Option<String>,
    /// Only on this day: a date, a weekday (the last such day), `today` or `yesterday`
    #[arg(long, value_name = "DAY")]
    pub on: Option<String>,
}

/// What [`SelectArgs`] came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    args: SelectArgs,
    span: Span,
}

impl SelectArgs {
    /// Reads the times, and makes sure that names can be names.
    pub(super) fn selection(&self) -> Result<Selection, CliError> {
        if let Some(uid) = self.agent.as_deref().filter(|uid| !is_agent_uid(uid)) {
            return Err(CliError::usage(format!("`{uid}` is no agent's id"))
                .help("an id has letters, digits, `_` and `-`; `resume-gate audit stats` names the agents"));
        }
        if let Some(name) = self.decision.iter().find(|name| !DecisionKind::VARIANTS.contains(&name.as_str())) {
            let error = CliError::usage(format!("there is no decision `{name}`"));
            let near = nearest(name, DecisionKind::VARIANTS.iter().copied());
            return Err(match near {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("decisions are {}", DecisionKind::VARIANTS.join(", "))),
            });
        }
        let span = match &self.on {
            Some(day) => Span::of_day(day)?,
            None => Span {
                from_ms: self.since.as_deref().map(moment).transpose()?,
                to_ms: self.until.as_deref().map(moment).transpose()?,
            },
        };
        Ok(Selection { args: self.clone(), span })
    }
}

impl Selection {
    /// The agents to look at, ordered by UID.
    pub(super) fn agents(&self, store: &mut SqliteStore) -> Result<Vec<String>, CliError> {
        let logged = log::logged_agents(store).map_err(failed)?.into_iter().map(|(uid, _)| uid);
        Ok(logged.filter(|uid| self.args.agent.as_ref().is_none_or(|wanted| wanted == uid)).collect())
    }

    /// Whether a decision is one of them.
    pub(super) fn fits(&self, line: Line<'_>, entry: &Entry<'_>) -> bool {
        let is = |wanted: &Option<String>, seen: &Option<std::borrow::Cow<'_, str>>| {
            wanted.is_none() || wanted.as_deref() == seen.as_deref()
        };
        let decision = entry.decision.as_deref().unwrap_or_default();
        self.span.contains(entry.at_ms)
            && (self.args.decision.is_empty() || self.args.decision.iter().any(|wanted| wanted == decision))
            && is(&self.args.rule, &entry.rule)
            && is(&self.args.outcome, &entry.outcome)
            && self
                .args
                .session
                .as_ref()
                .is_none_or(|session| Record::read(line).is_ok_and(|record| record.concerns(session)))
    }

    /// The newest `limit` decisions that fit, newest first, each with its agent and its line.
    pub(super) fn newest(&self, store: &mut SqliteStore, limit: usize) -> Result<Vec<Found>, CliError> {
        let mut found: Vec<Found> = Vec::new();
        for uid in self.agents(store)? {
            let mut of_agent = 0;
            let walk = log::backwards(store, &uid, &mut |read| {
                let Ok((line, entry)) = read else { return ControlFlow::Continue(()) };
                if self.fits(line, &entry) {
                    of_agent += 1;
                    found.push(Found::of(&uid, line, &entry));
                }
                if of_agent >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let _ = walk.map_err(failed)?;
            // Stable: what an agent's log has later comes first among equals.
            found.sort_by_key(|found| std::cmp::Reverse(found.at_ms));
            found.truncate(limit);
        }
        Ok(found)
    }

    /// Shows every decision that fits, agent by agent, oldest first; gives how many lines are no record.
    pub(super) fn each(&self, store: &mut SqliteStore, mut show: impl FnMut(&Entry<'_>)) -> Result<u64, CliError> {
        let mut unreadable = 0;
        for uid in self.agents(store)? {
            let walk = log::forwards(store, &uid, &mut |read| {
                match read {
                    Ok((line, entry)) if self.fits(line, &entry) => show(&entry),
                    Ok(_) => {}
                    Err(_) => unreadable += 1,
                }
                ControlFlow::Continue(())
            });
            let _ = walk.map_err(failed)?;
        }
        Ok(unreadable)
    }
}

/// A decision that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The agent in whose log it stands.
    pub(super) agent_uid: String,
    pub(super) at_ms: Option<u64>,
    offset: usize,
    line: Vec<u8>,
}

impl Found {
    fn of(agent_uid: &str, line: Line<'_>, entry: &Entry<'_>) -> Self {
        Self { agent_uid: agent_uid.to_owned(), at_ms: entry.at_ms, offset: line.offset, line: line.bytes.to_vec() }
    }

    /// Where it stands: its agent, and its offset in the agent's log.
    pub(super) fn place(&self) -> (&str, usize) {
        (&self.agent_uid, self.offset)
    }

    /// All that it says.
    pub(super) fn record(&self) -> Result<Record<'_>, CliError> {
        Record::read(Line { offset: self.offset, bytes: &self.line }).map_err(CliError::usage)
    }
}

/// The decision with this id, or with an id that ends so.
pub(super) fn by_id(store: &mut SqliteStore, id: &str) -> Result<Found, CliError> {
    let mut found: Vec<Found> = Vec::new();
    for uid in Selection::default().agents(store)? {
        let walk = log::backwards(store, &uid, &mut |read| {
            let Ok((line, entry)) = read else { return ControlFlow::Continue(()) };
            let seen = entry.id.as_deref().unwrap_or_default();
            if seen == id || id.len() >= LEAST_ID_CHARS && seen.ends_with(id) {
                found.push(Found::of(&uid, line, &entry));
            }
            ControlFlow::Continue(())
        });
        let _ = walk.map_err(failed)?;
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(CliError::usage(format!(
            "no recorded decision has the id `{id}`, in the store `{}`",
            store.path().display()
        ))
        .help("`resume-gate audit list` shows the ids")),
        many => Err(CliError::usage(format!("{many} recorded decisions have an id that ends in `{id}`"))
            .help("give more of it")),
    }
}

/// How much of the end of an id names a decision; its beginning is the time.
const LEAST_ID_CHARS: usize = 4;

/// Opens the store for reading; nothing is written to it.
pub(super) fn reader(store: &super::super::spawn_args::StoreArg, terminal: &Terminal) -> Result<SqliteStore, CliError> {
    SqliteStore::reader(&store.locate(&terminal.env)?, WRITER_WAIT).map_err(failed)
}
