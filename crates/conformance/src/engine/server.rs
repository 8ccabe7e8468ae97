//! A PostgreSQL server of our own in a temporary folder, reached by a unix socket only.
//!
//! It must not outlive the test: a small shell process holds a pipe from us and stops the server when the pipe
//! closes, which happens on drop, on panic, and when this process is killed.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Why no server could be started.
#[derive(Debug)]
pub enum StartError {
    /// No `initdb` was found on this machine.
    NotInstalled,
    /// PostgreSQL is here, but did not start: what it said.
    Failed(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::NotInstalled => f.write_str("PostgreSQL is not installed (Debian: apt-get install postgresql)"),
            StartError::Failed(why) => write!(f, "the private PostgreSQL server did not start: {why}"),
        }
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> StartError {
        StartError::Failed(error.to_string())
    }
}

/// A running private server.
pub struct PostgresServer {
    // Dropped in `drop` before the folder, which the guard shell needs no more by then.
    guard: Child,
    folder: TempDir,
}

const STOP_WITH_PIPE: &str =
    r#""$@" >>"$0" 2>&1 </dev/null & server=$!; cat >/dev/null; kill -QUIT $server; wait $server"#;
const PATIENCE: Duration = Duration::from_secs(30);

impl PostgresServer {
    /// Makes a cluster and starts it, without durability and without TCP.
    pub fn start() -> Result<PostgresServer, StartError> {
        PostgresServer::start_with(&[])
    }

    /// The same with more settings, of which a later one counts.
    pub fn start_with(settings: &[&str]) -> Result<PostgresServer, StartError> {
        let programs = program_folder().ok_or(StartError::NotInstalled)?;
        let folder = TempDir::with_prefix("cairn-postgres-")?;
        let account = unprivileged_account()?;
        if let Some((user, group)) = account {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group))?;
        }
        init_cluster(&programs, folder.path(), account)?;
        let guard = spawn_guarded(&programs, folder.path(), account, settings)?;
        let server = PostgresServer { guard, folder };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Starts a server. `None` where PostgreSQL is not installed, with a line that says so and how to have it.
    ///
    /// # Panics
    /// When PostgreSQL does not start, or is missing although `CAIRN_INSIST` is set, as it is in CI.
    pub fn start_for_test() -> Option<PostgresServer> {
        match PostgresServer::start() {
            Ok(server) => Some(server),
            Err(error @ StartError::NotInstalled) if std::env::var_os("CAIRN_INSIST").is_none() => {
                // Not by a macro, whose output is shown of failed tests only.
                let _ = writeln!(io::stderr(), "LEFT OUT, not compared with PostgreSQL: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The folder of the unix socket.
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    fn wait_until_ready(&self) -> Result<(), StartError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match super::postgres::connect(self.socket_folder(), "postgres") {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                    return Err(StartError::Failed(format!("{error}\n{log}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // Nothing to be done about a failure to wait: the folder goes either way.
        let _ = self.guard.wait();
    }
}

type Account = Option<(u32, u32)>;

fn as_account(command: &mut Command, account: Account) -> &mut Command {
    if let Some((user, group)) = account {
        command.uid(user).gid(group);
    }
    command.current_dir("/")
}

fn init_cluster(programs: &Path, folder: &Path, account: Account) -> Result<(), StartError> {
    let mut command = Command::new(programs.join("initdb"));
    command.arg("-D").arg(folder.join("data"));
    command.args([
        "-U",
        "cairn",
        "--auth=trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--lc-ctype=C.UTF-8",
        "--no-sync",
        "--no-instructions",
    ]);
    let output = as_account(&mut command, account).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(StartError::Failed(String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn spawn_guarded(programs: &Path, folder: &Path, account: Account, more: &[&str]) -> Result<Child, StartError> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(STOP_WITH_PIPE).arg(folder.join("log"));
    command.arg(programs.join("postgres")).arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    let settings = [
        "listen_addresses=",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "autovacuum=off",
        "jit=off",
        "timezone=UTC",
        "max_connections=20",
        "shared_buffers=64MB",
        "max_locks_per_transaction=1024",
        "default_transaction_isolation=serializable",
    ];
    for setting in settings.iter().chain(more) {
        command.arg("-c").arg(setting);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(as_account(&mut command, account).spawn()?)
}

/// PostgreSQL refuses to run as root: the account to become, when we are root.
fn unprivileged_account() -> Result<Account, StartError> {
    if !is_root()? {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd")?;
    let found = ["postgres", "nobody"].iter().find_map(|name| account_named(&accounts, name));
    found.map(Some).ok_or_else(|| StartError::Failed("neither user postgres nor nobody exists".into()))
}

/// A file made by us belongs to who we are.
fn is_root() -> Result<bool, StartError> {
    use std::os::unix::fs::MetadataExt;
    let mut probe = tempfile::NamedTempFile::new()?;
    probe.write_all(b"x")?;
    Ok(probe.as_file().metadata()?.uid() == 0)
}

fn account_named(accounts: &str, name: &str) -> Option<(u32, u32)> {
    let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A program of the server's, such as `pg_dump`.
pub fn program(name: &str) -> Option<PathBuf> {
    program_folder().map(|folder| folder.join(name)).filter(|program| program.is_file())
}

/// The newest installed version's programs, or those on the path.
fn program_folder() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH")?));
    folders.into_iter().find(|folder| folder.join("initdb").is_file())
}
