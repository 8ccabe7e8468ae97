//! Who asks, and what he may.
//!
//! It is asked before it is looked whether there is such a database, collection or document, and whoever may not learns nothing of that.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use cairndb::{Collection, Connection, Error, SqlState};

use crate::app::App;
use crate::problem::Problem;
use crate::token::{Scope, Token};

/// See the module.
#[derive(Clone)]
pub(crate) enum Principal {
    /// Anybody, where all are trusted, or of what everybody may know.
    Anybody,
    /// The holder of a token.
    Token(Arc<Token>),
}

impl Principal {
    /// Whether he may. SQLSTATE 42501.
    pub(crate) fn check(&self, database: &str, collection: Option<&str>, scope: Scope) -> Result<(), Problem> {
        match self {
            Principal::Token(token) if !token.allows(database, collection, scope) => {
                let of = collection.map_or_else(String::new, |name| format!(" with collection \"{name}\""));
                Err(refused(format!("the token lets nobody {} in database \"{database}\"{of}", verb(scope))))
            }
            _ => Ok(()),
        }
    }

    /// The same, of a collection's documents, which are looked at through [`Principal::collection`].
    pub(crate) fn check_documents(&self, database: &str, collection: &str, scope: Scope) -> Result<(), Problem> {
        self.check(database, Some(collection), scope)
    }

    /// A collection, as he sees it.
    pub(crate) fn collection<'c>(&self, connection: &'c Connection, name: &str) -> Result<Collection<'c>, Error> {
        connection.collection(name)
    }

    /// Whether statements of SQL may write.
    pub(crate) fn writes_sql(&self) -> bool {
        match self {
            Principal::Anybody => true,
            Principal::Token(token) => token.scopes.contains(&Scope::Write),
        }
    }

    /// Whether he is told that there is a database of this name.
    pub(crate) fn knows_database(&self, name: &String) -> bool {
        match self {
            Principal::Anybody => true,
            Principal::Token(token) => token.databases.is_empty() || token.databases.contains(name),
        }
    }

    /// From when on he is nobody.
    pub(crate) fn expires(&self) -> Option<SystemTime> {
        match self {
            Principal::Anybody => None,
            Principal::Token(token) => token.expires,
        }
    }

    /// Whether what he has shown still lets him do the same.
    pub(crate) async fn is_still(&self, app: &App) -> bool {
        match self {
            Principal::Anybody => true,
            Principal::Token(token) => {
                let known = app.tokens.of_digest(&app.options().tokens, &token.digest).await;
                known.is_ok_and(|known| known.is_some_and(|known| known == *token))
            }
        }
    }

    /// As the log names him.
    pub(crate) fn name(&self) -> &str {
        match self {
            Principal::Anybody => "",
            Principal::Token(token) => &token.name,
        }
    }
}

fn refused(message: String) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, SqlState::INSUFFICIENT_PRIVILEGE, message)
}

fn verb(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Write => "write",
        Scope::Manage => "manage",
        Scope::Sql => "run SQL",
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Principal, Problem> {
        let principal = parts.extensions.get::<Principal>().cloned();
        principal.ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "a request that nobody let in").into())
    }
}
