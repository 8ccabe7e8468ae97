//! `cairn token`: who may ask a server over HTTP.
//!
//! A folder's tokens are in the server's own database, which its owner reaches whether the server runs (over the Unix socket) or not (the file). Of one
//! file's server the configuration has them: here is said what to write there.

mod socket;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cairn_http::{LIST_TOKENS, Scope, Secret, Token, create_token, revoke_token};
use cairndb::{Database, SqlState};
use clap::{Args, Subcommand};

use crate::report::{Failure, say};
use crate::serve::moment;

/// What is done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and tell its secret, this once
    Create(New),
    /// List the tokens of a folder
    List(Place),
    /// Take a token of a folder back: from then on it is none
    Revoke {
        #[command(flatten)]
        place: Place,
        name: String,
    },
}

/// Whose tokens.
#[derive(Debug, Args)]
pub struct Place {
    /// The folder of databases, or the database file, that is served
    pub data: PathBuf,
    /// The folder of the server's Unix socket [default: that of the databases]
    #[arg(long, value_name = "FOLDER")]
    pub socket_folder: Option<PathBuf>,
    /// The port that the Unix socket is named by
    #[arg(long, value_name = "PORT", default_value_t = 5432)]
    pub port: u16,
}

/// What a new token is to be.
#[derive(Debug, Args)]
pub struct New {
    #[command(flatten)]
    pub place: Place,
    /// What it is called
    pub name: String,
    /// What it lets do: read, write, manage (collections and indexes), sql, tokens (make others that let do no more)
    #[arg(long, value_delimiter = ',', required = true, value_parser = scope)]
    pub scopes: Vec<Scope>,
    /// In these databases only; may be repeated
    #[arg(long, value_name = "NAME")]
    pub database: Vec<String>,
    /// With these collections only; may be repeated
    #[arg(long, value_name = "NAME")]
    pub collection: Vec<String>,
    /// Until then, as 2027-01-31 or 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub expires: Option<SystemTime>,
}

fn scope(name: &str) -> Result<Scope, String> {
    Scope::of(name).map_err(|error| error.message().to_owned())
}

/// Does it.
pub fn run(command: &TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(new) => create(new),
        TokenCommand::List(place) => {
            say("name\tscopes\tdatabases\tcollections\texpires\tcreated")?;
            let rows = of_folder(place, LIST_TOKENS)?.0;
            rows.iter().try_for_each(|row| say(row.join("\t")))
        }
        TokenCommand::Revoke { place, name } => match of_folder(place, &revoke_token(name))?.1 {
            0 => Err(Failure::Message(format!("there is no token \"{name}\""))),
            _ => say(format_args!("{name} is revoked")),
        },
    }
}

fn create(new: &New) -> Result<(), Failure> {
    let secret = Secret::random()?;
    let (databases, collections) = (new.database.clone(), new.collection.clone());
    let token = Token { databases, collections, expires: new.expires, ..secret.token(&new.name, &new.scopes) };
    token.check()?;
    if new.place.data.is_dir() {
        of_folder(&new.place, &create_token(&token))?;
        return say(secret.text());
    }
    say(secret.text())?;
    say(format_args!("\nFor the configuration of the server:\n\ntokens:\n  {}", as_yaml(&token)))
}

/// As the configuration has it.
fn as_yaml(token: &Token) -> String {
    let list = |all: &[String]| format!("[{}]", all.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "));
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
    let mut text = format!("{}: {{digest: {}, scopes: [{}]", quoted(&token.name), token.digest, scopes.join(", "));
    for (key, all) in [("databases", &token.databases), ("collections", &token.collections)] {
        if !all.is_empty() {
            text += &format!(", {key}: {}", list(all));
        }
    }
    if let Some(time) = token.expires {
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let micros = cairndb::Value::TimestampTz((seconds as i64 - 946_684_800) * 1_000_000);
        text += &format!(", expires: '{}'", cairndb::to_text(&micros, &cairndb::EvalContext::default()));
    }
    text + "}"
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Rows as texts, and how many rows were changed.
pub type Done = (Vec<Vec<String>>, u64);

/// Runs a statement in the own database of a folder's server.
fn of_folder(place: &Place, sql: &str) -> Result<Done, Failure> {
    if !place.data.is_dir() {
        let message = format!(
            "{}: is no folder of databases; of one file the server's configuration has the tokens",
            place.data.display()
        );
        return Err(Failure::Message(message));
    }
    let folder = place.socket_folder.as_deref().unwrap_or(&place.data);
    in_own(&place.data, Some(&folder.join(format!(".s.PGSQL.{}", place.port))), sql)
}

/// Runs a statement in the own database of a folder: of its server, which has this Unix socket, where one runs.
pub fn in_own(folder: &Path, socket: Option<&Path>, sql: &str) -> Result<Done, Failure> {
    match Database::open_with(folder.join("cairn.cairn"), cairndb::Options::default().name("cairn")) {
        Ok(own) => {
            let done = run_in(&own, sql);
            own.close()?;
            done
        }
        Err(error) if error.sqlstate() == SqlState::OBJECT_IN_USE => by_socket(folder, socket, sql),
        Err(error) => Err(error.into()),
    }
}

/// The same of the server that runs, and of nothing else.
pub fn by_socket(folder: &Path, socket: Option<&Path>, sql: &str) -> Result<Done, Failure> {
    match socket {
        Some(socket) => socket::run(socket, sql),
        None => Err(Failure::Message(format!("{}: its server has no Unix socket", folder.display()))),
    }
}

fn run_in(own: &Database, sql: &str) -> Result<Done, Failure> {
    let (mut rows, mut affected) = (Vec::new(), 0);
    own.connect()?.run(sql, |outcome| {
        affected = outcome.affected();
        let Some(found) = outcome.rows() else { return Ok(()) };
        while let Some(row) = found.next()? {
            rows.push((0..row.columns().len()).map(|at| row.get(at)).collect::<cairndb::Result<_>>()?);
        }
        Ok(())
    })?;
    Ok((rows, affected))
}
