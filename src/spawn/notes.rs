//! Remarks about a decided spawn: what a tired operator should see beside the decision itself.

use super::chain::sessions_before;
use super::deadline::Deadline;
use super::decide::{Decided, is_here, own_folder};
use super::request::{Login, SpawnRequest};
use crate::explain::{Note, short};
use crate::gate::facts::{ForkIdentity, ForkProvider, ForkSource, HeadBusy, HeadFile, HeadIdentity, HeadLogin};
use crate::gate::{Evidence, Head, ResumeGate};
use crate::table::FactWord;

/// How many earlier sessions are looked for when the head is gone.
const EARLIER_SESSIONS_MAX: usize = 64;

/// Everything worth saying about the decision.
pub(super) fn about(
    decided: &Decided,
    request: &SpawnRequest,
    identity_unknown: Option<&str>,
    deadline: Deadline,
) -> Vec<Note> {
    let Some(gated) = &decided.gated else {
        return without_candidate(decided);
    };
    let word = gated.evaluation.word;
    let mut notes = Vec::new();
    if let Some(head) = decided.input.head.head() {
        notes.extend(about_file(decided, head, word));
        if gated.rule().id == "head-gone" {
            notes.extend(about_gone(request, head, deadline));
        }
        if word.is(HeadIdentity::Unknown) && word.is(HeadLogin::Other) && word.is(HeadFile::Missing) {
            notes.push(not_carried_over(&decided.input, head, identity_unknown));
        }
    }
    if matches!(gated.decision, ResumeGate::ForkFrom { .. }) && word.is(ForkSource::Behind) {
        let at = decided.input.fork_source.as_ref().map(|head| short(&head.session_id)).unwrap_or_default();
        let text = format!("the parent has moved on to `{at}` since; what it said there is not in the fork");
        notes.push(Note::new("parent-moved-on", text));
    }
    // Of another provider's session the identity is not what keeps it from being copied.
    if word.is(ForkIdentity::Unknown) && !word.is(ForkProvider::Other) {
        let why = identity_unknown.unwrap_or("the parent's session was recorded without one");
        let text = format!("a fork needs both identities known, and one is not: {why}");
        notes.push(Note::new("identity-unknown", text));
    }
    notes
}

fn without_candidate(decided: &Decided) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(candidate) = decided.input.candidate.as_deref().filter(|id| !id.trim().is_empty()) {
        let text = format!("`{}` is the id that the provider rejected, so it counts as no candidate", short(candidate));
        notes.push(Note::new("candidate-poisoned", text));
    }
    if let Some(head) = decided.input.head.head() {
        let text = format!("the newest session of this agent is `{}`; it was not asked for", short(&head.session_id));
        notes.push(Note::new("head-not-asked-for", text));
    }
    notes
}

fn seen<'a>(decided: &'a Decided, name: &str) -> Option<&'a Evidence> {
    decided.evidence.iter().find(|evidence| evidence.fact.name() == name)
}

fn about_file(decided: &Decided, head: &Head, word: FactWord) -> Option<Note> {
    let id = short(&head.session_id);
    let file = seen(decided, "head_file");
    if word.is(HeadFile::Shrunk) {
        let file = file?;
        let text = format!(
            "the file of `{id}` has {} bytes and was left with {}; its last turns may be missing",
            file.size?, file.recorded?
        );
        return Some(Note::new("shrunk", text));
    }
    if word.is(HeadFile::Unreadable) {
        let file = file?;
        let path = file.path.as_ref().map_or_else(String::new, |path| format!(" at {}", path.display()));
        let why = file.error.as_deref().unwrap_or("it cannot be read");
        return Some(Note::new("head-unreadable", format!("could not check `{id}`{path}: {why}")));
    }
    if word.is(HeadBusy::Yes) {
        let path = seen(decided, "head_busy")?.path.as_ref()?;
        let pid = path.file_stem()?.to_string_lossy();
        return Some(Note::new("head-busy", format!("process {pid} has `{id}` open, says {}", path.display())));
    }
    None
}

/// Whether the head was ever written, and the newest earlier session that a person could resume.
fn about_gone(request: &SpawnRequest, head: &Head, deadline: Deadline) -> Vec<Note> {
    let id = short(&head.session_id);
    let mut notes = vec![match head.provider_bytes_end {
        None => Note::new(
            "never-written",
            format!("no size of `{id}` was ever recorded: most likely its process ended before anything was written"),
        ),
        Some(0) => {
            Note::new("never-written", format!("`{id}` had no bytes when its process ended: nothing was ever written"))
        }
        Some(bytes) => Note::new(
            "deleted",
            format!("`{id}` had {bytes} bytes when its process ended: its file was deleted or emptied since"),
        ),
    }];
    let Some((config_dir, cwd)) = own_folder(request) else {
        return notes;
    };
    let earlier = sessions_before(request, &head.session_id, deadline);
    let place = match &request.login {
        Login::Named(dir) => format!("CLAUDE_CONFIG_DIR={} ", shell_word(dir)),
        Login::Default(_) | Login::Unknown => String::new(),
    };
    let here = deadline.run(move || {
        earlier.into_iter().take(EARLIER_SESSIONS_MAX).find(|head| is_here(&config_dir, &cwd, &head.session_id))
    });
    notes.push(match here.flatten() {
        // Whole, so that it can be pasted, and quoted, so that pasting it does nothing else.
        Some(head) => Note::new(
            "last-session-here",
            format!(
                "the last session of this agent whose file is here is {0}; to go on from it by hand: cd {1} && {place}claude --resume {0}",
                shell_word(&head.session_id),
                shell_word(&request.cwd)
            ),
        ),
        None => Note::new("last-session-here", "no earlier session of this agent has its file here"),
    });
    notes
}

/// A text as one word of a shell, whatever is in it.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Why a conversation under another login is not carried over although it may be the same person's.
fn not_carried_over(input: &crate::gate::GateInput, head: &Head, identity_unknown: Option<&str>) -> Note {
    let id = short(&head.session_id);
    let why = match (&input.identity, identity_unknown) {
        (None, Some(why)) => format!("who is signed in here is not known ({why})"),
        _ => "who was signed in there is not known".to_owned(),
    };
    Note::new(
        "identity-unknown",
        format!("`{id}` lies under another login and is not carried over, because {why}; sign in and start again"),
    )
}
