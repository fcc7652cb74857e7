//! `audit report`: decisions as one HTML page.

use super::super::error::CliError;
use super::super::exit::Exit;
use super::super::spawn_args::StoreArg;
use super::super::terminal::{Terminal, now_ms};
use super::super::words::{count, directory};
use super::select::{Found, SelectArgs, reader};
use super::{failed, table_with};
use crate::audit::{MAX_ROWS, Report, log};
use crate::gate::TABLE;
use crate::segments::segments;
use crate::store::SqliteStore;
use crate::table::Table;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Write the decisions, the chains and the rule table as one page to open in a browser
///
/// The page needs no network. It carries the newest 20,000 decisions; all are counted.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    store: StoreArg,
    /// Where to write it; `-` is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &ReportArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let selection = args.select.selection()?;
    let mut store = reader(&args.store, terminal)?;
    let newest = selection.newest(&mut store, MAX_ROWS)?;
    let shown: HashSet<(&str, usize)> = newest.iter().map(Found::place).collect();
    let tables = tables(&newest, &mut store)?;
    let mut report = Report::new(tables.iter().map(AsRef::as_ref).collect());
    for found in &newest {
        report.add(&found.record()?);
    }
    let agents = selection.agents(&mut store)?;
    for uid in &agents {
        let walk = log::forwards(&mut store, uid, &mut |read| {
            match read {
                // The newest were added; the others are only counted.
                Ok((line, entry)) if !shown.contains(&(uid.as_str(), line.offset)) && selection.fits(line, &entry) => {
                    report.count(&entry);
                }
                Ok(_) => {}
                Err(_) => report.add_unreadable(),
            }
            ControlFlow::Continue(())
        });
        let _ = walk.map_err(failed)?;
        if let Ok(folded) = segments(&mut store, uid) {
            report.add_chain(uid, &folded.segments);
        }
    }
    let source = directory(&store.path().display().to_string(), terminal.env.home.as_deref());
    let html = report.html(now_ms(), &source);
    if args.out.as_os_str() == "-" {
        terminal.out(&html)?;
    } else {
        write(&args.out, &html)
            .map_err(|error| CliError::usage(format!("cannot write the report `{}`: {error}", args.out.display())))?;
        let (all, shown) = (report.counted(), newest.len());
        let newest = if shown as u64 == all { String::new() } else { format!(", the newest {shown} of them shown") };
        terminal.say(&format!("{} in `{}`{newest}", count(all, "decision"), args.out.display()));
    }
    Ok(Exit::Done)
}

/// Today's table and those that made the decisions, as far as they are known.
fn tables(found: &[Found], store: &mut SqliteStore) -> Result<Vec<Cow<'static, Table>>, CliError> {
    let mut made_by = BTreeSet::new();
    for found in found {
        made_by.extend(found.record()?.entry.table.map(Cow::into_owned));
    }
    made_by.remove(TABLE.sha256.as_ref());
    let mut tables = vec![Cow::Borrowed(&TABLE)];
    for sha256 in made_by {
        tables.extend(table_with(store, &sha256)?);
    }
    Ok(tables)
}

/// Puts a file in place whole, or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
