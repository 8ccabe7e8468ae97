//! The tokens that there are: those of the configuration, and those that the server's own database has.
//!
//! They are looked up when they are shown, so one that was revoked is none from then on.

use std::sync::Arc;
use std::time::SystemTime;

use cairndb::{Connection, Error, OwnedRow, Row, SqlState};
use cairndb_async::Database;

use crate::token::{Scope, Secret, Token, digest};

const MAKE: &str = "CREATE SCHEMA IF NOT EXISTS server;
    CREATE TABLE IF NOT EXISTS server.tokens (digest text PRIMARY KEY, name text NOT NULL UNIQUE, scopes text[] NOT NULL,
        databases text[] NOT NULL, collections text[] NOT NULL, expires timestamptz, created timestamptz NOT NULL DEFAULT now())";
/// Of columns as they are: it is asked at each request, and answered where that is.
const FIND: &str = "SELECT name, scopes, databases, collections, expires
    FROM server.tokens WHERE digest = $1";

const MAKE_LOGINS: &str = "CREATE TABLE IF NOT EXISTS server.logins (digest text PRIMARY KEY, token text NOT NULL, expires timestamptz NOT NULL)";
const TAKE_LOGIN: &str = "DELETE FROM server.logins WHERE digest = $1 AND expires > now() RETURNING token";
const FORGET_LOGINS: &str = "DELETE FROM server.logins";

/// Lists the tokens of a server's own database, without what could be used of them.
pub const LIST_TOKENS: &str = "SELECT name, array_to_string(scopes, ','), array_to_string(databases, ','),
    array_to_string(collections, ','), coalesce(expires::text, ''), created::text FROM server.tokens ORDER BY name";

/// All that they are.
const ALL: &str = "SELECT name, scopes, databases, collections, expires, digest FROM server.tokens ORDER BY name";
const REVOKE: &str = "DELETE FROM server.tokens WHERE digest = $1";

/// A script that puts a token into a server's own database.
///
/// ```
/// let secret = cairn_http::Secret::random()?;
/// let token = cairn_http::Token {
///     name: "app".to_owned(),
///     digest: secret.digest(),
///     scopes: vec![cairn_http::Scope::Read],
///     databases: vec!["shop".to_owned()],
///     collections: Vec::new(),
///     expires: None,
/// };
/// let own = cairndb::Database::open_in_memory()?.connect()?;
/// own.execute_script(&cairn_http::create_token(&token))?;
/// let names: String = own.query_row(cairn_http::LIST_TOKENS, (), |row| row.get(0))?;
/// assert_eq!(names, "app");
/// own.execute_script(&cairn_http::revoke_token("app"))?;
/// # Ok::<(), cairndb::Error>(())
/// ```
pub fn create_token(token: &Token) -> String {
    let list = |all: &[String]| {
        let all: Vec<String> = all.iter().map(|text| literal(text)).collect();
        format!("ARRAY[{}]::text[]", all.join(", "))
    };
    let scopes: Vec<String> = token.scopes.iter().map(|scope| scope.name().to_owned()).collect();
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let expires = token.expires.map_or_else(|| "NULL".to_owned(), |time| format!("to_timestamp({})", since(time)));
    let [digest, name] = [&token.digest, &token.name].map(|text| literal(text));
    let (scopes, databases, collections) = (list(&scopes), list(&token.databases), list(&token.collections));
    format!(
        "{MAKE}; INSERT INTO server.tokens (digest, name, scopes, databases, collections, expires)
         VALUES ({digest}, {name}, {scopes}, {databases}, {collections}, {expires})"
    )
}

/// A statement that takes one out; it tells how many there were by changing as many rows.
pub fn revoke_token(name: &str) -> String {
    format!("DELETE FROM server.tokens WHERE name = {}", literal(name))
}

/// A script that puts a token into a server's own database, and a secret that begins one session of the console of it, if it is used within ten minutes. What a
/// server that starts finds of such secrets was meant for another.
pub fn create_console_login(token: &Token, once: &Secret) -> String {
    let [digest, token_digest] = [once.digest(), token.digest.clone()].map(|text| literal(&text));
    format!(
        "{}; {MAKE_LOGINS}; DELETE FROM server.logins WHERE expires < now();
         INSERT INTO server.logins (digest, token, expires) VALUES ({digest}, {token_digest}, now() + interval '10 minutes')",
        create_token(token)
    )
}

fn literal(text: &str) -> String {
    match text.contains('\\') {
        true => format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// See the module.
pub(crate) struct Tokens {
    /// The server's own database, where there is one.
    own: Option<Database>,
}

impl Tokens {
    pub(crate) fn new(own: Option<Database>) -> Tokens {
        Tokens { own }
    }

    /// Forgets secrets that were made for a server that ran before: who has its address now may be another.
    pub(crate) fn forget_logins(own: &cairndb::Database) -> Result<(), Error> {
        match own.connect()?.execute(FORGET_LOGINS, ()) {
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The token of a secret, if it is one and its time is not over.
    pub(crate) async fn of(&self, configured: &[Token], secret: &str) -> Result<Option<Arc<Token>>, Error> {
        self.of_digest(configured, &digest(secret)).await
    }

    /// The same, of who has shown it before: it may have been revoked since.
    pub(crate) async fn of_digest(&self, configured: &[Token], digest: &str) -> Result<Option<Arc<Token>>, Error> {
        let token = match configured.iter().find(|token| token.digest == digest) {
            Some(token) => Some(token.clone()),
            None => self.stored(digest).await?,
        };
        Ok(token.filter(|token| !token.has_expired()).map(Arc::new))
    }

    /// The token that a secret of [`create_console_login`] stands for, this one time.
    pub(crate) async fn of_login(&self, configured: &[Token], secret: &str) -> Result<Option<Arc<Token>>, Error> {
        let Some(own) = &self.own else { return Ok(None) };
        let digest = digest(secret);
        let taken = own.query_optional(TAKE_LOGIN, (digest.as_str(),), |row| row.get::<String>(0)).await;
        match taken {
            Ok(Some(token)) => self.of_digest(configured, &token).await,
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(None),
        }
    }

    /// Those of the server's own database; `None`: it has none, so the configuration has all that there are.
    pub(crate) async fn all(&self) -> Result<Option<Vec<Token>>, Error> {
        let Some(own) = &self.own else { return Ok(None) };
        let read = |connection: &Connection| {
            let rows = match connection.query(ALL, ()) {
                Err(error) if is_missing(&error) => return Ok(Vec::new()),
                rows => rows?,
            };
            let token = |row: Result<OwnedRow, Error>| {
                let row = row?;
                token_of(&row.as_row(), &row.get::<String>(5)?)
            };
            rows.into_iter().map(token).collect()
        };
        own.call(read).await.map(Some)
    }

    /// Puts one into the server's own database. 23505 where there is one of the name.
    pub(crate) async fn create(&self, token: &Token) -> Result<(), Error> {
        let (own, script) = (self.own()?, create_token(token));
        own.call(move |connection: &Connection| connection.execute_script(&script).map(drop)).await
    }

    /// Takes one out of it.
    pub(crate) async fn revoke(&self, token: &Token) -> Result<(), Error> {
        self.own()?.execute(REVOKE, (token.digest.as_str(),)).await.map(drop)
    }

    fn own(&self) -> Result<&Database, Error> {
        self.own.as_ref().ok_or_else(|| {
            let message = "the server has no database of its own: its configuration has the tokens";
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .with_hint("cairn token create FILE NAME says what to write there.")
        })
    }

    async fn stored(&self, digest: &str) -> Result<Option<Token>, Error> {
        let Some(own) = &self.own else { return Ok(None) };
        match own.query_optional(FIND, (digest,), |row| token_of(&row, digest)).await {
            Err(error) if is_missing(&error) => Ok(None),
            found => found,
        }
    }
}

/// Nobody has made one.
fn is_missing(error: &Error) -> bool {
    [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(&error.sqlstate())
}

fn token_of(row: &Row<'_>, digest: &str) -> Result<Token, Error> {
    let scopes: Vec<String> = row.get(1)?;
    Ok(Token {
        name: row.get(0)?,
        digest: digest.to_owned(),
        scopes: scopes.iter().map(|name| Scope::of(name)).collect::<Result<_, _>>()?,
        databases: row.get(2)?,
        collections: row.get(3)?,
        expires: row.get(4)?,
    })
}

impl Secret {
    /// The token of this secret, of a name and scopes, for all databases and collections until it is revoked.
    pub fn token(&self, name: &str, scopes: &[Scope]) -> Token {
        Token {
            name: name.to_owned(),
            digest: self.digest(),
            scopes: scopes.to_vec(),
            databases: Vec::new(),
            collections: Vec::new(),
            expires: None,
        }
    }
}
