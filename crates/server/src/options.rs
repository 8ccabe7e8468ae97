//! How databases are served, and whether they may be.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use cairn_wire::Limits;
use cairndb::{Ceilings, Error, SqlState};

use crate::access::{Access, User, check_rules};
use crate::log::Log;
use crate::tls::Tls;

/// How a database is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where TCP is listened to.
    pub addresses: Vec<SocketAddr>,
    /// The folder of the Unix socket, and the port that its name has.
    pub socket: Option<(PathBuf, u16)>,
    /// The user whom the Unix socket lets in without a password.
    pub owner: Option<u32>,
    /// Who else may come in, with a password.
    pub users: HashMap<String, User>,
    /// Who may come in from where, in place of what the others say of that; none: as they say.
    pub access: Vec<Access>,
    /// What is shown to who wants to speak TLS; `None`: nobody can. Where it is there, who comes from another machine has to, unless
    /// the server is insecure.
    pub tls: Option<Tls>,
    /// Everybody may come in, without a password.
    pub trusts_all: bool,
    /// Addresses that other machines reach may be listened to, though what goes over the wire can be read on the way.
    pub is_insecure: bool,
    /// How many sessions there may be.
    pub connections_max: usize,
    /// How many of one user.
    pub connections_max_by_user: Option<usize>,
    /// How many in one database.
    pub connections_max_by_database: Option<usize>,
    /// How long somebody may take to say and prove who he is.
    pub login_timeout: Duration,
    /// How long a client may take nothing of what is written to it.
    pub output_timeout: Duration,
    /// What a client may take.
    pub limits: Limits,
    /// What settings of sessions can not go beyond; `None`: [what the database's own options give](cairndb::Database::ceilings).
    pub ceilings: Option<Ceilings>,
    /// Where it is told what happens.
    pub log: Log,
    /// A statement that takes longer is told of, without its constants.
    pub slow_statement: Option<Duration>,
    /// A database of a folder that nobody has used for so long is closed.
    pub idle_close: Duration,
    /// How many statements are counted (`pg_stat_statements`); 0: none is.
    pub statements_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            addresses: Vec::new(),
            socket: None,
            owner: None,
            users: HashMap::new(),
            access: Vec::new(),
            tls: None,
            trusts_all: false,
            is_insecure: false,
            connections_max: 100,
            connections_max_by_user: None,
            connections_max_by_database: None,
            login_timeout: Duration::from_secs(60),
            output_timeout: Duration::from_secs(300),
            limits: Limits::default(),
            ceilings: None,
            log: Log::default(),
            slow_statement: None,
            idle_close: Duration::from_secs(300),
            statements_max: 5_000,
        }
    }
}

impl Options {
    /// Whether a server may be started so.
    ///
    /// # Errors
    ///
    /// 42501 where somebody would come in from elsewhere who shows nothing, or what is sent could be read on the way.
    ///
    /// ```
    /// let options = cairn_server::Options { addresses: vec!["0.0.0.0:5432".parse().unwrap()], ..Default::default() };
    /// assert!(options.check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        check_rules(&self.access)?;
        self.addresses.iter().try_for_each(|address| check_address(*address, self))
    }
}

/// SQLSTATE 42501.
fn check_address(address: SocketAddr, options: &Options) -> Result<(), Error> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    if options.trusts_all || options.users.is_empty() {
        let hint = "Set passwords, or listen to a loopback address.";
        return Err(reached(address, "nobody would need a password", hint));
    }
    if !options.is_insecure && options.tls.is_none() {
        let hint = "Give a certificate and its key (tls), listen to a loopback address, or say --insecure.";
        return Err(reached(address, "no certificate is there for TLS", hint));
    }
    Ok(())
}

fn reached(address: SocketAddr, why: &str, hint: &str) -> Error {
    let message = format!("{address} is an address that other machines reach, and {why}");
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_hint(hint.to_owned())
}
