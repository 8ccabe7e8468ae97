//! Server-sent events ([HTML](https://html.spec.whatwg.org/multipage/server-sent-events.html)): a body that goes on, and what ends it whatever it tells.
//!
//! - It ends when its token does, when that is revoked, and when the server ends.
//! - An event is made when the connection has room for it: a client that takes nothing has none made for it, and is let go of by its connection.

use std::convert::Infallible;
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
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::app::App;
use crate::principal::Principal;
use crate::problem::Problem;

/// How often who hears nothing hears that it goes on, and it is looked whether his token still is one.
const PULSE: Duration = Duration::from_secs(5);

/// The stream is over, with what is told last.
pub(crate) struct Over(Option<Bytes>);

impl Over {
    pub(crate) fn silent() -> Over {
        Over(None)
    }

    /// It has told why.
    pub(crate) fn told(event: Bytes) -> Over {
        Over(Some(event))
    }

    /// Tells why nothing more comes.
    pub(crate) fn end(why: &str) -> Over {
        Over(Some(format!("event: end\ndata: {}\n\n", Over::message(why)).into()))
    }

    /// The same, of an error.
    pub(crate) fn failed(error: Error) -> Over {
        Over(Some(format!("event: error\ndata: {}\n\n", Problem::from(error).body()).into()))
    }

    /// What an `end` has for data.
    pub(crate) fn message(why: &str) -> String {
        json!({ "message": why }).to_string()
    }
}

/// What is told next, whole events or comments; nothing: it has to be asked again.
pub(crate) type Step = Result<Option<Bytes>, Over>;

/// What tells.
pub(crate) trait Telling: Send + Sized + 'static {
    /// Waits for what is told next.
    fn step(&mut self) -> impl Future<Output = Step> + Send;
}

/// An answer that goes on.
pub(crate) fn response(of: impl Telling) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(Events(Some(next(of)))));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What is told next, and what tells on.
type Told<T> = Pin<Box<dyn Future<Output = (T, Result<Bytes, Over>)> + Send>>;

fn next<T: Telling>(mut of: T) -> Told<T> {
    Box::pin(async move {
        loop {
            match of.step().await {
                Ok(Some(event)) => return (of, Ok(event)),
                Ok(None) => {}
                Err(over) => return (of, Err(over)),
            }
        }
    })
}

/// The body: events as they are taken.
struct Events<T>(Option<Told<T>>);

impl<T: Telling> Stream for Events<T> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(told) = &mut self.0 else { return Poll::Ready(None) };
        let (of, told) = std::task::ready!(told.as_mut().poll(context));
        let (on, event) = match told {
            Ok(event) => (Some(next(of)), Some(event)),
            Err(Over(last)) => (None, last),
        };
        self.0 = on;
        Poll::Ready(event.map(Ok))
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
    /// The server ends.
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
    pub(crate) async fn sign(&mut self) -> Sign {
        tokio::select! {
            _ = self.stopping.changed() => Sign::Over,
            () = expired(self.expiry) => Sign::Expired,
            _ = self.pulse.tick() => Sign::Pulse,
        }
    }

    /// Looks to it; ready and `Ok` when it is time to say that it goes on.
    pub(crate) async fn check(&mut self, sign: Sign) -> Result<(), Over> {
        match sign {
            Sign::Over => Err(Over::silent()),
            Sign::Expired => Err(Over::end("the token has expired")),
            Sign::Pulse if self.principal.is_still(&self.app).await => Ok(()),
            Sign::Pulse => Err(Over::end("the token is another, or none any more")),
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
