//! The console: a page at `/`, and what only it asks for beside all that other clients ask.
//!
//! - The page is files of the binary (`cairn_console`), which anybody may read. They are told that they load nothing of elsewhere.
//! - Who shows a token there begins a session (`sessions.rs`). What it asks is asked for that token, which is looked up each time.
//! - A cookie alone lets nobody ask anything, so that a page of elsewhere, or whoever gets the cookies of another port of this machine, asks nothing:
//!   beside it a second secret has to be shown in a header. (A download, which a browser can ask for by an address alone, shows a ticket that was
//!   made so, once.)
//! - Who may run and write SQL in a database sees what others run there, and stops it (`activity.rs`).
//! - Whoever has a token that may make others makes, sees and revokes those that let do nothing more (`tokens.rs`).
//! - Results are kept for the session that ran the statement (`results.rs`), and end with it.

mod activity;
mod assist;
mod download;
mod history;
mod kept;
mod listen;
mod login;
mod page;
mod results;
mod sessions;
mod spool;
mod tokens;
mod told;
mod whole;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::app::App;

pub(crate) use kept::Charge;
pub(crate) use sessions::{Held, Session, Sessions};

/// The paths of the console.
pub(crate) fn routes(router: Router<Arc<App>>) -> Router<Arc<App>> {
    router
        .route("/", get(page::index))
        .route("/console/page/{file}", get(page::file))
        .route("/console/login", post(login::login))
        .route("/console/logout", post(login::logout))
        .route("/console/session", get(login::session))
        .route("/console/statements", post(assist::statements))
        .route("/console/results/{id}", get(results::page).delete(results::end))
        .route("/console/results/{id}/value", get(results::value))
        .route("/console/results/{id}/download", post(download::ticket))
        .route("/console/download", get(download::download))
        .route("/console/activity", get(activity::look))
        .route("/console/activity/cancel", post(activity::cancel))
        .route("/console/tokens", get(tokens::list).post(tokens::create))
        .route("/console/tokens/revoke", post(tokens::revoke))
        .route("/db/{database}/collections/{collection}/documents/{id}/console/history", get(history::tell))
        .route("/db/{database}/console/listen", post(listen::listen))
        .route("/db/{database}/console/copy", post(whole::copy))
        .route("/db/{database}/console/verify", post(whole::verify))
        .route("/db/{database}/console/run", post(results::run))
        .route("/db/{database}/console/complete", post(assist::complete))
}

/// Whether nobody has to be in to ask this: the page, and what looks itself who asks.
pub(crate) fn is_open(path: &str) -> bool {
    path == "/" || path.starts_with("/console/page/") || ["/console/login", "/console/download"].contains(&path)
}
