//! `GET ../changes`: what becomes of a collection's documents, as [server-sent events](crate::events).
//!
//! - Each commit's changes come in its order, and the last of them has the commit's token as the event's id: who comes back with it
//!   (`Last-Event-ID`) hears each change once. What is too old to go on from is 410.
//! - With a filter, what is told is what becomes of its sight: a document that comes into it is an insert, one that leaves it a delete.
//! - A stream is told by the database's one [reader](crate::feed), and reads by itself what lies before that, or what it did not take in time.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use cairndb::internals::Equalities;
use cairndb::{Connection, Error, Position, Rules, SqlState};

use crate::app::App;
use crate::databases::Open;
use crate::events::{Attendance, Over, Sign, Step, Telling, response};
use crate::feed::{Backlog, Batch, Becomes, Document, InSight, News, Place, Question, Subscription, Told, What};
use crate::names::{Names, asked};
use crate::principal::{Principal, RULES_CHANGED};
use crate::problem::{Answer, Problem};
use crate::token::Scope;

pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    principal: Principal,
    names: Names,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let Names { database, collection, .. } = names;
    let open = app.documents(&principal, (&database, &collection), Scope::Read).await?;
    let (mut filter, mut since) = (None, None);
    for (name, value) in asked(query.as_deref(), &["filter", "since"])? {
        *(if name == "filter" { &mut filter } else { &mut since }) = Some(value);
    }
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let from = last.or(since.as_deref()).map(str::parse::<Position>).transpose()?;
    let wants = Wants { principal: principal.clone(), collection, filter };
    let (asks, feeds) = (wants.clone(), open.clone());
    let begin = move |connection: &Connection| asks.begin(connection, &feeds, from);
    let begun = open.feed.call(&open.database, begin).await.map_err(too_old)?;
    let Some((sees, source)) = begun else {
        let message = format!("collection \"{}\" has no change feed", wants.collection);
        let problem = Problem::new(StatusCode::CONFLICT, SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        return Err(problem.hint("ALTER TABLE .. SET (change_feed = on) gives it one."));
    };
    let sight = Sight {
        attendance: Attendance::new(app, principal),
        wants,
        sees,
        source: source.of,
        waiting: VecDeque::new(),
        heard: Place::behind(source.from),
        whole: source.from,
        told: source.from,
        is_ahead: false,
        open: open.clone(),
    };
    Ok(response(sight, &open))
}

/// The place is gone: who asks has to begin again. (Nothing else that is asked at the beginning fails so.)
pub(crate) fn too_old(error: Error) -> Problem {
    match error.sqlstate() {
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            let problem = Problem::new(StatusCode::GONE, error.sqlstate(), error.message());
            problem.hint("Read again what is followed, and listen without Last-Event-ID.")
        }
        _ => error.into(),
    }
}

/// What a client asks for.
#[derive(Clone)]
struct Wants {
    principal: Principal,
    collection: String,
    filter: Option<String>,
}

/// What he may be told of, and how that is found.
#[derive(Clone)]
struct Sees {
    /// Its table, whatever it is called.
    table: u32,
    /// Those by which he is told.
    rules: Option<Rules>,
    /// What is asked of documents for him, and others.
    question: Arc<Question>,
    /// All that the filter says, where it names values that documents have to have and nothing else.
    values: Option<Arc<Equalities>>,
}

/// Where changes come from.
enum Source {
    Told(Subscription),
    /// What lies before that is read first.
    Reading(Reading, Subscription),
    /// For as long as it takes to put another in its place.
    None,
}

/// A batch that is being read, and what reads on.
type Reading = Pin<Box<dyn Future<Output = Result<Box<(Backlog, Batch)>, Error>> + Send>>;

/// A source, and the place from which on it tells.
struct Begun {
    of: Source,
    from: Position,
}

impl Wants {
    /// Looks whether there is something to be told of, and listens. `None`: the collection has no change feed.
    fn begin(
        &self,
        connection: &Connection,
        open: &Arc<Open>,
        from: Option<Position>,
    ) -> Result<Option<(Sees, Begun)>, Error> {
        let collection = self.principal.collection(connection, &self.collection)?;
        // One that is none is told before the stream begins.
        let rules = self.principal.check_told(&collection, self.filter.as_deref())?;
        let Some(table) = collection.changed_table()? else { return Ok(None) };
        let values = self.filter.as_deref().map(|filter| Equalities::of(collection.info(), filter)).transpose()?;
        let (filter, claims) = (self.filter.as_deref(), self.principal.claims());
        let question = Arc::new(Question::new(&self.collection, filter, rules.as_ref(), claims));
        let sees = Sees { table: table.id, rules, question, values: values.flatten().map(Arc::new) };
        let begun = sees.listen(connection, open, from)?;
        Ok(Some((sees, begun)))
    }
}

impl Sees {
    /// Listens first, and looks from where on then: what is told of what lies before that is passed.
    fn listen(&self, connection: &Connection, open: &Arc<Open>, from: Option<Position>) -> Result<Begun, Error> {
        let database = connection.database();
        let subscription = open.feed.subscribe(database, self.table, self.values.clone())?;
        let Some(from) = from else {
            return Ok(Begun { of: Source::Told(subscription), from: connection.change_token()? });
        };
        let backlog = Backlog::begin(database, self.table, from)?;
        let from = backlog.token();
        Ok(Begun { of: Source::Reading(read(open.clone(), backlog), subscription), from })
    }
}

/// Reads what is next of a backlog.
fn read(open: Arc<Open>, mut backlog: Backlog) -> Reading {
    Box::pin(async move {
        let read = move |_: &Connection| {
            let batch = backlog.read()?;
            Ok(Box::new((backlog, batch)))
        };
        open.feed.call(&open.database, read).await
    })
}

/// What one client sees.
struct Sight {
    attendance: Attendance,
    wants: Wants,
    sees: Sees,
    source: Source,
    /// What was read, and not told yet.
    waiting: VecDeque<Read>,
    /// How far he has heard, and the last commit all of which he has.
    heard: Place,
    whole: Position,
    /// The token that the client has.
    told: Position,
    /// He has heard of something behind which there is no token yet.
    is_ahead: bool,
    /// Keeps the database open: let go of last.
    open: Arc<Open>,
}

enum Read {
    Change(Box<Told>),
    /// All up to there, and all of the commits up to the other.
    All(Place, Position),
}

enum Heard {
    Read(Read),
    Batch(Result<Box<(Backlog, Batch)>, Error>),
    News(News),
}

/// What is next; nothing is lost where this is dropped before that.
async fn next(waiting: &mut VecDeque<Read>, source: &mut Source) -> Heard {
    if let Some(read) = waiting.pop_front() {
        return Heard::Read(read);
    }
    match source {
        Source::Reading(reading, _) => Heard::Batch(reading.as_mut().await),
        Source::Told(subscription) => Heard::News(subscription.next().await),
        Source::None => std::future::pending().await,
    }
}

impl Telling for Sight {
    async fn step(&mut self) -> Step {
        let heard = tokio::select! {
            biased;
            sign = self.attendance.sign() => return self.attend(sign).await,
            heard = next(&mut self.waiting, &mut self.source) => heard,
        };
        match heard {
            Heard::Read(Read::Change(told)) => self.change(&told).await,
            Heard::Read(Read::All(place, whole)) => {
                if place.is_behind(&self.heard) {
                    self.heard = place;
                }
                Ok(self.pass(whole))
            }
            Heard::Batch(Ok(read)) => {
                let (backlog, batch) = *read;
                self.take(backlog, batch);
                Ok(None)
            }
            Heard::News(News::Change(told)) => self.change(&told).await,
            Heard::News(News::Passed(commit)) => Ok(self.pass(commit)),
            Heard::News(News::Behind) => self.listen_again().await,
            Heard::News(News::Over(None)) => Err(Over::silent()),
            Heard::News(News::Over(Some(error))) | Heard::Batch(Err(error)) => Err(over(error)),
        }
    }
}

/// An error that ends a stream.
fn over(error: Error) -> Over {
    match error.sqlstate() {
        SqlState::ADMIN_SHUTDOWN => Over::silent(),
        _ if error.message() == RULES_CHANGED => Over::end(RULES_CHANGED),
        _ => Over::failed(error),
    }
}

impl Sight {
    /// Says that it goes on, and from where: commits that tell nothing of this collection are passed, too.
    async fn attend(&mut self, sign: Sign) -> Step {
        self.attendance.check(sign).await?;
        // (Where it could not be looked, whoever tells of the next change looks again.)
        if let Err(error) = self.check_rules().await
            && error.sqlstate() == SqlState::INSUFFICIENT_PRIVILEGE
        {
            return Err(Over::end(RULES_CHANGED));
        }
        if let (Source::Told(subscription), true) = (&self.source, self.waiting.is_empty())
            && let Some(whole) = subscription.passed()
        {
            self.note(whole);
        }
        let id = self.id();
        Ok(Some(format!(":\n{id}\n").into()))
    }

    async fn check_rules(&mut self) -> Result<(), Error> {
        let Some(rules) = self.sees.rules.clone() else { return Ok(()) };
        let Wants { principal, collection, .. } = self.wants.clone();
        let check = move |connection: &Connection| {
            principal.check_rules(&principal.collection(connection, &collection)?, Some(&rules))
        };
        self.open.feed.call(&self.open.database, check).await
    }

    /// Goes on with what he has not heard, as one who comes back does.
    async fn listen_again(&mut self) -> Step {
        let (sees, open, from) = (self.sees.clone(), self.open.clone(), self.whole);
        let listen = move |connection: &Connection| sees.listen(connection, &open, Some(from));
        self.source = Source::None;
        self.source = self.open.feed.call(&self.open.database, listen).await.map_err(over)?.of;
        Ok(None)
    }

    /// Takes what was read, and reads on where there is more.
    fn take(&mut self, backlog: Backlog, batch: Batch) {
        self.source = match std::mem::replace(&mut self.source, Source::None) {
            Source::Reading(_, subscription) if batch.is_all => Source::Told(subscription),
            Source::Reading(_, subscription) => Source::Reading(read(self.open.clone(), backlog), subscription),
            source => source,
        };
        self.waiting.extend(batch.told.into_iter().map(|told| Read::Change(Box::new(told))));
        self.waiting.push_back(Read::All(batch.place, batch.whole));
    }

    /// All of the commits up to this one was heard.
    fn note(&mut self, whole: Position) {
        if whole > self.whole {
            self.whole = whole;
        }
        if Place::behind(whole).is_behind(&self.heard) {
            self.heard = Place::behind(whole);
        }
    }

    /// The same: who has heard something of it has its token, though its last change was none of this collection's, or out of sight.
    fn pass(&mut self, whole: Position) -> Option<Bytes> {
        self.note(whole);
        let id = if self.is_ahead { self.id() } else { String::new() };
        (!id.is_empty()).then(|| format!("{id}\n").into())
    }

    /// The line that tells the token; nothing where the client has it: the same one twice would have what stands between them left out.
    fn id(&mut self) -> String {
        if self.whole == self.told {
            return String::new();
        }
        self.told = self.whole;
        self.is_ahead = self.heard.is_behind(&Place::behind(self.told));
        format!("id: {}\n", self.told)
    }

    async fn change(&mut self, told: &Told) -> Step {
        if !told.place.is_behind(&self.heard) {
            return Ok(None);
        }
        let event = match &told.what {
            What::Document { old, new, .. } => {
                match self.becomes(told, old.as_ref(), new.as_ref()).await.map_err(over)? {
                    Some(becomes) => told.event(becomes),
                    None => Bytes::new(),
                }
            }
            What::Truncate => told.text("truncate", "{}"),
            What::End(why) => return Err(Over::told(told.text("end", &Over::message(why)))),
            What::Nothing => Bytes::new(),
        };
        self.heard = told.place;
        let is_told = !event.is_empty();
        self.is_ahead |= is_told;
        let Some(token) = told.token() else { return Ok(is_told.then_some(event)) };
        if is_told {
            (self.told, self.whole, self.is_ahead) = (token, token, false);
            return Ok(Some(event));
        }
        Ok(self.pass(token))
    }

    /// What a document becomes for him; `None`: he saw it neither before nor after.
    async fn becomes(
        &mut self,
        told: &Told,
        old: Option<&Document>,
        new: Option<&Document>,
    ) -> Result<Option<Becomes>, Error> {
        let values = self.sees.values.as_deref();
        let has_values =
            |document: &&Document| values.map_or(Ok(true), |values| values.are_met(&document.0, &document.2));
        let mut seen = [None, None];
        for (seen, document) in seen.iter_mut().zip([old, new]) {
            if let Some(document) = document
                && has_values(&document)?
            {
                *seen = Some(document.clone());
            }
        }
        let is_known = self.sees.rules.is_none() && (self.wants.filter.is_none() || values.is_some());
        let [old, new] = match seen {
            [None, None] => [false, false],
            seen if is_known => seen.map(|document| document.is_some()),
            seen => told.in_sight(&self.sees.question.clone(), self.find(seen)).await?,
        };
        Ok(match (old, new) {
            (false, false) => None,
            (false, true) => Some(Becomes::Insert),
            (true, true) => Some(Becomes::Update),
            (true, false) => Some(Becomes::Delete),
        })
    }

    /// Which of the documents are in sight: of the rule, and of the filter.
    async fn find(&mut self, documents: [Option<Document>; 2]) -> InSight {
        self.open.feed.count_question();
        let (Wants { principal, collection, filter }, rules) = (self.wants.clone(), self.sees.rules.clone());
        let find = move |connection: &Connection| {
            let collection = principal.collection(connection, &collection)?;
            principal.check_rules(&collection, rules.as_ref())?;
            let find = collection.find(filter.as_deref().unwrap_or("{}"));
            let [old, new] = documents
                .map(|document| document.map_or(Ok(false), |(id, version, doc)| find.finds(&id, version, &doc)));
            Ok([old?, new?])
        };
        self.open.feed.call(&self.open.database, find).await
    }
}
