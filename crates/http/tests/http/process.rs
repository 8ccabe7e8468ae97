//! A server in a process of its own, which may be killed: this same program, told by its environment what to serve.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cairn_http::{Options, Running};
use cairn_server::Server;
use cairndb::Database;

use super::client::Client;

/// The file that is served, beside which it says where it listens.
const SERVED: &str = "CAIRN_TEST_HTTP_SERVED";

pub struct Process {
    child: Mutex<Child>,
    pub client: Client,
}

fn told(file: &Path) -> PathBuf {
    file.with_extension("address")
}

impl Process {
    /// Serves `shop` of this file to whoever asks.
    pub fn start(file: &Path) -> Process {
        let _ = fs::remove_file(told(file));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "process::serves_what_its_environment_says", "--nocapture", "--test-threads=1"]);
        let child = command.env(SERVED, file).stdout(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        let address: SocketAddr = loop {
            match fs::read_to_string(told(file)).ok().and_then(|text| text.parse().ok()) {
                Some(address) => break address,
                None => assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(TcpStream::connect(address).is_ok());
        Process { child: Mutex::new(child), client: Client::new(address, "") }
    }

    /// As `kill -9` does.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        // It may have ended.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// No test but of others: what they start.
#[test]
fn serves_what_its_environment_says() {
    let Some(file) = std::env::var_os(SERVED).map(PathBuf::from) else { return };
    let database = Database::open_with(&file, cairndb::Options::default().name("shop")).unwrap();
    let trusts = cairn_server::Options { trusts_all: true, ..cairn_server::Options::default() };
    let server = Server::over(database).with(trusts).start().unwrap();
    let options = Options { addresses: vec!["127.0.0.1:0".parse().unwrap()], ..Options::default() };
    let http = Running::start(server.services(), options).unwrap();
    let (new, address) = (file.with_extension("new"), http.addresses()[0].to_string());
    fs::write(&new, address).and_then(|()| fs::rename(&new, told(&file))).unwrap();
    loop {
        std::thread::park();
    }
}
