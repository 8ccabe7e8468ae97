//! `cairn serve`: a database file, or all of a folder, for PostgreSQL's clients, until SIGINT or SIGTERM.

mod allocator;
mod config;
mod jwt;
mod reached;
mod signals;
mod supervisor;
mod tokens;
mod users;
mod yaml;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cairn_server::{Ceilings, Log, Running, Server};
use clap::Args;

use self::config::{Config, KEYS};
pub use self::reached::Reached;
pub use self::signals::{Signals, Told};
pub use self::tokens::moment;
use crate::maintenance::open_existing;
use crate::report::{Failure, say, warn};
use crate::shell::open_file;

/// How a file is served.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The database file, or a folder of databases (data)
    pub file: Option<PathBuf>,
    /// Read how from a YAML file; the environment (CAIRN_SERVE_MAX_CONNECTIONS), --set and the other options are over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a key of the configuration; may be repeated. --keys lists them
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Check the configuration, say what it comes to, and serve nothing
    #[arg(long)]
    pub check: bool,
    /// List the keys of the configuration, with their defaults
    #[arg(long)]
    pub keys: bool,
    /// Make a verifier for `users` of a password, a line of standard input
    #[arg(long)]
    pub make_verifier: bool,
    /// Make the file if it does not exist (create)
    #[arg(long)]
    pub create: bool,
    /// Listen to this address for TCP, too; may be repeated. Needs passwords or --trust (listen)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<SocketAddr>,
    /// Serve documents and SQL over HTTP at this address; may be repeated. Needs tokens (cairn token) or --trust (http.listen)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub http: Vec<SocketAddr>,
    /// The folder of the Unix socket [default: the file's] (socket.folder)
    #[arg(long, value_name = "FOLDER")]
    pub socket_folder: Option<PathBuf>,
    /// The port that the Unix socket is named by [default: 5432] (socket.port)
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Who may come in with a password: a file, which only its owner may read, of lines NAME:PASSWORD, or NAME:SCRAM-SHA-256$... (users_file)
    #[arg(long, value_name = "FILE")]
    pub users: Option<PathBuf>,
    /// Let everybody in who reaches an address or the socket, without a password (trust)
    #[arg(long)]
    pub trust: bool,
    /// The certificate for TLS, in PEM, with those that vouch for it behind it (tls.cert)
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, in PEM, which only its owner may read (tls.key)
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Let others come in from other machines without TLS: what is sent can be read on the way (insecure)
    #[arg(long)]
    pub insecure: bool,
    /// How many sessions there may be at a time [default: 100] (max_connections)
    #[arg(long, value_name = "COUNT")]
    pub max_connections: Option<usize>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

impl ServeArgs {
    /// What the command line says, as keys.
    fn said(&self) -> Vec<(String, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
        let on = |set: bool| set.then(|| "true".to_owned());
        let listen: Vec<String> = self.listen.iter().map(SocketAddr::to_string).collect();
        let http: Vec<String> = self.http.iter().map(SocketAddr::to_string).collect();
        let options = [
            ("http.listen", (!http.is_empty()).then(|| http.join(","))),
            ("data", path(&self.file)),
            ("create", on(self.create)),
            ("listen", (!listen.is_empty()).then(|| listen.join(","))),
            ("socket.folder", path(&self.socket_folder)),
            ("socket.port", self.port.map(|port| port.to_string())),
            ("users_file", path(&self.users)),
            ("tls.cert", path(&self.tls_cert)),
            ("tls.key", path(&self.tls_key)),
            ("trust", on(self.trust)),
            ("insecure", on(self.insecure)),
            ("max_connections", self.max_connections.map(|count| count.to_string())),
        ];
        let options = options.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        self.set.iter().cloned().chain(options).collect()
    }
}

/// Serves until it is told to end; then all sessions end, and the database is closed.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    if args.make_verifier {
        return users::make_verifier();
    }
    if args.keys {
        let line = |(key, default, help): &(&str, &str, &str)| say(format_args!("{key:45} {help} [{default}]"));
        return KEYS.iter().try_for_each(line);
    }
    allocator::give_back_what_is_large();
    let signals = Signals::taken();
    let config = Config::read(args.config.as_deref(), environment(), &args.said())?;
    let missing = || Failure::Message("which database? Name its file: cairn serve FILE, or data: FILE".to_owned());
    let file = config.data.clone().ok_or_else(missing)?;
    config.server.check()?;
    config.http.check(&config.server)?;
    if args.check {
        return say(format_args!("{}: the configuration is right", file.display()));
    }
    let (server, database) = match file.is_dir() {
        true => (Server::of_folder(&file, config.database.clone())?, None),
        false => {
            let database = open(&file, &config)?;
            // Where there can be no socket for that, who asks for a copy is told.
            let _ = database.answer_backups();
            (Server::over(database.clone()), Some(database))
        }
    };
    let port = config.socket_port.unwrap_or(5432);
    let ceilings = server.ceilings();
    let options = options(&file, &config, ceilings)?;
    let running = server.with(options).start()?;
    let http = match config.http.addresses.is_empty() && config.http.metrics.is_none() {
        true => None,
        false => Some(cairn_http::Running::start(running.services(), config.http.clone())?),
    };
    announce(&file, port, &running)?;
    for address in http.iter().flat_map(|http| http.addresses()) {
        say(format_args!("{}: curl http://{address}/db/{}/collections", file.display(), name_of(&file)))?;
        if config.http.console {
            let scheme = if config.http.tls { "https" } else { "http" };
            say(format_args!("{}: the console is at {scheme}://{address}/", file.display()))?;
        }
    }
    let reached = database.is_none().then(|| reached(&file, &config, (&running, http.as_ref()))).flatten();
    supervisor::ready();
    while signals.wait() == Told::Reload {
        supervisor::reloading();
        // What is wrong with it is told, and all stays as it was.
        if let Err(failure) = reload(args, (&file, &config), (&running, http.as_ref())) {
            running.refuse_reload(&failure.to_string());
        }
        supervisor::ready();
    }
    supervisor::stopping();
    drop(reached);
    if let Some(http) = http {
        http.stop();
    }
    running.stop();
    database.map_or(Ok(()), cairndb::Database::close)?;
    Ok(())
}

/// Writes down in the folder how its server is reached. Where that can not be, `cairn console` finds it by nothing.
fn reached(
    folder: &Path,
    config: &Config,
    (running, http): (&Running, Option<&cairn_http::Running>),
) -> Option<reached::Written> {
    let reached = Reached {
        process: std::process::id(),
        socket: running.socket().map(Path::to_owned),
        http: http.map_or_else(Vec::new, |http| http.addresses().to_vec()),
        is_tls: config.http.tls,
        has_console: config.http.console,
    };
    let written = reached.write(folder);
    written
        .inspect_err(|error| {
            warn(format_args!("{}: cairn console can not find this server: {error}", folder.display()))
        })
        .ok()
}

/// Reads the configuration again, as it was read at first.
fn reload(
    args: &ServeArgs,
    (file, first): (&Path, &Config),
    (running, http): (&Running, Option<&cairn_http::Running>),
) -> Result<(), Failure> {
    let config = Config::read(args.config.as_deref(), environment(), &args.said())?;
    // (What commits promise is said when the server starts.)
    let ceilings = Ceilings { durability: Some(first.database.durability), ..config.database.ceilings() };
    let options = options(file, &config, ceilings)?;
    config.http.check(&options)?;
    running.reload(options, &first.differs_for_good(&config))?;
    http.map_or(Ok(()), |http| http.reload(config.http.clone()))?;
    Ok(())
}

/// What of the environment is text.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// A server of an empty database that is there by a typing error would look well: one is made only for who says so.
fn open(file: &Path, config: &Config) -> Result<cairndb::Database, Failure> {
    let options = config.database.clone().name(name_of(file));
    match file.try_exists() {
        Ok(false) if config.create => open_file(file, options),
        Ok(false) => {
            let file = file.display();
            let message = format!(
                "{file}: there is no such file; cairn serve --create {file} makes an empty database of that name"
            );
            Err(Failure::Message(message))
        }
        _ => open_existing(file, options),
    }
}

/// `own`: what the database's options give.
fn options(file: &Path, config: &Config, own: Ceilings) -> Result<cairn_server::Options, Failure> {
    let folder = match config.socket_folder.clone() {
        Some(folder) => folder,
        None if file.is_dir() => file.into(),
        None => file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).into(),
    };
    let folder = folder.canonicalize().map_err(|error| Failure::file(&folder, &error))?;
    let times = &config.ceilings;
    Ok(cairn_server::Options {
        socket: cfg!(unix).then_some((folder, config.socket_port.unwrap_or(5432))),
        owner: owner_of(file),
        log: Log::stderr(),
        ceilings: Some(Ceilings {
            statement_timeout: times.statement_timeout,
            transaction_timeout: times.transaction_timeout,
            idle_in_transaction_session_timeout: times.idle_in_transaction_session_timeout,
            idle_session_timeout: times.idle_session_timeout,
            ..own
        }),
        ..config.server.clone()
    })
}

/// What clients call the database: the file's name without its ending; of a folder, the one that they connect to first.
pub fn name_of(file: &Path) -> String {
    if file.is_dir() {
        return "postgres".to_owned();
    }
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

fn announce(file: &Path, port: u16, running: &Running) -> Result<(), Failure> {
    let name = name_of(file);
    if let Some(socket) = running.socket() {
        let folder = socket.parent().unwrap_or(Path::new("/"));
        say(format_args!("{}: psql -h {} -p {} {name}", file.display(), folder.display(), port))?;
    }
    for address in running.addresses() {
        say(format_args!("{}: psql -h {} -p {} {name}", file.display(), address.ip(), address.port()))?;
    }
    Ok(())
}
