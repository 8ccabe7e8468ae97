//! What somebody shows who may come in, and what it lets him do.
//!
//! A secret is 256 random bits; what is kept of it is its SHA-256, from which nobody gets back to it. (Of a password one would need more: it can be
//! guessed.) A digest is looked up as it is: where two differ first tells nothing of a secret.

use std::fmt;
use std::time::SystemTime;

use cairndb::{Error, SqlState};
use sha2::{Digest, Sha256};

/// What a secret begins with, so that it is known where it should not be.
const BEGINS: &str = "cairn_";

/// A kind of what a token lets somebody do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Documents, queries and changes of collections.
    Read,
    /// Changes of documents.
    Write,
    /// Collections come, go and get indexes.
    Manage,
    /// Statements of SQL, in all of a database; to read only, where there is no [`Scope::Write`] beside it.
    Sql,
    /// Tokens that let do nothing but what this one does are listed, made and revoked.
    Tokens,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 5] = [Scope::Read, Scope::Write, Scope::Manage, Scope::Sql, Scope::Tokens];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Manage => "manage",
            Scope::Sql => "sql",
            Scope::Tokens => "tokens",
        }
    }

    /// That of a name.
    ///
    /// # Errors
    ///
    /// 22023 where there is none.
    pub fn of(name: &str) -> Result<Scope, Error> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name).ok_or_else(|| {
            let message = format!("\"{name}\" is no scope of a token");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint("There are read, write, manage, sql and tokens.")
        })
    }
}

/// What is known of a token that somebody may show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is called, in the log for example.
    pub name: String,
    /// The SHA-256 of its secret, in hexadecimal.
    pub digest: String,
    /// What it lets do.
    pub scopes: Vec<Scope>,
    /// In which databases; none: in all.
    pub databases: Vec<String>,
    /// With which collections, as requests name them; none: with all.
    pub collections: Vec<String>,
    /// Until when; `None`: until it is revoked.
    pub expires: Option<SystemTime>,
}

/// What a client shows. It is told once, to who makes it.
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A new one.
    ///
    /// # Errors
    ///
    /// 58030 where the system has no randomness.
    ///
    /// ```
    /// let secret = cairn_http::Secret::random()?;
    /// assert!(secret.text().starts_with("cairn_") && secret.digest().len() == 64);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn random() -> Result<Secret, Error> {
        let mut bytes = [0; 32];
        let failed = |error| Error::new(SqlState::IO_ERROR, format!("could not use the system's randomness: {error}"));
        getrandom::fill(&mut bytes).map_err(failed)?;
        Ok(Secret(format!("{BEGINS}{}", hex(&bytes))))
    }

    /// What is shown.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn digest(&self) -> String {
        digest(&self.0)
    }
}

/// Whether it looks like the secret of a token.
pub(crate) fn is_of_tokens(secret: &str) -> bool {
    secret.starts_with(BEGINS)
}

/// What is kept of a secret.
pub(crate) fn digest(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Token {
    /// Whether it is one that may be.
    ///
    /// # Errors
    ///
    /// 22023 where it lets nothing be done, or says that of some collections what would be of all.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |why: &str, hint: &str| {
            let message = format!("token \"{}\" {why}", self.name);
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint))
        };
        if self.digest.len() != 64 || !self.digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return wrong(
                "has a digest that is none",
                "It is what cairn token create has told, 64 hexadecimal digits.",
            );
        }
        if self.scopes.is_empty() {
            return wrong("has no scope", "Give it some of read, write, manage, sql and tokens.");
        }
        if !self.collections.is_empty() && self.scopes.contains(&Scope::Sql) {
            return wrong("is for some collections and for SQL", "SQL reaches all of a database: make two tokens.");
        }
        Ok(())
    }

    /// Whether whoever has this one may make, see and revoke the other: it lets do less than this one, for no longer, and is none that makes others.
    pub(crate) fn covers(&self, other: &Token) -> bool {
        let within = |all: &[String], some: &[String]| {
            all.is_empty() || !some.is_empty() && some.iter().all(|name| all.contains(name))
        };
        let lasts_no_longer = self.expires.is_none_or(|until| other.expires.is_some_and(|other| other <= until));
        self.scopes.contains(&Scope::Tokens)
            && other.scopes.iter().all(|scope| *scope != Scope::Tokens && self.scopes.contains(scope))
            && within(&self.databases, &other.databases)
            && within(&self.collections, &other.collections)
            && lasts_no_longer
    }

    /// Its time is over.
    pub(crate) fn has_expired(&self) -> bool {
        self.expires.is_some_and(|until| SystemTime::now() >= until)
    }

    pub(crate) fn allows(&self, database: &str, collection: Option<&str>, scope: Scope) -> bool {
        let has = |all: &[String], name: &str| all.is_empty() || all.iter().any(|each| each == name);
        let fits = match collection {
            Some(collection) => has(&self.collections, collection),
            None => self.collections.is_empty(),
        };
        self.scopes.contains(&scope) && has(&self.databases, database) && fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(scopes: &[Scope], databases: &[&str], collections: &[&str]) -> Token {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        Token {
            name: "t".to_owned(),
            digest: digest("x"),
            scopes: scopes.to_vec(),
            databases: texts(databases),
            collections: texts(collections),
            expires: None,
        }
    }

    #[test]
    fn a_token_lets_do_what_it_names_and_nothing_else() {
        let all = token(&[Scope::Read], &[], &[]);
        assert!(all.allows("a", Some("c"), Scope::Read) && all.allows("a", None, Scope::Read));
        assert!(!all.allows("a", None, Scope::Write) && !all.allows("a", None, Scope::Sql));
        let one = token(&[Scope::Read, Scope::Write], &["a"], &["c"]);
        assert!(one.allows("a", Some("c"), Scope::Write));
        assert!(!one.allows("b", Some("c"), Scope::Read) && !one.allows("a", Some("d"), Scope::Read));
        assert!(!one.allows("a", None, Scope::Read), "what is of a whole database");
        assert!(token(&[Scope::Sql], &[], &["c"]).check().is_err() && token(&[], &[], &[]).check().is_err());
    }

    #[test]
    fn a_token_covers_what_lets_do_less_and_no_longer() {
        let soon = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000);
        let mut maker = token(&[Scope::Read, Scope::Write, Scope::Tokens], &["a", "b"], &[]);
        assert!(maker.covers(&token(&[Scope::Read], &["a"], &["c"])));
        for other in [
            token(&[Scope::Read], &[], &[]),
            token(&[Scope::Read], &["a", "z"], &[]),
            token(&[Scope::Sql], &["a"], &[]),
            token(&[Scope::Tokens], &["a"], &[]),
        ] {
            assert!(!maker.covers(&other), "{other:?}");
        }
        maker.expires = Some(soon);
        let mut other = token(&[Scope::Read], &["a"], &[]);
        assert!(!maker.covers(&other), "it would last longer");
        other.expires = maker.expires;
        assert!(maker.covers(&other));
        maker.collections = vec!["c".to_owned()];
        assert!(!maker.covers(&other), "it would be for all collections");
        maker.scopes = vec![Scope::Read];
        other.collections = vec!["c".to_owned()];
        assert!(!maker.covers(&other), "nobody has said that it makes others");
    }

    #[test]
    fn secrets_are_shown_to_nobody_who_prints_them() {
        let secret = Secret::random().unwrap();
        assert_eq!(format!("{secret:?}"), "Secret");
        assert_ne!(secret.digest(), Secret::random().unwrap().digest());
        assert_eq!(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
