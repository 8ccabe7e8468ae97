//! What all requests have.

use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use cairn_server::Services;
use cairndb::{Error, SqlState};
use cairndb_async::Database;
use tokio::sync::watch;

use crate::databases::{Databases, Open};
use crate::options::Options;
use crate::problem::Problem;
use crate::token::{Scope, Token};
use crate::tokens::Tokens;
use crate::watched::Counts;

pub(crate) struct App {
    pub(crate) services: Services,
    options: RwLock<Arc<Options>>,
    pub(crate) databases: Databases,
    pub(crate) tokens: Tokens,
    pub(crate) counts: Counts,
    /// Changes when the server ends.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(services: Services, options: Options, stopping: watch::Receiver<bool>) -> Result<App, Error> {
        let own = services.own().map(|own| Database::over(own.clone(), &cairndb_async::Options::default().workers(1)));
        let databases = Databases::new(services.clone(), options.workers);
        Ok(App {
            services,
            options: RwLock::new(Arc::new(options)),
            databases,
            tokens: Tokens::new(own.transpose()?),
            counts: Counts::default(),
            stopping,
        })
    }

    /// As they are by now.
    pub(crate) fn options(&self) -> Arc<Options> {
        self.options.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_options(&self, options: Options) {
        *self.options.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(options);
    }

    /// A database, for who may do this in it.
    pub(crate) async fn database(
        &self,
        principal: &Principal,
        (name, collection): (&str, Option<&str>),
        scope: Scope,
    ) -> Result<Arc<Open>, Problem> {
        principal.check(self.services.name(name), collection, scope)?;
        if self.services.own().is_some_and(|own| own.name() == self.services.name(name)) {
            let message = "the server's own database is not served over HTTP";
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).into());
        }
        Ok(self.databases.get(self.services.name(name)).await?)
    }
}

/// Who asks: the holder of a token, or, where all are trusted, anybody.
#[derive(Clone)]
pub(crate) struct Principal(pub(crate) Option<Arc<Token>>);

impl Principal {
    /// Whether he may; it is asked before it is looked whether there is such a database or collection. SQLSTATE 42501.
    pub(crate) fn check(&self, database: &str, collection: Option<&str>, scope: Scope) -> Result<(), Problem> {
        match &self.0 {
            Some(token) if !token.allows(database, collection, scope) => {
                let of = collection.map_or_else(String::new, |name| format!(" with collection \"{name}\""));
                let message = format!("the token lets nobody {} in database \"{database}\"{of}", verb(scope));
                Err(Problem::new(StatusCode::FORBIDDEN, SqlState::INSUFFICIENT_PRIVILEGE, message))
            }
            _ => Ok(()),
        }
    }

    /// As the log names him.
    pub(crate) fn name(&self) -> &str {
        self.0.as_ref().map_or("", |token| &token.name)
    }
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
