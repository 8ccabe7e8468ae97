//! How a server is configured: keys with values, from a file, the environment and the command line, the later over the earlier.
//!
//! - A key that is not known is refused, with the one that it is most like: a typing error is no default.
//! - What is said twice in one place is refused (`yaml.rs`).
//! - A value is refused with its key, and in a file with its line.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cairn_server::{Access, Ceilings, Method, Tls, User, Verifier};
use cairndb::{Durability, Memory};

use super::users::{check_private, read_users};
use super::yaml::{self, At, Node};
use crate::report::Failure;

/// What the environment's names begin with.
const ENVIRONMENT: &str = "CAIRN_SERVE_";

/// All keys that have one value, with what they are when nothing is said, and what they mean.
pub const KEYS: &[(&str, &str, &str)] = &[
    ("data", "", "the database file, or a folder of databases"),
    ("create", "false", "make the file if it does not exist"),
    ("listen", "", "addresses for TCP, as 127.0.0.1:5432; several with commas, or a list"),
    ("socket.folder", "the file's", "the folder of the Unix socket"),
    ("socket.port", "5432", "the port that the Unix socket is named by"),
    ("users_file", "", "a file of lines NAME:PASSWORD, or NAME:SCRAM-SHA-256$..."),
    ("tls.cert", "", "the certificate for TLS, in PEM, with those that vouch for it behind it"),
    ("tls.key", "", "its key, in PEM, which only its owner may read"),
    ("trust", "false", "let everybody in who reaches an address or the socket"),
    ("insecure", "false", "who comes from another machine needs no TLS"),
    ("max_connections", "100", "sessions at a time"),
    ("max_connections_by_user", "none", "of one user"),
    ("max_connections_by_database", "none", "in one database"),
    ("memory.cache_bytes", "a quarter of the memory", "memory for pages and statements, of all databases together"),
    ("wal.fsync.mode", "always", "what a commit's acknowledgement means: always, group, interval, none"),
    ("wal.fsync.interval_ms", "10", "how much time a crash may lose with interval"),
    ("wal.fsync.max_batch_size", "64", "commits that share a write with group"),
    ("limits.work_mem", "256MB", "the most of a sort or hash table before it spills; SET stays below"),
    ("limits.statement_mem", "1GB", "the most of a statement"),
    ("limits.temp_file_limit", "none", "temporary files of a session"),
    ("limits.temp_table_limit", "256MB", "temporary tables of a session"),
    ("limits.statement_timeout", "none", "the longest statement"),
    ("limits.transaction_timeout", "none", "the longest transaction"),
    ("limits.idle_in_transaction_session_timeout", "none", "the longest wait within a transaction"),
    ("limits.idle_session_timeout", "none", "the longest wait outside of one"),
    ("limits.message_bytes", "256MB", "the longest message of a client"),
    ("limits.statements", "10000", "prepared statements of a session"),
    ("limits.portals", "1000", "portals of a session"),
    ("limits.login_timeout", "1min", "how long somebody may take to say and prove who he is"),
    ("limits.output_timeout", "5min", "how long a client may take nothing of what is written to it"),
    ("idle_close", "5min", "a database of a folder that nobody uses for so long is closed"),
    ("statements.max", "5000", "statements that are counted (pg_stat_statements); 0: none is"),
    ("log.slow_statement", "none", "tell of statements that take longer"),
    ("http.listen", "", "addresses for documents and SQL over HTTP, as 127.0.0.1:8080; several with commas, or a list"),
    ("http.tls", "false", "who asks over HTTP speaks TLS, by the certificate of tls.cert"),
    ("http.hosts", "", "names that clients may call the server by (Host), beside localhost"),
    ("http.origins", "", "pages of which origins a browser may let ask (CORS), as https://app.example"),
    ("http.console", "true", "there is the console, a page, at /"),
    ("http.max_connections", "10000", "connections over HTTP at a time"),
    ("http.body_bytes", "64MB", "the longest body of a request"),
    ("http.request_timeout", "1min", "how long a request may take until its answer begins"),
    ("http.documents_max", "10000", "the most documents of one answer"),
    ("http.log_requests", "false", "a line in the log for each request"),
    (
        "jwt.jwks",
        "",
        "a file with a JSON Web Key Set: who signs by these keys is believed, as rules of collections say",
    ),
    ("jwt.audience", "", "JSON Web Tokens have to be for one of these (aud); several with commas, or a list"),
    ("jwt.issuer", "", "and of one of these (iss)"),
    ("jwt.leeway", "10s", "by how much clocks may differ"),
    ("jwt.databases", "", "in these databases only"),
    (
        "sched.worker_count",
        "",
        "threads that databases share for requests over HTTP; by processors and databases where it is not said",
    ),
    ("sched.max_workers", "256", "the most of these threads"),
    ("sched.queue", "1024", "requests of a database that may wait for such a thread; more are refused"),
    ("metrics.listen", "", "an address for /metrics, /healthz and /readyz over HTTP, as 127.0.0.1:9187"),
];

/// The keys of what there may be many of.
const LISTS: &[&str] = &["users", "access", "tokens", "jwt.keys"];

/// What a server is made of.
#[derive(Default)]
pub struct Config {
    pub data: Option<PathBuf>,
    pub create: bool,
    pub socket_folder: Option<PathBuf>,
    pub socket_port: Option<u16>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub database: cairndb::Options,
    /// Of the times; memory and durability are the database's.
    pub ceilings: Ceilings,
    pub server: cairn_server::Options,
    pub http: cairn_http::Options,
    /// Whose JSON Web Tokens are believed, while it is read.
    jwt: Option<cairn_http::Jwt>,
}

/// A value that is not right, in words.
type Set = Result<(), String>;

impl Config {
    /// From all that says something: a file, the environment, and `KEY=VALUE` of the command line.
    pub fn read(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
        said: &[(String, String)],
    ) -> Result<Config, Failure> {
        let mut config = Config::default();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
            let failed = |at: At<String>| Failure::Message(format!("{}, line {}: {}", path.display(), at.line, at.of));
            let root = yaml::read(&text).map_err(failed)?;
            if config.read_map("", root).map_err(failed)? {
                check_private(path)?;
            }
        }
        for (name, value) in environment {
            let Some(key) = name.strip_prefix(ENVIRONMENT) else { continue };
            let same = |(known, ..): &&(&str, &str, &str)| known.replace('.', "_").eq_ignore_ascii_case(key);
            let known = KEYS.iter().find(same);
            let failed = |why: String| Failure::Message(format!("environment variable {name}: {why}"));
            let (key, ..) = known.ok_or_else(|| failed("there is no such key of the configuration".to_owned()))?;
            config.set(key, &value).map_err(failed)?;
        }
        for (key, value) in said {
            check_known(key).map_err(Failure::Message)?;
            config.set(key, value).map_err(|why| Failure::Message(format!("{key}: {why}")))?;
        }
        config.server.tls = config.tls()?;
        config.http.jwt = config.jwt.take().map(Into::into);
        Ok(config)
    }

    /// What this and another say differently that is looked at once, when the server starts.
    pub fn differs_for_good(&self, other: &Config) -> Vec<&'static str> {
        let (own, its) = (&self.database, &other.database);
        let bytes = |of: &cairndb::Options| of.memory.as_ref().map(Memory::bytes);
        let all = [
            ("data", self.data != other.data),
            ("http.listen", self.http.addresses != other.http.addresses),
            ("metrics.listen", self.http.metrics != other.http.metrics),
            ("http.max_connections", self.http.connections_max != other.http.connections_max),
            ("sched.worker_count", self.http.workers != other.http.workers),
            ("sched.max_workers", self.http.workers_max != other.http.workers_max),
            ("sched.queue", self.http.queue != other.http.queue),
            ("http.origins", self.http.origins != other.http.origins),
            ("http.console", self.http.console != other.http.console),
            ("memory.cache_bytes", bytes(own) != bytes(its)),
            ("wal.fsync.mode", own.durability != its.durability),
            ("wal.fsync.interval_ms", own.sync_interval != its.sync_interval),
            ("wal.fsync.max_batch_size", own.group_size != its.group_size),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }

    fn tls(&self) -> Result<Option<Tls>, Failure> {
        let missing = |key| Err(Failure::Message(format!("{key}: a certificate for TLS has a key, give both or none")));
        match (&self.tls_cert, &self.tls_key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(Tls::of_files(certificate, key)?)),
            (None, _) => missing("tls.cert"),
            (_, None) => missing("tls.key"),
        }
    }

    /// Whether there is something in it that is not for everybody to read.
    fn read_map(&mut self, before: &str, map: At<Node>) -> Result<bool, At<String>> {
        let line = map.line;
        let Node::Map(map) = map.of else { return Err(At { line, of: "expected names and values".to_owned() }) };
        let mut has_secrets = false;
        for (name, value) in map {
            let key = if before.is_empty() { name.of } else { format!("{before}.{}", name.of) };
            let line = name.line;
            let bad = |of: String| At { line, of };
            match (key.as_str(), value.of) {
                (_, Node::Text(text)) if text.is_empty() => check_known(&key).map_err(bad)?,
                ("users", users) => {
                    has_secrets = true;
                    self.read_users(At { line, of: users })?;
                }
                ("access", rules) => self.read_access(At { line, of: rules })?,
                // (Digests of secrets are none.)
                ("tokens", tokens) => self.http.tokens = super::tokens::read(At { line, of: tokens })?,
                ("jwt.keys", keys) => {
                    let jwt = self.jwt.get_or_insert_default();
                    has_secrets |= super::jwt::read_keys(jwt, At { line, of: keys })?;
                }
                (_, Node::Text(text)) => {
                    check_known(&key).map_err(bad)?;
                    self.set(&key, &text).map_err(|why| bad(format!("{key}: {why}")))?;
                }
                (
                    "listen" | "http.listen" | "http.hosts" | "http.origins" | "jwt.audience" | "jwt.issuer"
                    | "jwt.databases",
                    list @ Node::List(_),
                ) => {
                    let said = texts(At { line, of: list })?.join(",");
                    self.set(&key, &said).map_err(|why| bad(format!("{key}: {why}")))?;
                }
                (_, Node::List(_)) => {
                    check_known(&key).map_err(bad)?;
                    return Err(bad(format!("{key} has one value, not a list")));
                }
                (_, inner) => {
                    let begins = format!("{key}.");
                    if !KEYS.iter().any(|(known, ..)| known.starts_with(&begins)) {
                        check_known(&key).map_err(bad)?;
                        return Err(bad(format!("{key} has one value")));
                    }
                    has_secrets |= self.read_map(&key, At { line, of: inner })?;
                }
            }
        }
        Ok(has_secrets)
    }

    /// Sets what has one value.
    fn set(&mut self, key: &str, value: &str) -> Set {
        let (server, database, ceilings) = (&mut self.server, &mut self.database, &mut self.ceilings);
        match key {
            "data" => self.data = Some(value.into()),
            "create" => self.create = switch(value)?,
            "listen" => {
                server.addresses = parts(value).map(|part| address(&part)).collect::<Result<_, _>>()?;
            }
            "socket.folder" => self.socket_folder = Some(value.into()),
            "socket.port" => self.socket_port = Some(number(value)?),
            "users_file" => {
                let users = read_users(Path::new(value)).map_err(|failure| failure.to_string())?;
                server.users.extend(users);
            }
            "tls.cert" => self.tls_cert = Some(value.into()),
            "tls.key" => self.tls_key = Some(value.into()),
            "trust" => server.trusts_all = switch(value)?,
            "insecure" => server.is_insecure = switch(value)?,
            "max_connections" => server.connections_max = number(value)?,
            "max_connections_by_user" => server.connections_max_by_user = Some(number(value)?),
            "max_connections_by_database" => server.connections_max_by_database = Some(number(value)?),
            "memory.cache_bytes" => {
                let bytes = crate::args::size(value)?;
                database.memory = (bytes > 0).then(|| Memory::shared(bytes));
            }
            "wal.fsync.mode" => database.durability = durability(value)?,
            "wal.fsync.interval_ms" => database.sync_interval = Some(Duration::from_millis(number(value)?)),
            "wal.fsync.max_batch_size" => database.group_size = number(value)?,
            "limits.work_mem" => database.work_mem = memory(value)?,
            "limits.statement_mem" => database.statement_mem = memory(value)?,
            "limits.temp_file_limit" => database.temp_file_limit = Some(bytes(value)? as u64),
            "limits.temp_table_limit" => database.temp_table_limit = Some(bytes(value)? as u64),
            "limits.statement_timeout" => ceilings.statement_timeout = Some(time(value)?),
            "limits.transaction_timeout" => ceilings.transaction_timeout = Some(time(value)?),
            "limits.idle_in_transaction_session_timeout" => {
                ceilings.idle_in_transaction_session_timeout = Some(time(value)?);
            }
            "limits.idle_session_timeout" => ceilings.idle_session_timeout = Some(time(value)?),
            "limits.message_bytes" => server.limits.message_bytes = memory(value)?,
            "limits.statements" => server.limits.statements = number(value)?,
            "limits.portals" => server.limits.portals = number(value)?,
            "limits.login_timeout" => server.login_timeout = time(value)?,
            "limits.output_timeout" => server.output_timeout = time(value)?,
            "idle_close" => server.idle_close = time(value)?,
            "statements.max" => server.statements_max = number(value)?,
            "sched.worker_count" => self.http.workers = Some(at_least_one(value)?),
            "sched.max_workers" => self.http.workers_max = at_least_one(value)?,
            "sched.queue" => self.http.queue = at_least_one(value)?,
            "metrics.listen" => self.http.metrics = Some(address(value)?),
            key if key.starts_with("http.") => return self.set_http(key, value),
            key if key.starts_with("jwt.") => return self.set_jwt(key, value),
            "log.slow_statement" => server.slow_statement = Some(time(value)?),
            unknown => return check_known(unknown).and_then(|()| Err("expected a list".to_owned())),
        }
        Ok(())
    }

    fn set_http(&mut self, key: &str, value: &str) -> Set {
        let http = &mut self.http;
        match key {
            "http.listen" => http.addresses = parts(value).map(|part| address(&part)).collect::<Result<_, _>>()?,
            "http.tls" => http.tls = switch(value)?,
            "http.hosts" => http.hosts = parts(value).collect(),
            "http.origins" => http.origins = parts(value).collect(),
            "http.console" => http.console = switch(value)?,
            "http.max_connections" => http.connections_max = number(value)?,
            "http.body_bytes" => http.body_bytes = memory(value)?,
            "http.request_timeout" => http.request_timeout = time(value)?,
            "http.documents_max" => http.documents_max = number(value)?,
            "http.log_requests" => http.logs_requests = switch(value)?,
            unknown => return check_known(unknown),
        }
        Ok(())
    }

    fn set_jwt(&mut self, key: &str, value: &str) -> Set {
        let jwt = self.jwt.get_or_insert_default();
        match key {
            "jwt.jwks" => super::jwt::read_key_set(jwt, value)?,
            "jwt.audience" => jwt.audience = parts(value).collect(),
            "jwt.issuer" => jwt.issuers = parts(value).collect(),
            "jwt.leeway" => jwt.leeway = time(value)?.min(cairn_http::Jwt::LEEWAY_MAX),
            "jwt.databases" => jwt.databases = parts(value).collect(),
            unknown => return check_known(unknown),
        }
        Ok(())
    }

    /// `users: { NAME: { verifier: SCRAM-SHA-256$..., read_only: true } }`
    fn read_users(&mut self, users: At<Node>) -> Result<(), At<String>> {
        for (name, of) in map(users)? {
            let (mut verifier, mut reads_only) = (None, false);
            for (key, value) in map(of)? {
                let value = text(value)?;
                let bad = |of: String| At { line: value.line, of };
                match key.of.as_str() {
                    // What it is is not shown: it may be a password.
                    "verifier" => {
                        let hint =
                            "a verifier is SCRAM-SHA-256$..., which cairn serve --make-verifier makes of a password";
                        verifier = Some(Verifier::parse(&value.of).map_err(|_| bad(hint.to_owned()))?);
                    }
                    "read_only" => reads_only = switch(&value.of).map_err(bad)?,
                    other => return Err(unknown(other, key.line, &["verifier", "read_only"])),
                }
            }
            let missing = || At { line: name.line, of: format!("user \"{}\" has no verifier", name.of) };
            self.server.users.insert(name.of.clone(), User { verifier: verifier.ok_or_else(missing)?, reads_only });
        }
        Ok(())
    }

    /// `access: [{ from: 10.0.0.0/8, tls: true, database: shop, user: [a, b], method: password }]`
    fn read_access(&mut self, rules: At<Node>) -> Result<(), At<String>> {
        for rule in list(rules) {
            let line = rule.line;
            let (mut from, mut tls, mut method, mut users, mut databases) = (None, None, None, Vec::new(), Vec::new());
            for (key, value) in map(rule)? {
                let line = value.line;
                let bad = |of: String| At { line, of };
                match key.of.as_str() {
                    "from" => from = Some(text(value)?.of.parse().map_err(bad)?),
                    "tls" => tls = Some(switch(&text(value)?.of).map_err(bad)?),
                    "method" => method = Some(self::method(&text(value)?.of).map_err(bad)?),
                    "user" => users = texts(value)?,
                    "database" => databases = texts(value)?,
                    other => return Err(unknown(other, key.line, &["from", "tls", "method", "user", "database"])),
                }
            }
            let missing = |what: &str| At { line, of: format!("a rule of access says {what}") };
            self.server.access.push(Access {
                from: from.ok_or_else(|| missing("where from: socket, all, or an address"))?,
                method: method.ok_or_else(|| missing("by which method: password, owner, trust, refuse"))?,
                users,
                databases,
                tls,
            });
        }
        Ok(())
    }
}

/// What stands between commas.
fn parts(value: &str) -> impl Iterator<Item = String> {
    value.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty())
}

/// The keys of a map and their values, in order.
pub(super) type Entries = Vec<(At<String>, At<Node>)>;

pub(super) fn map(node: At<Node>) -> Result<Entries, At<String>> {
    match node.of {
        Node::Map(map) => Ok(map),
        _ => Err(At { line: node.line, of: "expected names and values".to_owned() }),
    }
}

/// What stands alone is a list of one.
fn list(node: At<Node>) -> Vec<At<Node>> {
    match node.of {
        Node::List(list) => list,
        _ => vec![node],
    }
}

pub(super) fn text(node: At<Node>) -> Result<At<String>, At<String>> {
    match node.of {
        Node::Text(of) => Ok(At { line: node.line, of }),
        _ => Err(At { line: node.line, of: "expected one value".to_owned() }),
    }
}

pub(super) fn texts(node: At<Node>) -> Result<Vec<String>, At<String>> {
    list(node).into_iter().map(|node| text(node).map(|text| text.of)).collect()
}

fn check_known(key: &str) -> Set {
    let known: Vec<&str> = KEYS.iter().map(|(known, ..)| *known).chain(LISTS.iter().copied()).collect();
    let is_part = |known: &&str| *known == key || known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    if known.iter().any(is_part) { Ok(()) } else { Err(unknown(key, 0, &known).of) }
}

pub(super) fn unknown(key: &str, line: usize, known: &[&str]) -> At<String> {
    let nearest = known.iter().min_by_key(|known| distance(key, known));
    let of = match nearest.filter(|nearest| distance(key, nearest) <= key.len().max(6) / 2) {
        Some(nearest) => format!("there is no key {key}; perhaps {nearest} is meant"),
        None => format!("there is no key {key}; there are: {}", known.join(", ")),
    };
    At { line, of }
}

/// How many letters are to be put in, taken out or changed to make one of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, ch) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (of, known) in other.iter().enumerate() {
            let changed = diagonal + usize::from(ch != *known);
            diagonal = row[of + 1];
            row[of + 1] = changed.min(row[of] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "true" | "on" | "yes" => Ok(true),
        "false" | "off" | "no" => Ok(false),
        _ => Err(format!("\"{value}\" is neither true nor false")),
    }
}

fn number<N: std::str::FromStr>(value: &str) -> Result<N, String> {
    value.parse().map_err(|_| format!("\"{value}\" is no number that fits here"))
}

fn at_least_one(value: &str) -> Result<usize, String> {
    match number(value)? {
        0 => Err("it is at least 1".to_owned()),
        count => Ok(count),
    }
}

fn address(value: &str) -> Result<SocketAddr, String> {
    value.parse().map_err(|_| format!("\"{value}\" is no address with a port, as 127.0.0.1:5432 or [::1]:5432"))
}

fn durability(value: &str) -> Result<Durability, String> {
    Ok(match value {
        "always" => Durability::Full,
        "group" => Durability::Group,
        "interval" => Durability::Interval,
        "none" => Durability::Off,
        _ => return Err(format!("\"{value}\" is none of always, group, interval, none")),
    })
}

fn method(value: &str) -> Result<Method, String> {
    Ok(match value {
        "password" => Method::Password,
        "owner" | "peer" => Method::Owner,
        "trust" => Method::Trust,
        "refuse" | "reject" => Method::Refuse,
        _ => return Err(format!("\"{value}\" is none of password, owner, trust, refuse")),
    })
}

/// A number with B, kB, MB, GB or TB.
fn bytes(value: &str) -> Result<usize, String> {
    crate::args::bytes(value)
}

/// The least that a session's settings take.
fn memory(value: &str) -> Result<usize, String> {
    bytes(value).and_then(|bytes| if bytes < 64 << 10 { Err("it is at least 64kB".to_owned()) } else { Ok(bytes) })
}

/// A number with ms, s, min, h or d.
fn time(value: &str) -> Result<Duration, String> {
    let digits = value.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(value.len());
    let unit: u64 = match value[digits..].trim() {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(format!("\"{value}\" is no time: a number with ms, s, min, h or d")),
    };
    let millis =
        value[..digits].parse().ok().and_then(|number: u64| number.checked_mul(unit)).filter(|millis| *millis > 0);
    // So that no moment is too far away to be told.
    let millis = millis.filter(|millis| *millis <= 365 * 86_400_000);
    millis.map(Duration::from_millis).ok_or_else(|| format!("\"{value}\" is not between 1ms and 365d"))
}

#[cfg(test)]
mod tests;
