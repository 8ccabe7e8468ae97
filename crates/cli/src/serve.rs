//! `cairn serve`: a database file for PostgreSQL's clients, until SIGINT or SIGTERM.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cairn_server::{Log, Options, Running, Server, Verifier};
use clap::Args;

use crate::maintenance::open_existing;
use crate::report::{Failure, say};
use crate::shell::open_file;

/// How a file is served.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The database file
    pub file: PathBuf,
    /// Make the file if it does not exist
    #[arg(long)]
    pub create: bool,
    /// Listen to this address for TCP, too; may be repeated. Needs --users or --trust
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// The folder of the Unix socket [default: the file's]
    #[arg(long, value_name = "FOLDER")]
    pub socket_folder: Option<PathBuf>,
    /// The port that the Unix socket is named by
    #[arg(long, value_name = "PORT", default_value_t = 5432)]
    pub port: u16,
    /// Who may come in with a password: a file, which only its owner may read, of lines NAME:PASSWORD, or NAME:SCRAM-SHA-256$...
    #[arg(long, value_name = "FILE")]
    pub users: Option<PathBuf>,
    /// Let everybody in who reaches an address or the socket, without a password
    #[arg(long)]
    pub trust: bool,
    /// Listen to addresses that other machines reach, though there is no TLS: what is sent can be read on the way
    #[arg(long)]
    pub insecure: bool,
    /// How many sessions there may be at a time
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub max_connections: usize,
}

/// Serves until it is told to end; then all sessions end, and the database is closed.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let signals = Signals::taken();
    let database = open(args)?;
    let options = options(args)?;
    let running = Server::over(database.clone()).with(options).start()?;
    announce(args, &running)?;
    signals.wait();
    running.stop();
    database.close()?;
    Ok(())
}

/// A server of an empty database that is there by a typing error would look well: one is made only for who says so.
fn open(args: &ServeArgs) -> Result<cairndb::Database, Failure> {
    let options = cairndb::Options::default();
    match args.file.try_exists() {
        Ok(false) if args.create => open_file(&args.file, options),
        Ok(false) => {
            let file = args.file.display();
            let message = format!(
                "{file}: there is no such file; cairn serve --create {file} makes an empty database of that name"
            );
            Err(Failure::Message(message))
        }
        _ => open_existing(&args.file, options),
    }
}

fn options(args: &ServeArgs) -> Result<Options, Failure> {
    let users = args.users.as_deref().map(read_users).transpose()?.unwrap_or_default();
    let folder = match &args.socket_folder {
        Some(folder) => folder.clone(),
        None => args.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).into(),
    };
    let folder = folder.canonicalize().map_err(|error| Failure::file(&folder, &error))?;
    Ok(Options {
        name: name_of(&args.file),
        addresses: args.listen.clone(),
        socket: cfg!(unix).then_some((folder, args.port)),
        owner: owner_of(&args.file),
        users,
        trusts_all: args.trust,
        is_insecure: args.insecure,
        connections_max: args.max_connections,
        log: Log::stderr(),
        ..Options::default()
    })
}

/// What clients call the database: the file's name without its ending.
fn name_of(file: &Path) -> String {
    file.file_stem().map_or_else(|| "postgres".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(unix)]
fn owner_of(file: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    file.metadata().ok().map(|metadata| metadata.uid())
}

#[cfg(not(unix))]
fn owner_of(_: &Path) -> Option<u32> {
    None
}

fn read_users(path: &Path) -> Result<HashMap<String, Verifier>, Failure> {
    let unreadable = |error: std::io::Error| Failure::file(path, &error);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if path.metadata().map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
            let message = "others may read it, or write to it; take that from them (chmod 600)";
            return Err(Failure::Message(format!("{}: {message}", path.display())));
        }
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let user = |(at, line): (usize, &str)| {
        let split = line.split_once(':').filter(|(name, secret)| !name.is_empty() && !secret.is_empty());
        // What the line says is not shown: it may be a password.
        let (name, secret) = split
            .ok_or_else(|| Failure::Message(format!("{}, line {}: expected NAME:PASSWORD", path.display(), at + 1)))?;
        let verifier = match Verifier::parse(secret) {
            Ok(verifier) => verifier,
            Err(_) => Verifier::with_new_salt(secret)?,
        };
        Ok((name.to_owned(), verifier))
    };
    lines.map(user).collect()
}

fn announce(args: &ServeArgs, running: &Running) -> Result<(), Failure> {
    let name = name_of(&args.file);
    if let Some(socket) = running.socket() {
        let folder = socket.parent().unwrap_or(Path::new("/"));
        say(format_args!("{}: psql -h {} -p {} {name}", args.file.display(), folder.display(), args.port))?;
    }
    for address in running.addresses() {
        say(format_args!("{}: psql -h {} -p {} {name}", args.file.display(), address.ip(), address.port()))?;
    }
    Ok(())
}

/// SIGINT and SIGTERM, which do nothing from here on but end the waiting for them.
#[cfg(unix)]
struct Signals(nix::sys::signal::SigSet);

#[cfg(unix)]
impl Signals {
    /// To be called before there are other threads, which would get them.
    fn taken() -> Signals {
        use nix::sys::signal::{SigSet, Signal};
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        // It fails for unknown signals only.
        let _ = signals.thread_block();
        Signals(signals)
    }

    fn wait(&self) {
        while self.0.wait().is_err() {}
    }
}

#[cfg(not(unix))]
struct Signals(std::sync::mpsc::Receiver<()>);

#[cfg(not(unix))]
impl Signals {
    fn taken() -> Signals {
        let (told, waits) = std::sync::mpsc::channel();
        // A second handler in one process is the only failure there is.
        let _ = ctrlc::set_handler(move || {
            let _ = told.send(());
        });
        Signals(waits)
    }

    fn wait(&self) {
        let _ = self.0.recv();
    }
}
