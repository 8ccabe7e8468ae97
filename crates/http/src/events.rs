//! Server-sent events ([HTML](https://html.spec.whatwg.org/multipage/server-sent-events.html)): a body that goes on, and what ends it whatever it tells.
//!
//! - It ends when its token does, when that is revoked, when its database is dropped by force, and when the server ends.
//! - An event is made when the connection has room for it: a client that takes nothing has none made for it, and is let go of by its connection.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
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
use crate::databases::Open;
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
        Over(Some(Over::text(why)))
    }

    fn text(why: &str) -> Bytes {
        format!("event: end\ndata: {}\n\n", Over::message(why)).into()
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

/// An answer that goes on, about a database.
pub(crate) fn response(of: impl Telling, database: &Open) -> Response<Body> {
    let slot = Arc::new(Mutex::new(Slot { stage: Stage::On(next(of)), waker: None }));
    database.streams.add(slot.clone());
    let mut response = Response::new(Body::from_stream(Events(slot)));
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
struct Events<T>(Arc<Mutex<Slot<T>>>);

/// What a body has to tell, until somebody else ends it.
struct Slot<T> {
    stage: Stage<T>,
    /// Who is waiting for it.
    waker: Option<Waker>,
}

enum Stage<T> {
    On(Told<T>),
    /// This is told, and nothing more.
    Last(Option<Bytes>),
}

impl<T: Telling> Stream for Events<T> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = match &mut slot.stage {
            Stage::Last(last) => return Poll::Ready(last.take().map(Ok)),
            Stage::On(told) => told,
        };
        let Poll::Ready((of, told)) = told.as_mut().poll(context) else {
            slot.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let (stage, event) = match told {
            Ok(event) => (Stage::On(next(of)), Some(event)),
            Err(Over(last)) => (Stage::Last(None), last),
        };
        slot.stage = stage;
        Poll::Ready(event.map(Ok))
    }
}

/// What can be ended from outside, whether or not its client takes anything.
trait Ending: Send + Sync {
    fn end(&self, last: Bytes);
}

impl<T: Telling> Ending for Mutex<Slot<T>> {
    fn end(&self, last: Bytes) {
        let mut slot = self.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = slot.waker.take();
        let told = match &slot.stage {
            Stage::On(_) => std::mem::replace(&mut slot.stage, Stage::Last(Some(last))),
            Stage::Last(_) => return,
        };
        drop(slot);
        // (It lets go of the database.)
        drop(told);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The answers about a database that go on.
#[derive(Default)]
pub(crate) struct Streams(Mutex<Known>);

#[derive(Default)]
struct Known {
    all: Vec<Weak<dyn Ending>>,
    /// Why there are to be none.
    over: Option<&'static str>,
}

impl Streams {
    fn add(&self, stream: Arc<impl Ending + 'static>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = known.over {
            drop(known);
            return stream.end(Over::text(why));
        }
        if known.all.len() == known.all.capacity() {
            known.all.retain(|stream| stream.strong_count() > 0);
        }
        let stream: Arc<dyn Ending> = stream;
        known.all.push(Arc::downgrade(&stream));
    }

    /// Ends all that there are, and those that are about to begin.
    pub(crate) fn end(&self, why: &'static str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.over = Some(why);
        let all = std::mem::take(&mut known.all);
        drop(known);
        all.iter().filter_map(Weak::upgrade).for_each(|stream| stream.end(Over::text(why)));
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
