//! What all requests have.

use std::sync::{Arc, PoisonError, RwLock};

use cairn_server::Services;
use cairndb::{Error, SqlState};
use cairndb_async::{Database, Pool};
use tokio::sync::watch;

use crate::console::{Charge, Sessions};
use crate::databases::{Databases, Open};
use crate::options::Options;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::token::Scope;
use crate::tokens::Tokens;
use crate::watched::Counts;

pub(crate) struct App {
    pub(crate) services: Services,
    options: RwLock<Arc<Options>>,
    pub(crate) databases: Databases,
    pub(crate) tokens: Tokens,
    pub(crate) counts: Counts,
    /// Of the console.
    pub(crate) sessions: Sessions,
    /// What results that are kept for it take.
    pub(crate) charge: Charge,
    /// Changes when the server ends.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(services: Services, options: Options, stopping: watch::Receiver<bool>) -> Result<App, Error> {
        services.own().map_or(Ok(()), Tokens::forget_logins)?;
        let own = services.own().map(|own| Database::over(own.clone(), &cairndb_async::Options::default().workers(1)));
        let pool = options.workers.map_or_else(|| Pool::sized(options.workers_max), Pool::fixed);
        let databases = Databases::new(services.clone(), pool, options.queue);
        Ok(App {
            services,
            options: RwLock::new(Arc::new(options)),
            databases,
            tokens: Tokens::new(own.transpose()?),
            counts: Counts::default(),
            sessions: Sessions::default(),
            charge: Charge::default(),
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
        self.open(principal, name).await
    }

    /// The same, for documents of a collection, looked at through [`Principal::collection`].
    pub(crate) async fn documents(
        &self,
        principal: &Principal,
        (name, collection): (&str, &str),
        scope: Scope,
    ) -> Result<Arc<Open>, Problem> {
        principal.check_documents(self.services.name(name), collection, scope)?;
        self.open(principal, name).await
    }

    async fn open(&self, principal: &Principal, name: &str) -> Result<Arc<Open>, Problem> {
        if self.services.own().is_some_and(|own| own.name() == self.services.name(name)) {
            let message = "the server's own database is not served over HTTP";
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).into());
        }
        self.databases.get(self.services.name(name)).await.map_err(|error| principal.of_opening(error))
    }
}
