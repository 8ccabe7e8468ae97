//! A handler of the same library that does nothing but read bodies as JSON and give them back: what a server of documents is measured beside
//! (`cairn-bench documents --bare`).
//!
//! ```sh
//! cargo run --release -p cairn-http --example bare -- 127.0.0.1:8081
//! ```

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode, header};
use axum::routing::{get, post};
use hyper_util::rt::TokioIo;
use tokio::sync::broadcast;

fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}

async fn given_back(State(told): State<Told>, body: Bytes) -> Response<Body> {
    match serde_json::from_slice::<serde_json::Value>(&body) {
        Ok(document) => {
            let document = document.to_string();
            if told.receiver_count() > 0 {
                let _ = told.send(format!("event: insert\ndata: {{\"doc\":{document}}}\n\n").into());
            }
            json(StatusCode::OK, document.into_bytes())
        }
        Err(error) => json(StatusCode::BAD_REQUEST, error.to_string().into_bytes()),
    }
}

/// Hands what is sent to whoever listens.
type Told = broadcast::Sender<Bytes>;

/// What comes, as it comes.
struct Listening(Pin<Box<dyn Future<Output = Heard> + Send>>);

/// Who listens, and what he has heard.
type Heard = (broadcast::Receiver<Bytes>, Option<Bytes>);

fn next(mut told: broadcast::Receiver<Bytes>) -> Listening {
    Listening(Box::pin(async move {
        let event = told.recv().await.ok();
        (told, event)
    }))
}

impl futures_core::Stream for Listening {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (told, event) = std::task::ready!(self.0.as_mut().poll(context));
        *self = next(told);
        Poll::Ready(event.map(Ok))
    }
}

async fn changes(State(told): State<Told>) -> Body {
    Body::from_stream(next(told.subscribe()))
}

/// A document of 1 KiB.
async fn read() -> Response<Body> {
    json(StatusCode::OK, format!(r#"{{"text": "{}"}}"#, "x".repeat(1010)).into_bytes())
}

async fn deleted() -> StatusCode {
    StatusCode::NO_CONTENT
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8081".to_owned());
    let documents = "/db/{database}/collections/{collection}/documents";
    let router = Router::new()
        .route(documents, post(given_back))
        .route(&format!("{documents}/{{id}}"), get(read).put(given_back).delete(deleted))
        .route("/db/{database}/collections/{collection}/changes", get(changes))
        .with_state(broadcast::channel(1024).0);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(&address).await?;
        eprintln!("a bare handler answers at http://{address}");
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let router = router.clone();
            let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                tower::ServiceExt::oneshot(router.clone(), request.map(Body::new))
            });
            tokio::spawn(async move {
                // A client that goes away is no more than that.
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}
