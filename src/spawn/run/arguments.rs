//! The provider's command line: what a user may not put there because it is ours to put, and what
//! we do.

use crate::spawn::SpawnPlan;
use std::ffi::{OsStr, OsString};

/// Options of the provider that choose its session, each with what says the same to us.
///
/// The first seven exist in Claude Code 2.0.77 and later, the others in 2.1.332.
const OURS: [(&str, &str); 12] = [
    ("--resume", "use `resume-gate run --resume SID -- …`; without it the agent's newest session is resumed"),
    ("-r", "use `resume-gate run --resume SID -- …`; without it the agent's newest session is resumed"),
    ("--continue", "leave it out: the agent's newest session is resumed"),
    ("-c", "leave it out: the agent's newest session is resumed"),
    ("--session-id", "leave it out: a new session gets an id of its own; `--new` starts one"),
    ("--fork-session", "leave it out: a session is forked where it has to be"),
    (
        "--no-session-persistence",
        "leave it out, or run the provider by itself: there is nothing to record without a session",
    ),
    ("--from-pr", "use `resume-gate run --resume SID -- …`"),
    ("--teleport", "run the provider by itself: that session lies elsewhere"),
    ("--cloud", "run the provider by itself: that session lies elsewhere"),
    ("--bg", "leave it out: the provider has to stay in the foreground to be recorded"),
    ("--background", "leave it out: the provider has to stay in the foreground to be recorded"),
];

/// Short options without a value, which may stand in front of another in one argument (`-pc`).
const SWITCHES: &str = "phv";

/// An argument of the user's that would fight with ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{argument}` is not for the provider's command line here: which session it opens is decided first")]
pub struct Conflict {
    /// The argument as it was given.
    pub argument: String,
    /// What to use instead.
    pub instead: &'static str,
}

/// Looks for arguments that would fight with ours.
///
/// # Errors
///
/// The first one.
pub fn check(arguments: &[OsString]) -> Result<(), Conflict> {
    // What follows `--` is a prompt.
    let options = arguments.iter().map(OsString::as_os_str).take_while(|argument| *argument != "--");
    for argument in options {
        if let Some(instead) = ours(argument) {
            return Err(Conflict { argument: argument.to_string_lossy().into_owned(), instead });
        }
    }
    Ok(())
}

fn ours(argument: &OsStr) -> Option<&'static str> {
    let text = argument.to_string_lossy();
    let instead = |name: &str| OURS.iter().find(|(option, _)| *option == name).map(|(_, instead)| *instead);
    if text.starts_with("--") {
        return instead(text.split('=').next().unwrap_or_default());
    }
    // Short options may be run together, and a value may be attached to the last of them.
    let first = text.strip_prefix('-')?.chars().find(|letter| !SWITCHES.contains(*letter))?;
    instead(&format!("-{first}"))
}

/// The provider's arguments: the plan's, the id of a new session, then the user's.
pub(super) fn all(plan: &SpawnPlan, new_session: Option<&str>, users: &[OsString]) -> Vec<OsString> {
    let chosen = new_session.into_iter().flat_map(|id| ["--session-id", id]);
    plan.args.iter().map(String::as_str).chain(chosen).map(OsString::from).chain(users.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use std::ffi::OsString;

    fn refused(arguments: &[&str]) -> Option<String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        check(&arguments).err().map(|conflict| conflict.argument)
    }

    #[test]
    fn every_spelling_of_an_option_that_is_ours_is_refused() {
        for argument in [
            "--resume",
            "--resume=x",
            "-r",
            "-rx",
            "-pr",
            "--continue",
            "-c",
            "-pc",
            "-cp",
            "--session-id",
            "--session-id=x",
            "--fork-session",
            "--no-session-persistence",
            "--from-pr",
            "--bg",
        ] {
            assert_eq!(refused(&["-p", argument, "x"]).as_deref(), Some(argument));
        }
    }

    #[test]
    fn what_only_looks_like_one_is_let_through() {
        for argument in
            ["--resumes", "resume", "r", "-p", "-", "-d", "-dr", "--debug=-r", "--session-identity", "hello -r", ""]
        {
            assert_eq!(refused(&[argument]), None, "{argument}");
        }
        assert_eq!(refused(&["-p", "--", "--resume"]), None, "after `--` comes a prompt");
    }
}
