//! A request about a database or a collection: who asks, what its path names, and what it says besides.
//!
//! Whoever may not is refused before it is looked whether there is what is asked for, and before a body is taken.

use std::fmt::Display;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::HeaderMap;
use axum::http::request::Parts;
use cairn_server::Level;
use cairndb::{Collection, Connection, Error};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::body;
use crate::collections::said;
use crate::databases::Open;
use crate::names::Names;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::token::Scope;

/// See the module.
pub(crate) struct Asking {
    pub(crate) app: Arc<App>,
    pub(crate) principal: Principal,
    pub(crate) names: Names,
    pub(crate) headers: HeaderMap,
}

impl FromRequestParts<Arc<App>> for Asking {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Asking, Problem> {
        let principal = Principal::from_request_parts(parts, app).await?;
        let names = Names::from_request_parts(parts, app).await?;
        // (What is behind has its own copy of what it looks at.)
        Ok(Asking { app: app.clone(), principal, names, headers: std::mem::take(&mut parts.headers) })
    }
}

impl Asking {
    /// The database, for who may do this in all of what the path names: the collection, or where that names none the database.
    pub(crate) async fn database(&self, scope: Scope) -> Result<Arc<Open>, Problem> {
        let collection = (!self.names.collection.is_empty()).then_some(self.names.collection.as_str());
        self.app.database(&self.principal, (&self.names.database, collection), scope).await
    }

    /// The database, for who may do this with some of the collection's documents.
    pub(crate) async fn documents(&self, scope: Scope) -> Result<Arc<Open>, Problem> {
        self.app.documents(&self.principal, (&self.names.database, &self.names.collection), scope).await
    }

    /// Tells the log that something was done to the database, and whose token did it.
    pub(crate) fn log(&self, event: &str, more: &[(&str, &dyn Display)]) {
        let token = self.principal.name();
        let own: [(_, &dyn Display); 2] = [("database", &self.names.database), ("token", &token)];
        self.app.services.log(Level::Info, event, &[&own[..], more].concat());
    }

    /// The collection, as who asks sees it.
    pub(crate) async fn collection(&self, open: &Open) -> Result<cairndb_async::Collection, Error> {
        self.principal.documents(&open.database, &self.names.collection).await
    }

    /// Does something with all of the collection, for who may.
    pub(crate) async fn with_collection<T: Send + 'static>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Collection<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let (open, name) = (self.database(scope).await?, self.names.collection.clone());
        Ok(open.database.call(move |connection: &Connection| work(&connection.collection(&name)?)).await?)
    }

    /// The body, which is of one of these types.
    pub(crate) async fn text(&self, known: &[&str], body: Body) -> Result<String, Problem> {
        body::check_kind(&self.headers, known)?;
        let options = self.app.options();
        body::text(body, options.body_bytes, options.request_timeout).await
    }

    /// What a small body of JSON says; nothing is as `{}`.
    pub(crate) async fn said<T: DeserializeOwned>(&self, body: Body) -> Result<T, Problem> {
        said(&self.app, &self.headers, body).await
    }
}
