//! The console of a server that has the file: what `cairn console` tells where somebody serves the folder that it is in.
//!
//! A token is made in the server's own database, over its Unix socket, as the user who owns the folder; and a secret that begins one session of it. Nothing
//! secret is sent to anybody: the server gets digests, and who has asked is told the address, with the secret in the part that browsers keep for themselves. The
//! token is taken back when this ends; where it can not be, it ends by itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cairn_http::{Scope, Secret, Token, create_console_login, revoke_token};

use crate::report::{Failure, say, warn};
use crate::serve::{Reached, Signals};
use crate::token::{by_socket, in_own};

/// How long a session lasts at most.
const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);

/// A server that runs on the folder that a file is in, or that is asked for; and the database, if it is one.
pub struct Served {
    folder: PathBuf,
    database: Option<String>,
    reached: Reached,
    /// Where its console is.
    address: String,
}

impl Served {
    /// The one of a path, if there is one; why what looks like one is not believed, or has no console for it.
    pub fn of(path: &Path) -> Result<Option<Served>, String> {
        // (Links are followed first: what counts is the folder that the file is in.)
        let Ok(path) = path.canonicalize() else { return Ok(None) };
        let (folder, database) = match path.is_dir() {
            true => (path, None),
            false => {
                let is_one = path.extension().is_some_and(|ending| ending == "cairn");
                let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| is_one && is_served(name));
                let (Some(name), Some(folder)) = (name, path.parent()) else { return Ok(None) };
                (folder.to_owned(), Some(name.to_owned()))
            }
        };
        let Some(reached) = Reached::read(&folder)? else { return Ok(None) };
        let address = address((&folder, database.as_deref()), &reached)?;
        Ok(Some(Served { folder, database, reached, address }))
    }

    /// Tells the address of its console, until it is told to end.
    pub fn show(&self, signals: &Signals, is_read_only: bool) -> Result<(), Failure> {
        let (once, random) = (Secret::random()?, Secret::random()?);
        let name = format!("console-{}", &random.digest()[..12]);
        let scopes: &[Scope] = if is_read_only { &[Scope::Read, Scope::Sql] } else { &Scope::ALL };
        // (Nobody has the secret of this one: what is told begins one session of it.)
        let token = Token {
            databases: self.database.iter().cloned().collect(),
            expires: SystemTime::now().checked_add(LONGEST),
            ..random.token(&name, scopes)
        };
        let socket = self.reached.socket.as_deref();
        by_socket(&self.folder, socket, &create_console_login(&token, &once))?;
        let told = say(format_args!("{}#token={}", self.address, once.text()));
        warn(format_args!(
            "process {} serves {}: this is its console, by a token, {name}, which is taken back when this ends",
            self.reached.process,
            self.folder.display()
        ));
        if told.is_ok() {
            signals.wait();
        }
        // The server may be another by now, or none.
        let socket = match Reached::read(&self.folder) {
            Ok(Some(reached)) => reached.socket,
            _ => self.reached.socket.clone(),
        };
        if let Err(failure) = in_own(&self.folder, socket.as_deref(), &revoke_token(&name)) {
            let revoke = format!("cairn token revoke {} {name}", self.folder.display());
            return Err(Failure::Message(format!(
                "the token {name} is not taken back, and ends within twelve hours: {failure}; {revoke} does it"
            )));
        }
        told
    }
}

/// Whether a server of a folder has databases of this name.
fn is_served(name: &str) -> bool {
    name.chars().all(|ch| ch.is_alphanumeric() && ch.to_lowercase().eq([ch]) || "_-$".contains(ch))
}

/// Where a server's console is, or why it has none for this database of the folder.
fn address((folder, database): (&Path, Option<&str>), reached: &Reached) -> Result<String, String> {
    let no = |why: &str, what: &str| {
        Err(format!("{}: process {} serves it, {why}; {what}", folder.display(), reached.process))
    };
    if database == Some("cairn") {
        return no(
            "whose own database this is",
            "a console shows the others: name the folder, or one of its databases",
        );
    }
    if !reached.has_console && !reached.http.is_empty() {
        return no("without a console", "take http.console: false out of its configuration, and start it again");
    }
    let Some(address) = preferred(&reached.http) else {
        return no("but not over HTTP", "start it with --http 127.0.0.1:8080, or stop it, and look at the file alone");
    };
    let scheme = if reached.is_tls { "https" } else { "http" };
    Ok(format!("{scheme}://{address}/"))
}

/// The address that stays on this machine, if there is one; of one for all addresses, this machine's.
fn preferred(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let here = |address: &SocketAddr| match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::from((Ipv6Addr::LOCALHOST, address.port())),
        _ => *address,
    };
    let mut all: Vec<SocketAddr> = addresses.iter().map(here).collect();
    all.sort_by_key(|address| !address.ip().is_loopback());
    all.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(database: Option<&str>, http: &[&str], has_console: bool) -> Result<String, String> {
        let http = http.iter().map(|address| address.parse().unwrap()).collect();
        let reached = Reached { process: 7, socket: None, http, is_tls: false, has_console };
        address((Path::new("/srv/data"), database), &reached)
    }

    #[test]
    fn the_address_is_this_machines_where_there_is_one() {
        let address = |http: &[&str]| asked(Some("shop"), http, true).unwrap();
        assert_eq!(address(&["10.0.0.7:80", "0.0.0.0:81"]), "http://127.0.0.1:81/");
        assert_eq!(address(&["[::]:82"]), "http://[::1]:82/");
        assert_eq!(address(&["10.0.0.7:80"]), "http://10.0.0.7:80/");
    }

    #[test]
    fn what_has_no_console_says_who_serves_it_and_what_to_do() {
        let told = asked(Some("shop"), &[], false).unwrap_err();
        assert!(told.contains("process 7") && told.contains("--http"), "{told}");
        assert!(asked(None, &["127.0.0.1:80"], false).unwrap_err().contains("http.console"));
        assert!(asked(Some("cairn"), &["127.0.0.1:80"], true).unwrap_err().contains("own database"));
    }
}
