//! `cairn console`: a database in a browser of this machine, until SIGINT or SIGTERM. What a server has is shown by that server's console.

mod served;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use cairn_http::{Options, Running, Scope, Secret};
use cairn_server::Server;
use cairndb::{Database, SqlState};
use clap::Args;

use self::served::Served;
use crate::maintenance::{is_in_use, open_existing};
use crate::report::{Failure, say, warn};
use crate::serve::{Signals, name_of};

/// What is looked at, and where.
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// The database file, or the folder that a server has
    pub file: PathBuf,
    /// The port on this machine's loopback address [default: one that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Refuse every change; the file may be on read-only media
    #[arg(long)]
    pub read_only: bool,
}

/// Serves the console of a file to whoever has the address that is told: once.
pub fn run(args: &ConsoleArgs) -> Result<(), Failure> {
    let signals = Signals::taken();
    let why_not = match Served::of(&args.file) {
        Ok(Some(served)) => return served.show(&signals, args.read_only),
        Ok(None) if args.file.is_dir() => {
            let folder = args.file.display();
            let message = format!(
                "{folder}: no server of this user's has the folder; cairn serve {folder} --http 127.0.0.1:8080 serves it, with a console"
            );
            return Err(Failure::Message(message));
        }
        Err(why) if args.file.is_dir() => return Err(Failure::Message(why)),
        // (A file that the server has not open just now is looked at here.)
        Ok(None) => None,
        Err(why) => Some(why),
    };
    let (database, is_read_only) = open(&args.file, args.read_only).map_err(|failure| served(failure, why_not))?;
    let server = Server::over(database.clone()).with(cairn_server::Options::default()).start()?;
    let scopes: &[Scope] = if is_read_only { &[Scope::Read, Scope::Sql] } else { &Scope::ALL };
    // (Nobody has the secret of this one: what is told begins one session of it.)
    let token = Secret::random()?.token("console", scopes);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let options = Options { addresses: vec![address], tokens: vec![token.clone()], ..Options::default() };
    let http = Running::start(server.services(), options)?;
    let secret = http.console_secret(token)?;
    for address in http.addresses() {
        // (What stands behind # is sent to nobody: the page reads it.)
        say(format_args!("http://{address}/#token={}", secret.text()))?;
    }
    signals.wait();
    http.stop();
    server.stop();
    database.close()?;
    Ok(())
}

/// Opens the file, to be read only where somebody else reads it; whether it is that.
fn open(file: &Path, read_only: bool) -> Result<(Database, bool), Failure> {
    let open = |read_only| open_existing(file, cairndb::Options::default().name(name_of(file)).read_only(read_only));
    match open(read_only) {
        Err(failure) if !read_only && is_in_use(&failure) => {
            let database = open(true)?;
            warn(format_args!("{}: another process reads it, so it is only read here", file.display()));
            Ok((database, true))
        }
        Err(failure) => Err(failure),
        Ok(database) => Ok((database, read_only)),
    }
}

/// Where somebody else has it, what to do. (Who has it is told by the error itself.)
fn served(failure: Failure, why_not: Option<String>) -> Failure {
    match failure {
        Failure::Sql { error, text, context } if error.sqlstate() == SqlState::OBJECT_IN_USE => {
            let hint = why_not.unwrap_or_else(|| {
                "If that is a server of the one file, its console is where it is reached over HTTP (cairn serve FILE --http 127.0.0.1:8080), for who has a token of its configuration."
                    .to_owned()
            });
            Failure::Sql { error: error.with_hint(hint), text, context }
        }
        other => other,
    }
}
