//! Who asks, and what he may.
//!
//! It is asked before it is looked whether there is such a database, collection or document, and whoever may not learns nothing of that.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use cairndb::{Collection, Connection, Error, Jsonb, Rules, SqlState, Value};
use cairndb_async::Database;

use crate::app::App;
use crate::jwt::Claims;
use crate::problem::Problem;
use crate::token::{Scope, Token};

/// See the module.
#[derive(Clone)]
pub(crate) enum Principal {
    /// Anybody, where all are trusted, or of what everybody may know.
    Anybody,
    /// The holder of a token.
    Token(Arc<Token>),
    /// Who shows a JSON Web Token. It lets him do nothing but what rules of collections say of its claims.
    Claims(Arc<Claims>),
}

impl Principal {
    /// Whether he may ask what is of the server and of no database. SQLSTATE 42501.
    pub(crate) fn check_path(&self, path: &str) -> Result<(), Problem> {
        match self {
            Principal::Claims(_) if !path.starts_with("/db/") => {
                Err(refused("a JSON Web Token lets nobody ask this".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether he may. SQLSTATE 42501.
    pub(crate) fn check(&self, database: &str, collection: Option<&str>, scope: Scope) -> Result<(), Problem> {
        match self {
            Principal::Token(token) if !token.allows(database, collection, scope) => {
                let of = collection.map_or_else(String::new, |name| format!(" with collection \"{name}\""));
                Err(refused(format!("the token lets nobody {} in database \"{database}\"{of}", verb(scope))))
            }
            Principal::Claims(_) => Err(refused(UNRULED.to_owned())),
            _ => Ok(()),
        }
    }

    /// Whether he manages all of the server: what is of all databases is for nobody else. SQLSTATE 42501.
    pub(crate) fn check_all(&self) -> Result<(), Problem> {
        match self {
            Principal::Anybody => Ok(()),
            Principal::Token(token)
                if token.scopes.contains(&Scope::Manage)
                    && token.databases.is_empty()
                    && token.collections.is_empty() =>
            {
                Ok(())
            }
            _ => Err(refused("the token does not let all of the server be managed".to_owned())
                .hint("It takes the scope manage, for all databases and collections.")),
        }
    }

    /// The same, of a collection's documents, which are looked at through [`Principal::collection`].
    pub(crate) fn check_documents(&self, database: &str, collection: &str, scope: Scope) -> Result<(), Problem> {
        match self {
            Principal::Claims(claims) if claims.databases.is_empty() => Ok(()),
            Principal::Claims(claims) if claims.databases.iter().any(|name| name == database) => Ok(()),
            _ => self.check(database, Some(collection), scope),
        }
    }

    /// An error of opening a database for him.
    pub(crate) fn of_opening(&self, error: Error) -> Problem {
        match self {
            Principal::Claims(_) if error.sqlstate() == SqlState::INVALID_CATALOG_NAME => refused(UNRULED.to_owned()),
            _ => error.into(),
        }
    }

    /// A collection, as he sees it.
    pub(crate) fn collection<'c>(&self, connection: &'c Connection, name: &str) -> Result<Collection<'c>, Error> {
        let Principal::Claims(claims) = self else { return connection.collection(name) };
        connection.collection_for_claims(name, claims.claims.clone()).map_err(unruled)
    }

    /// The same, for what is about one document: it is answered where it is asked, if no rules have to be asked and nothing waited for.
    pub(crate) async fn documents(&self, database: &Database, name: &str) -> Result<cairndb_async::Collection, Error> {
        let Principal::Claims(claims) = self else { return database.collection(name).await };
        let collection = database.collection(name).await.map_err(unruled)?;
        match collection.info().has_rules() {
            true => Ok(collection.for_claims(claims.claims.clone())),
            false => Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, UNRULED)),
        }
    }

    /// What he comes with to rules.
    pub(crate) fn claims(&self) -> Option<&Jsonb> {
        match self {
            Principal::Claims(claims) => Some(&claims.claims),
            Principal::Anybody | Principal::Token(_) => None,
        }
    }

    /// Whether he may be told of what a filter finds, before he is; the rules by which he is, for who has claims.
    pub(crate) fn check_told(&self, collection: &Collection<'_>, filter: Option<&str>) -> Result<Option<Rules>, Error> {
        match self {
            Principal::Claims(_) => {
                collection.find(filter.unwrap_or("{}")).finds(&Value::Null, 0, &"{}".parse()?)?;
                collection.rules().map(Some)
            }
            Principal::Anybody | Principal::Token(_) => {
                filter.map_or(Ok(()), |filter| collection.find(filter).sql().map(drop))?;
                Ok(None)
            }
        }
    }

    /// Whether he still goes by these rules. SQLSTATE 42501 with [`RULES_CHANGED`].
    pub(crate) fn check_rules(&self, collection: &Collection<'_>, rules: Option<&Rules>) -> Result<(), Error> {
        match rules {
            Some(rules) if collection.rules()? != *rules => {
                Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, RULES_CHANGED))
            }
            _ => Ok(()),
        }
    }

    /// Whether statements of SQL may write.
    pub(crate) fn writes_sql(&self) -> bool {
        match self {
            Principal::Anybody => true,
            Principal::Token(token) => token.scopes.contains(&Scope::Write),
            Principal::Claims(_) => false,
        }
    }

    /// Whether he is told that there is a database of this name.
    pub(crate) fn knows_database(&self, name: &String) -> bool {
        match self {
            Principal::Anybody => true,
            Principal::Token(token) => token.databases.is_empty() || token.databases.contains(name),
            Principal::Claims(_) => false,
        }
    }

    /// From when on he is nobody.
    pub(crate) fn expires(&self) -> Option<SystemTime> {
        match self {
            Principal::Anybody => None,
            Principal::Token(token) => token.expires,
            Principal::Claims(claims) => Some(claims.expires),
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
            Principal::Claims(claims) => app.options().jwt.as_ref().is_some_and(|jwt| jwt.is_still(claims)),
        }
    }

    /// What tells apart who has shown something: the digest of his token.
    pub(crate) fn digest(&self) -> &str {
        match self {
            Principal::Token(token) => &token.digest,
            Principal::Anybody | Principal::Claims(_) => "",
        }
    }

    /// As the log names him.
    pub(crate) fn name(&self) -> &str {
        match self {
            Principal::Anybody => "",
            Principal::Token(token) => &token.name,
            Principal::Claims(claims) => &claims.name,
        }
    }
}

/// The same for a collection that has no rules and one that is not there; the library says so, too.
const UNRULED: &str = "the rules of the collection do not let this be done";

/// A collection that is not there is as one that has no rules.
fn unruled(error: Error) -> Error {
    match error.sqlstate() {
        SqlState::UNDEFINED_TABLE | SqlState::WRONG_OBJECT_TYPE => {
            Error::new(SqlState::INSUFFICIENT_PRIVILEGE, UNRULED)
        }
        _ => error,
    }
}

/// Why a stream ends.
pub(crate) const RULES_CHANGED: &str = "the rules of the collection have changed";

fn refused(message: String) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, SqlState::INSUFFICIENT_PRIVILEGE, message)
}

fn verb(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Write => "write",
        Scope::Manage => "manage",
        Scope::Sql => "run SQL",
        Scope::Tokens => "make tokens",
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Principal, Problem> {
        let principal = parts.extensions.get::<Principal>().cloned();
        principal.ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "a request that nobody let in").into())
    }
}
