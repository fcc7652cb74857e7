//! The command: parse, run, exit status. Everything else is `resume_gate::cli`.

fn main() -> std::process::ExitCode {
    resume_gate::cli::main()
}
