//! The command line: one file a command, and the only place that prints or reads the environment.

mod audit;
mod decide;
mod demo;
mod error;
mod eval;
mod exit;
mod explain;
mod input;
mod layout;
pub mod listing;
mod record;
mod rules;
mod run;
mod segments;
mod spawn_args;
mod terminal;
mod words;

use crate::explain::visible;
use clap::{CommandFactory, Parser};
use error::CliError;
use exit::Exit;
use std::io;
use std::process::ExitCode;
use terminal::{ColorChoice, Terminal};

/// Decides before every spawn of a coding agent whether its session may be resumed, and says why.
#[derive(Debug, Parser)]
#[command(name = "resume-gate", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// When to colour
    #[arg(long, value_enum, global = true, default_value_t, value_name = "WHEN")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Decide(decide::DecideArgs),
    Explain(explain::ExplainArgs),
    Eval(eval::EvalArgs),
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    #[command(subcommand)]
    Segments(segments::SegmentsCommand),
    Run(run::RunArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON document.
    Json,
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.color);
    let exit = match run(&cli.command, &terminal) {
        Ok(exit) => exit,
        Err(CliError::Failed { message, help, exit }) => {
            terminal.say(&format!("{} {}", terminal.err_ink.bad("error:"), visible(&message)));
            if let Some(help) = help {
                terminal.say(&format!("{} {}", terminal.err_ink.faint("help:"), visible(&help)));
            }
            exit
        }
        // Whoever reads standard output has seen enough.
        Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(CliError::Output(error)) => {
            terminal.say(&format!("{} cannot write the result: {error}", terminal.err_ink.bad("error:")));
            Exit::Usage
        }
    };
    ExitCode::from(exit.code())
}

fn run(command: &Command, terminal: &Terminal) -> Result<Exit, CliError> {
    match command {
        Command::Demo(args) => demo::run(args, terminal),
        Command::Decide(args) => decide::run(args, terminal),
        Command::Explain(args) => explain::run(args, terminal),
        Command::Eval(args) => eval::run(args, terminal),
        Command::Rules(command) => rules::run(command, terminal),
        Command::Audit(command) => audit::run(command, terminal),
        Command::Segments(command) => segments::run(command, terminal),
        Command::Run(args) => run::run(args, terminal),
        Command::Completions { shell } => completions(*shell, terminal),
        Command::Man => man(terminal),
    }
}

fn completions(shell: clap_complete::Shell, terminal: &Terminal) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "resume-gate", &mut script);
    terminal.out(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// The whole manual: the command's own page, then one for each subcommand.
fn man(terminal: &Terminal) -> Result<Exit, CliError> {
    let mut page = Vec::new();
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    render_man(&command, &mut page)?;
    terminal.out(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}

fn render_man(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(page)?;
    command.get_subcommands().try_for_each(|subcommand| render_man(subcommand, page))
}
