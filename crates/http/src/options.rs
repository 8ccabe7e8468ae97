//! How a server is reached over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cairndb::{Error, SqlState};

use crate::jwt::Jwt;
use crate::token::Token;

/// How a server is reached over HTTP.
///
/// ```
/// let options = cairn_http::Options { addresses: vec!["0.0.0.0:8080".parse().unwrap()], ..Default::default() };
/// assert!(options.check(&cairn_server::Options::default()).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Where documents, SQL and all else is served to who has a token.
    pub addresses: Vec<SocketAddr>,
    /// Whoever reaches these addresses speaks TLS, by the server's certificate.
    pub tls: bool,
    /// Where `/metrics`, `/healthz` and `/readyz` are told to whoever asks.
    pub metrics: Option<SocketAddr>,
    /// Tokens of the configuration. (Those of a folder are in the server's own database.)
    pub tokens: Vec<Token>,
    /// Whose JSON Web Tokens are believed; `None`: nobody's.
    pub jwt: Option<Arc<Jwt>>,
    /// Names that clients may call the server by (`Host`), beside `localhost` and loopback addresses. Of an address that other machines reach every
    /// name is taken where none is here.
    pub hosts: Vec<String>,
    /// Pages of which origins a browser may let ask (CORS); none: no others than the server's own, of which there are none.
    pub origins: Vec<String>,
    /// There is the console at `/`.
    pub console: bool,
    /// The longest body.
    pub body_bytes: usize,
    /// How long a request may take until its answer begins, and a part of a longer body until it comes.
    pub request_timeout: Duration,
    /// Connections at a time; others wait to be let in.
    pub connections_max: usize,
    /// The most documents of one answer.
    pub documents_max: u32,
    /// Threads that databases share for what takes longer; `None`: twice as many as there are processors, or as databases are open, what is more.
    pub workers: Option<usize>,
    /// The most of these threads.
    pub workers_max: usize,
    /// What may wait for such a thread, of each database; more is refused (503) at once.
    pub queue: usize,
    /// The log has a line for each request.
    pub logs_requests: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            addresses: Vec::new(),
            tls: false,
            metrics: None,
            tokens: Vec::new(),
            jwt: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            console: true,
            body_bytes: 64 << 20,
            request_timeout: Duration::from_secs(60),
            connections_max: 10_000,
            documents_max: 10_000,
            workers: None,
            workers_max: 256,
            queue: 1024,
            logs_requests: false,
        }
    }
}

impl Options {
    /// Whether a server may be reached so.
    ///
    /// # Errors
    ///
    /// 22023 where JSON Web Tokens are believed by no key, or there is no certificate to speak TLS by. 42501 where other machines reach an address and nobody would show a token there, or tokens could be read on the way.
    pub fn check(&self, server: &cairn_server::Options) -> Result<(), Error> {
        self.jwt.as_ref().map_or(Ok(()), |jwt| jwt.check())?;
        if self.tls && server.tls.is_none() {
            let error =
                Error::new(SqlState::INVALID_PARAMETER_VALUE, "there is no certificate to speak TLS over HTTP by");
            return Err(error.with_hint("Say where it is: tls.cert and tls.key."));
        }
        self.addresses.iter().try_for_each(|address| check_address(*address, self.tls, server))?;
        self.metrics.map_or(Ok(()), |address| check_metrics(address, server))
    }
}

fn check_address(address: SocketAddr, is_tls: bool, server: &cairn_server::Options) -> Result<(), Error> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    if server.trusts_all {
        return Err(reached(address, "nobody would need a token", "Take back trust, or listen to a loopback address."));
    }
    if !is_tls && !server.is_insecure {
        let hint = "Have TLS spoken (http.tls), listen to a loopback address, or say --insecure.";
        return Err(reached(address, "HTTP is not secured by TLS here", hint));
    }
    Ok(())
}

fn check_metrics(address: SocketAddr, server: &cairn_server::Options) -> Result<(), Error> {
    if address.ip().is_loopback() || server.is_insecure {
        return Ok(());
    }
    let hint = "Listen to a loopback address and let a proxy bring metrics to who may read them, or say --insecure.";
    Err(reached(address, "metrics are told to whoever asks", hint))
}

fn reached(address: SocketAddr, why: &str, hint: &str) -> Error {
    let message = format!("{address} is an address that other machines reach, and {why}");
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_hint(hint)
}
