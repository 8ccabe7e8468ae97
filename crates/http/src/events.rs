//! Server-sent events ([HTML](https://html.spec.whatwg.org/multipage/server-sent-events.html)): a body that goes on, and what ends it whatever it tells.
//!
//! - It ends when its token does, when that is revoked, and when the server ends.
//! - A client that takes nothing is let go of by its connection; until then no more is made for it than a few events.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{self, HeaderValue};
use cairndb::Error;
use futures_core::Stream;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::app::App;
use crate::principal::Principal;
use crate::problem::Problem;

/// Events that are made ahead of who takes them.
const AHEAD: usize = 16;
/// How often who hears nothing hears that it goes on, and it is looked whether his token still is one.
const PULSE: Duration = Duration::from_secs(5);

/// The stream is over: nobody takes it any more, or it said why.
pub(crate) struct Over;

/// Where a stream's events go.
pub(crate) struct Outlet(Sender<Bytes>);

/// An answer that goes on, and where its events are to be put.
pub(crate) fn response() -> (Response<Body>, Outlet) {
    let (events, taken) = channel(AHEAD);
    let mut response = Response::new(Body::from_stream(Events(taken)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (response, Outlet(events))
}

/// The body: events as they are taken.
struct Events(Receiver<Bytes>);

impl Stream for Events {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

impl Outlet {
    /// Puts what is whole events, or comments.
    pub(crate) async fn send(&self, text: impl Into<Bytes>) -> Result<(), Over> {
        self.0.send(text.into()).await.map_err(|_| Over)
    }

    /// Tells why nothing more comes.
    pub(crate) async fn end(&self, why: &str) -> Over {
        let _ = self.send(format!("event: end\ndata: {}\n\n", json!({ "message": why }))).await;
        Over
    }

    /// The same, of an error.
    pub(crate) async fn fail(&self, error: Error) -> Over {
        let problem = Problem::from(error).body();
        let _ = self.send(format!("event: error\ndata: {problem}\n\n")).await;
        Over
    }
}

/// What a stream has to look to beside what it tells.
pub(crate) struct Attendance {
    app: Arc<App>,
    principal: Principal,
    stopping: watch::Receiver<bool>,
    expiry: Option<Instant>,
    pulse: Interval,
}

/// What it came to.
pub(crate) enum Sign {
    /// Nobody listens, or the server ends.
    Over,
    Expired,
    /// It is time to say that it goes on, once it was [looked](Attendance::check) whether it does.
    Pulse,
}

impl Attendance {
    pub(crate) fn new(app: Arc<App>, principal: Principal) -> Attendance {
        let expiry = principal.expires().map(until);
        let mut pulse = interval_at(Instant::now() + PULSE, PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Attendance { stopping: app.stopping.clone(), app, principal, expiry, pulse }
    }

    /// The next thing to look to; may be dropped before it is ready.
    pub(crate) async fn sign(&mut self, outlet: &Outlet) -> Sign {
        tokio::select! {
            () = outlet.0.closed() => Sign::Over,
            _ = self.stopping.changed() => Sign::Over,
            () = expired(self.expiry) => Sign::Expired,
            _ = self.pulse.tick() => Sign::Pulse,
        }
    }

    /// Looks to it; ready and `Ok` when it is time to say that it goes on.
    pub(crate) async fn check(&self, sign: Sign, outlet: &Outlet) -> Result<(), Over> {
        match sign {
            Sign::Over => Err(Over),
            Sign::Expired => Err(outlet.end("the token has expired").await),
            Sign::Pulse if self.principal.is_still(&self.app).await => Ok(()),
            Sign::Pulse => Err(outlet.end("the token is another, or none any more").await),
        }
    }
}

fn until(time: SystemTime) -> Instant {
    Instant::now() + time.duration_since(SystemTime::now()).unwrap_or_default()
}

async fn expired(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
