//! Which path leads where.

use std::sync::Arc;

use axum::Router;
use axum::http::header::HeaderName;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use cairndb::SqlState;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;

use crate::app::App;
use crate::console;
use crate::problem::Problem;
use crate::{
    aggregate, audit, batch, bulk, changes, collections, documents, feeds, guard, live, query, rules, sql, watched,
};

/// Everything.
pub(crate) fn all(app: &Arc<App>) -> Router {
    let collection = "/db/{database}/collections/{collection}";
    let of = |rest: &str| format!("{collection}{rest}");
    let router = Router::new()
        .route("/db", get(collections::databases))
        .route("/db/{database}/collections", get(collections::list))
        .route(collection, get(collections::describe).put(collections::create).delete(collections::remove))
        .route(&of("/indexes"), post(collections::index))
        .route(&of("/documents"), get(query::get).post(documents::insert))
        .route(&of("/query"), post(query::post))
        .route(&of("/aggregate"), post(aggregate::run))
        .route(
            &of("/documents/{id}"),
            get(documents::get).put(documents::put).patch(documents::patch).delete(documents::delete),
        )
        .route(&of("/schema"), get(collections::schema).put(collections::set_schema).delete(collections::remove_schema))
        .route(&of("/rules"), get(rules::get).put(rules::put).delete(rules::delete))
        .route(&of("/changes"), get(changes::stream))
        .route(&of("/bulk"), post(bulk::insert))
        .route("/db/{database}/batch", post(batch::run))
        .route("/db/{database}/sql", post(sql::run))
        .route("/db/{database}/changes", get(feeds::stream))
        .route("/db/{database}/live", get(live::get).post(live::post))
        .route("/audit", get(audit::list))
        .route("/openapi.json", get(watched::openapi));
    let router = if app.options().console { console::routes(router) } else { router };
    finished(watchers(router), app)
}

/// What watches a server, told to whoever asks.
pub(crate) fn of_watchers(app: &Arc<App>) -> Router {
    watchers(Router::new()).fallback(unknown).method_not_allowed_fallback(not_so).with_state(app.clone())
}

fn watchers(router: Router<Arc<App>>) -> Router<Arc<App>> {
    router
        .route("/metrics", get(watched::metrics))
        .route("/healthz", get(watched::healthz))
        .route("/readyz", get(watched::readyz))
}

fn finished(router: Router<Arc<App>>, app: &Arc<App>) -> Router {
    let router = router.fallback(unknown).method_not_allowed_fallback(not_so);
    let router = router.layer(from_fn_with_state(app.clone(), guard::guard)).layer(CompressionLayer::new());
    let origins = &app.options().origins;
    match origins.is_empty() {
        true => router.with_state(app.clone()),
        false => router.layer(cors(origins)).with_state(app.clone()),
    }
}

/// What pages of these origins may ask, and read of an answer.
fn cors(origins: &[String]) -> CorsLayer {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let asked: [HeaderName; 5] = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        HeaderName::from_static("last-event-id"),
    ];
    let told = [header::ETAG, header::LOCATION, header::RETRY_AFTER];
    CorsLayer::new().allow_origin(origins).allow_methods(methods).allow_headers(asked).expose_headers(told)
}

async fn unknown() -> Problem {
    Problem::missing("there is nothing under this path").hint("docs/http.md says what there is.")
}

async fn not_so() -> Problem {
    let message = "this path is not asked by this method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, SqlState::FEATURE_NOT_SUPPORTED, message)
}
