//! Where a server listens, whom it lets in, and how it ends.

use std::io;
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cairndb::{Ceilings, Database, Error, SqlState};

use crate::audit::Audit;
use crate::databases::Databases;
use crate::folder::{Folder, OWN};
use crate::line::Line;
use crate::listener::{Call, Called, Listener};
use crate::log::Level;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::registry::Registry;
use crate::reload::reloaded;
use crate::services::Services;
use crate::session;
use crate::statements::Statements;
use crate::stream::Stream;
use crate::throttle::Throttle;

/// How many connections there may be of whom it is not known who he is, beside sessions.
const STRANGERS_MAX: usize = 32;
/// How long nobody is let in when there are no file descriptors or threads left.
const PAUSE: Duration = Duration::from_millis(50);
/// Between two looks whether all sessions have ended.
const STOP_LOOK_TIME: Duration = Duration::from_millis(10);
/// How long who is ended may take to read why.
const FAREWELL_TIME: Duration = Duration::from_secs(2);
/// Between two looks who is gone.
const WATCH_TIME: Duration = Duration::from_secs(2);

/// What all threads of a server have.
pub(crate) struct Shared {
    pub(crate) databases: Databases,
    /// As they are by now: see [`Running::reload`].
    options: RwLock<Arc<Options>>,
    pub(crate) registry: Arc<Registry>,
    /// See [`Challenge`](cairn_wire::Challenge).
    pub(crate) secret: [u8; 32],
    pub(crate) throttle: Throttle,
    pub(crate) statements: Statements,
    pub(crate) metrics: Metrics,
    /// Who keeps databases that nobody uses, each by what has it let go of one.
    pub(crate) keepers: RwLock<Vec<LetGo>>,
    /// What is kept of the log.
    pub(crate) audit: Arc<Audit>,
}

/// See [`Services::on_letting_go`].
pub(crate) type LetGo = Box<dyn Fn(&str, bool) + Send + Sync>;

impl Shared {
    /// As they are by now.
    pub(crate) fn options(&self) -> Arc<Options> {
        self.options.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The least that a commit's acknowledgement means, in the configuration's word; `any`: nothing is promised.
    pub(crate) fn durability(&self) -> String {
        let own = self.options().ceilings.as_ref().and_then(|of| of.durability);
        let durability = own.or(self.databases.lasting().ceilings().durability);
        durability.map_or_else(|| "any".to_owned(), |of| format!("{of:?}").to_lowercase())
    }

    /// A database is to be closed: who keeps it without use lets go of it; by force, who uses it, too.
    pub(crate) fn let_go(&self, name: &str, by_force: bool) {
        let keepers = self.keepers.read().unwrap_or_else(PoisonError::into_inner);
        keepers.iter().for_each(|keeper| keeper(name, by_force));
    }

    /// Tells of databases that could not be closed as they should.
    fn tell_closed(&self, wrong: &[(String, Error)]) {
        for (name, error) in wrong {
            let of: [(_, &dyn std::fmt::Display); 3] =
                [("database", name), ("code", &error.sqlstate()), ("message", &error.message())];
            self.options().log.line(Level::Error, "close_failed", &of);
        }
    }
}

/// A server that does not run yet.
pub struct Server {
    databases: Databases,
    options: Options,
}

/// A server that runs, until it is [stopped](Running::stop) or dropped.
pub struct Running {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    socket: Option<PathBuf>,
    listeners: Vec<(Call, JoinHandle<()>)>,
    /// Looks who is gone, until it is dropped.
    watcher: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
    is_over: bool,
}

impl Server {
    /// Serves an open database, which the program goes on to use.
    ///
    /// ```no_run
    /// let database = cairndb::Database::open("app.cairn")?;
    /// let mut options = cairn_server::Options { trusts_all: true, ..Default::default() };
    /// options.addresses.push("127.0.0.1:5432".parse().unwrap());
    /// let running = cairn_server::Server::over(database.clone()).with(options).start()?;
    /// running.stop();
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn over(database: Database) -> Server {
        Server { databases: Databases::One(database), options: Options::default() }
    }

    /// Serves the databases of a folder, whose files are `NAME.cairn`: each is opened with these options when somebody asks for it, and closed
    /// when nobody has used it for [`Options::idle_close`]. The server's own, `cairn`, is made where there is none; in it (it answers
    /// to `postgres`, too) CREATE DATABASE, DROP DATABASE and ALTER DATABASE .. RENAME do what they say. They share the options'
    /// [`memory`](cairndb::Options::memory), or, where those name a size of the cache, have as much each.
    ///
    /// # Errors
    ///
    /// 55006 where another server serves the folder, and those of opening a database.
    ///
    /// ```no_run
    /// let server = cairn_server::Server::of_folder("/var/lib/cairn", cairndb::Options::default())?;
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn of_folder(folder: impl AsRef<Path>, options: cairndb::Options) -> Result<Server, Error> {
        let databases = Databases::Folder(Box::new(Folder::open(folder.as_ref(), options)?));
        Ok(Server { databases, options: Options::default() })
    }

    /// What the database's own options give, and those of the folder's.
    pub fn ceilings(&self) -> Ceilings {
        self.databases.lasting().ceilings()
    }

    /// With these options.
    pub fn with(mut self, options: Options) -> Server {
        self.options = options;
        self
    }

    /// Listens, and lets clients in from here on.
    ///
    /// # Errors
    ///
    /// 58030 where an address or the socket can not be had, 42501 where it is not for others to reach.
    pub fn start(self) -> Result<Running, Error> {
        let Server { databases, options } = self;
        options.check()?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| io_error("the system's randomness", &io::Error::other(error)))?;
        let (throttle, metrics) = (Throttle::new(secret), Metrics::default());
        let statements = Statements::new(options.statements_max);
        let audit = Arc::new(Audit::new(databases.folder().map(Folder::path)));
        let log = options.log.clone().kept_in(&audit);
        let options = RwLock::new(Arc::new(Options { log, ..options }));
        let shared = Arc::new(Shared {
            databases,
            options,
            registry: Arc::default(),
            secret,
            throttle,
            statements,
            metrics,
            keepers: RwLock::default(),
            audit,
        });
        // What was begun ends, should something that follows fail.
        let mut running = Running {
            shared,
            addresses: Vec::new(),
            socket: None,
            listeners: Vec::new(),
            watcher: None,
            is_over: false,
        };
        for address in running.shared.options().addresses.clone() {
            let address = running.listen(address, let_in)?;
            running.addresses.push(address);
        }
        #[cfg(unix)]
        if let Some((folder, port)) = running.shared.options().socket.clone() {
            running.listen_beside(&folder, port)?;
        }
        running.watch().map_err(|error| io_error("a thread", &error))?;
        running.tell_start();
        Ok(running)
    }
}

fn io_error(what: &str, error: &io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not use {what}: {error}"))
}

impl Running {
    /// Where TCP is listened to, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What another way in has of this server. Who has it lets go of it before this is stopped.
    pub fn services(&self) -> Services {
        Services(self.shared.clone())
    }

    /// The Unix socket.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// How many databases of the folder are open, beside the server's own.
    pub fn open_databases(&self) -> usize {
        self.shared.databases.folder().map_or(1, Folder::count_open)
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.shared.registry.count_sessions()
    }

    /// Serves who comes to an address; with the port that the system chose.
    fn listen(&mut self, address: SocketAddr, serve: Serve) -> Result<SocketAddr, Error> {
        let failed = |error: io::Error| io_error(&format!("the address {address}"), &error);
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.accept(Listener::Tcp(listener), serve).map_err(failed)?;
        Ok(address)
    }

    #[cfg(unix)]
    fn listen_beside(&mut self, folder: &Path, port: u16) -> Result<(), Error> {
        let path = folder.join(format!(".s.PGSQL.{port}"));
        let failed = |error: io::Error| io_error(&format!("the socket {}", path.display()), &error);
        remove_stale(&path).map_err(failed)?;
        let listener = UnixListener::bind(&path).map_err(failed)?;
        self.socket = Some(path.clone());
        restrict(&path, &self.shared.options()).map_err(failed)?;
        self.accept(Listener::Unix(listener), let_in).map_err(failed)
    }

    /// Lets in who comes, on a thread of its own, until the server stops.
    fn accept(&mut self, listener: Listener, serve: Serve) -> io::Result<()> {
        let shared = self.shared.clone();
        let (call, called) = Called::new(&listener)?;
        let work = move || {
            while !shared.registry.is_stopping() {
                match listener.next(&called) {
                    Ok(Some(stream)) if !shared.registry.is_stopping() => serve(stream, &shared),
                    Ok(_) => {}
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        let thread = thread::Builder::new().name("cairn listener".to_owned()).spawn(work)?;
        self.listeners.push((call, thread));
        Ok(())
    }

    /// Looks again and again whether clients are gone whose statements run, and which databases nobody uses.
    fn watch(&mut self) -> io::Result<()> {
        let (told, waits) = mpsc::channel();
        let shared = self.shared.clone();
        let work = move || {
            while waits.recv_timeout(WATCH_TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
                #[cfg(unix)]
                shared.registry.end_gone();
                if let Some(folder) = shared.databases.folder() {
                    shared.tell_closed(&folder.close_idle(shared.options().idle_close));
                }
            }
        };
        let thread = thread::Builder::new().name("cairn watcher".to_owned()).spawn(work)?;
        self.watcher = Some((told, thread));
        Ok(())
    }

    fn tell_start(&self) {
        let options = self.shared.options();
        let durability = self.shared.durability();
        let database: (_, &dyn std::fmt::Display) = ("database", &self.shared.databases.lasting().name());
        for address in &self.addresses {
            options.log.line(Level::Info, "listening", &[("address", address), database]);
        }
        if let Some(socket) = &self.socket {
            options.log.line(Level::Info, "listening", &[("socket", &socket.display()), database]);
        }
        options.log.line(Level::Info, "started", &[database, ("durability_at_least", &durability)]);
    }

    /// Has these options from now on: who comes in, how many, with which limits, and what is told. Sessions that are there keep what they
    /// came in with. Where it is listened to, what the Unix socket is, and how many statements are counted stays as it is. It is told
    /// what has changed, and what needs a restart: of the server's options, and what else the caller has found (`needs_restart`).
    ///
    /// # Errors
    ///
    /// Those of [`Options::check`]; then all stays as it was.
    pub fn reload(&self, options: Options, needs_restart: &[&'static str]) -> Result<(), Error> {
        let old = self.shared.options();
        let (options, changed, mut restart) = reloaded(&old, options);
        options.check()?;
        restart.extend(needs_restart);
        let shown = |names: &[&str]| if names.is_empty() { "nothing".to_owned() } else { names.join(",") };
        let log = options.log.clone().kept_in(&self.shared.audit);
        let options = Options { log: log.clone(), ..options };
        #[cfg(unix)]
        if let Some(socket) = &self.socket {
            restrict(socket, &options)
                .map_err(|error| io_error(&format!("the socket {}", socket.display()), &error))?;
        }
        *self.shared.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
        log.line(Level::Info, "reloaded", &[("changed", &shown(&changed)), ("needs_restart", &shown(&restart))]);
        Ok(())
    }

    /// Tells that it could not be [reloaded](Running::reload) at all: all stays as it was.
    pub fn refuse_reload(&self, why: &str) {
        self.shared.options().log.line(Level::Error, "reload_failed", &[("message", &why)]);
    }

    /// Ends all sessions with a word (57P01), and waits until they have ended. What they did not commit is rolled back.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.registry.stop();
        for (call, thread) in self.listeners.drain(..) {
            drop(call);
            let _ = thread.join();
        }
        if let Some(path) = self.socket.take() {
            let _ = std::fs::remove_file(&path);
        }
        if let Some((told, thread)) = self.watcher.take() {
            drop(told);
            let _ = thread.join();
        }
        let begun = Instant::now();
        while self.shared.registry.count_connections() > 0 {
            self.shared.registry.stop();
            if begun.elapsed() > FAREWELL_TIME {
                self.shared.registry.shut();
            }
            thread::sleep(STOP_LOOK_TIME);
        }
        if let Some(folder) = self.shared.databases.folder().filter(|_| !std::mem::replace(&mut self.is_over, true))
            && let Err(error) = folder.close()
        {
            self.shared.tell_closed(&[(OWN.to_owned(), error)]);
        }
        let options = self.shared.options();
        options.log.line(Level::Info, "stopped", &[("database", &self.shared.databases.lasting().name())]);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// What is done with who comes.
type Serve = fn(Stream, &Arc<Shared>);

/// A thread for a client.
fn let_in(stream: Stream, shared: &Arc<Shared>) {
    let Ok(other) = stream.try_clone() else { return };
    let options = shared.options();
    if shared.registry.count_connections() >= options.connections_max + STRANGERS_MAX {
        let mut line = Line::new(stream, options.limits);
        line.conversation.refuse(&crate::door::too_many());
        // Who does not take it does without.
        let _ = line.set_times(Some(PAUSE), Some(PAUSE)).and_then(|()| line.flush());
        return;
    }
    let present = shared.registry.arrive(other);
    let shared = shared.clone();
    let work = move || {
        // The socket is closed, and its connection forgotten, also where its thread panics. A client that goes is no error.
        let present = present;
        let _ = session::serve(stream, present.number, &shared);
        drop(shared);
        drop(present);
    };
    // Without a thread there is nobody to say so; the socket is closed.
    let _ = thread::Builder::new().name("cairn client".to_owned()).spawn(work);
}

/// A socket that nobody listens to any more is in the way.
#[cfg(unix)]
fn remove_stale(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there; give another port")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Where nobody else can come in, nobody else needs to reach it.
#[cfg(unix)]
fn restrict(path: &Path, options: &Options) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let is_own = options.users.is_empty() && !options.trusts_all;
    let mode = if is_own && options.access.iter().all(|rule| rule.method != crate::access::Method::Trust) {
        0o600
    } else {
        0o777
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}
