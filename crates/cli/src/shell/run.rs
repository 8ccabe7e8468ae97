//! Decides between the prompt and scripts, and on the exit code.

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

use super::session::Session;
use super::{prompt, script};
use crate::args::{Input, ShellArgs};
use crate::report::Failure;

/// Exit code of a statement or command that failed.
const EXIT_FAILED: u8 = 1;
/// Exit code of a script with a failure.
const EXIT_SCRIPT_FAILED: u8 = 3;

/// Runs the shell as its arguments say.
pub fn run(args: &ShellArgs, inputs: Vec<Input>) -> Result<ExitCode, Failure> {
    let interactive = inputs.is_empty() && stdin().is_terminal();
    if interactive && args.single_transaction {
        let message = "--single-transaction is for scripts; at the prompt it is BEGIN";
        return Err(Failure::Message(message.to_string()));
    }
    let mut session = Session::open(args, interactive)?;
    let code = match interactive {
        true => prompt::run(&mut session, args)?,
        false if args.single_transaction => run_together(&mut session, inputs)?,
        false => run_inputs(&mut session, inputs, args.keep_going).code,
    };
    session.close()?;
    Ok(code)
}

/// How all inputs ended.
struct Ran {
    code: ExitCode,
    /// Every statement did what it says.
    whole: bool,
}

/// Runs inputs in one transaction, which is committed if all went well.
fn run_together(session: &mut Session, inputs: Vec<Input>) -> Result<ExitCode, Failure> {
    session.make_file()?;
    session.connection().execute("BEGIN", ())?;
    let ran = run_inputs(session, inputs, false);
    // Whoever failed has been told already; a script may have ended the transaction itself.
    if session.connection().in_transaction() {
        session.connection().execute(if ran.whole { "COMMIT" } else { "ROLLBACK" }, ())?;
    }
    Ok(ran.code)
}

fn run_inputs(session: &mut Session, inputs: Vec<Input>, keep_going: bool) -> Ran {
    let inputs = if inputs.is_empty() { vec![Input::Script("-".into())] } else { inputs };
    let mut code = 0;
    for input in inputs {
        let (ended, failed_code) = match input {
            Input::Statements(text) => (script::run_text(session, &text, keep_going), EXIT_FAILED),
            Input::Script(path) => (script::run_file(session, &path, keep_going), EXIT_SCRIPT_FAILED),
        };
        if ended != script::Ended::Well {
            code = failed_code;
        }
        if ended == script::Ended::BrokenPipe {
            return Ran { code: ExitCode::SUCCESS, whole: false };
        }
        if session.quitting() || (code != 0 && !keep_going) {
            break;
        }
    }
    Ran { code: ExitCode::from(code), whole: code == 0 }
}
