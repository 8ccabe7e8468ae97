//! A server in a process of its own, which may be killed: this same program, told by its environment what to serve.

use std::fs::{File, metadata};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use cairn_server::{Options, Server};
use cairndb::{Database, Durability};
use postgres::{Client, Config, NoTls};

use crate::{PATIENCE, until};

/// The folder of the socket; what is served, a file or a folder.
const SOCKET: &str = "CAIRN_TEST_SOCKET";
const SERVED: &str = "CAIRN_TEST_SERVED";

pub struct Process {
    child: Child,
    socket: PathBuf,
}

impl Process {
    /// Serves a database file, or a folder of them, over the socket in a folder.
    pub fn start(socket: &Path, served: &Path) -> Process {
        Process::by(Command::new(std::env::current_exe().unwrap()), socket, served)
    }

    /// The same, of a command that ends in the program: its arguments follow.
    pub fn by(mut command: Command, socket: &Path, served: &Path) -> Process {
        let told = File::create(socket.join("told")).unwrap();
        command.args(["--exact", "process::serves_what_its_environment_says", "--nocapture", "--test-threads=1"]);
        command.env(SOCKET, socket).env(SERVED, served).stdout(told.try_clone().unwrap()).stderr(told);
        let process = Process { child: command.spawn().unwrap(), socket: socket.to_owned() };
        until("it listens", || UnixStream::connect(process.path()).is_ok());
        process
    }

    pub fn path(&self) -> PathBuf {
        self.socket.join(".s.PGSQL.5432")
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn try_connect(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config = Config::new();
        config.host_path(&self.socket).user("me").dbname(database).connect_timeout(PATIENCE);
        config.connect(NoTls)
    }

    pub fn connect(&self) -> Client {
        self.try_connect("shop").expect("connects")
    }

    /// As `kill -9` does.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// No test but of others: what they start.
#[test]
fn serves_what_its_environment_says() {
    let [Some(socket), Some(served)] = [SOCKET, SERVED].map(std::env::var_os) else { return };
    let served = PathBuf::from(served);
    let server = match metadata(&served).is_ok_and(|of| of.is_dir()) {
        true => Server::of_folder(&served, cairndb::Options::default()),
        false => {
            let options = cairndb::Options::default().name("shop").durability(Durability::Full);
            Database::open_with(&served, options).map(Server::over)
        }
    };
    let options =
        Options { socket: Some((socket.into(), 5432)), trusts_all: true, connections_max: 2_000, ..Options::default() };
    let _running = server.unwrap().with(options).start().unwrap();
    loop {
        std::thread::park();
    }
}
