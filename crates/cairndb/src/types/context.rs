//! What values' meaning depends on besides themselves: the clock and the session's time zone.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::time::Duration;

use cairn_storage::{Stats, TreeId};

use super::style::TextStyle;
use super::{Builds, DataType, ObjectId, OidNames, Reg, RegValue, Server, Uses, Value};
use crate::types::Generator;
use crate::{Error, Result, SqlState};

/// What a function or conversion may depend on besides its arguments.
///
/// ```
/// use cairndb::{EvalContext, Value, to_text};
///
/// let mut context = EvalContext::now();
/// context.time_zone = "Asia/Tokyo".into();
/// assert_eq!(to_text(&Value::TimestampTz(0), &context), "2000-01-01 09:00:00+09");
/// assert_eq!(context.transaction_timestamp, context.statement_timestamp);
/// ```
#[derive(Clone, Debug, Default)]
pub struct EvalContext {
    /// The transaction's start: what `now()` and `current_date` say. Microseconds since 2000-01-01 UTC.
    pub transaction_timestamp: i64,
    /// The statement's start, for `statement_timestamp()`.
    pub statement_timestamp: i64,
    /// The session's time zone.
    pub time_zone: ZoneName,
    /// How the session reads and writes texts.
    pub(crate) style: TextStyle,
    /// This with the default style, where the session's is another one.
    plain: Option<Arc<EvalContext>>,
    /// The session's settings, for `current_setting()`; none where there is no session.
    pub(crate) settings: Option<Arc<dyn ShownSettings>>,
    /// The session's part in the channels, for `pg_notify()`; none where there is no session.
    pub(crate) channels: Option<Arc<dyn SessionServices>>,
    /// What the session knows by names, for WHERE CURRENT OF and lists of it; none where there is no session.
    pub(crate) names: Option<Weak<dyn SessionNames>>,
    /// What oids are called, where no function runs that may change it; `None`: they have no names here.
    oid_names: Option<Arc<dyn OidNames>>,
    /// The calls of the schema's functions; `None`: there are none, or they are not to be called here.
    pub(crate) calls: Option<Arc<dyn FunctionCalls>>,
}

/// The calls of the schema's functions, as far as values ask: what a function is, and who runs it, is known above
/// (`functions::Calls`, which this is).
pub(crate) trait FunctionCalls: Any + fmt::Debug + Send + Sync {
    /// What oids are called as far as the statements that have run have got.
    fn oid_names(&self) -> Arc<dyn OidNames>;
}

/// What the session is.
impl EvalContext {
    /// What the database is called.
    pub(crate) fn database_name(&self) -> Result<Arc<str>> {
        let session = self.channels.as_ref().ok_or_else(|| Error::unsupported("a database's name in this place"))?;
        session.database_name()
    }

    /// As whom the session has come in over a server; `None`: there is none.
    pub(crate) fn user(&self) -> Option<&str> {
        self.channels.as_ref()?.server().map(|server| server.user())
    }

    /// The number of the transaction, or of the statement on its own: no other of the database has it, and those that ask later have larger
    /// ones. Where it has none, it gets one if `assign` says so.
    pub(crate) fn transaction_number(&self, assign: bool) -> Result<Option<i64>> {
        let session =
            self.channels.as_ref().ok_or_else(|| Error::unsupported("a transaction's number in this place"))?;
        session.transaction_number(self.transaction_timestamp, assign)
    }

    /// The session's number: a server's, else the process's.
    pub(crate) fn process(&self) -> i32 {
        self.channels.as_ref().map_or_else(|| std::process::id().cast_signed(), |session| session.process())
    }
}

/// Settings by name, as SHOW tells them.
pub(crate) trait ShownSettings: fmt::Debug + Send + Sync {
    /// `None`: there is no setting of this name, which is in lower case.
    fn shown(&self, name: &str) -> Option<String>;

    /// What would be shown, were the setting of this name, in lower case, set to the value. SQLSTATE 42704, 22023, 42501.
    fn shown_with(&self, name: &str, value: &str) -> Result<String>;
}

/// What `set_config()` asks for, which the session does when the statement has come to its end.
#[derive(Clone, Debug)]
pub(crate) struct SettingChange {
    /// In lower case.
    pub(crate) name: String,
    pub(crate) value: String,
    /// Until the transaction ends.
    pub(crate) local: bool,
    /// How it is shown from now on.
    pub(crate) shown: String,
}

/// What a session knows by names: cursors, and what PREPARE made.
pub(crate) trait SessionNames: fmt::Debug + Send + Sync {
    /// The key of the row of a table, which has this name, that a cursor is on. SQLSTATE 34000, 24000.
    /// `table` with the number of its last change.
    fn key_of_current(&self, cursor: &str, table: (ObjectId, u64), table_name: &str) -> Result<Vec<Value>>;

    /// The cursors, by name. SQLSTATE 55006 while rows of one are read.
    fn cursors(&self) -> Result<Vec<ListedCursor>>;

    /// The prepared statements, by name.
    fn prepared(&self) -> Vec<ListedStatement>;
}

/// A cursor as it is listed.
pub(crate) struct ListedCursor {
    pub(crate) name: String,
    pub(crate) statement: String,
    pub(crate) hold: bool,
    pub(crate) scroll: bool,
    /// Microseconds since 2000-01-01 UTC.
    pub(crate) made: i64,
}

/// A prepared statement as it is listed.
pub(crate) struct ListedStatement {
    pub(crate) name: String,
    pub(crate) statement: String,
    /// Microseconds since 2000-01-01 UTC.
    pub(crate) made: i64,
    pub(crate) parameters: Vec<DataType>,
    /// PREPARE has made it, not a client's protocol.
    pub(crate) is_of_sql: bool,
    /// How often it was executed.
    pub(crate) executions: u64,
}

/// What functions do with what the sessions of a database share: channels, advisory locks, the file; and their time.
pub(crate) trait SessionServices: fmt::Debug + Send + Sync {
    /// The session's number: a server's, else the process's.
    fn process(&self) -> i32;

    /// The number of the transaction that began then, which gets one if it has none and `assign` says so.
    fn transaction_number(&self, begun: i64, assign: bool) -> Result<Option<i64>>;

    /// To be told when the transaction commits. SQLSTATE 22023, 54000.
    fn notify(&self, channel: &str, payload: &str) -> Result<()>;

    /// The channels to which the session listens.
    fn listening(&self) -> Vec<Arc<str>>;

    /// The setting is changed from the end of the statement on; functions are told its new value at once.
    fn change_setting(&self, change: SettingChange);

    /// How a setting is shown that the statement has changed so far.
    fn changed_setting(&self, name: &str) -> Option<String>;

    /// How a setting was shown when the session began.
    fn first_setting(&self, name: &str) -> Option<String>;

    /// Locks a number that sessions have agreed upon; false: it is not to be waited for. SQLSTATE 40P01, 57014.
    fn lock(&self, number: Advisory, shared: bool, scope: LockScope, waits: bool) -> Result<bool>;

    /// Gives it back; false: the session has not locked it.
    fn unlock(&self, number: Advisory, shared: bool) -> bool;

    /// Gives back all that the session has locked.
    fn unlock_all(&self);

    /// The numbers that sessions of the database have locked or wait for: whether shared, and whether it has been got.
    fn locked(&self) -> Vec<(Advisory, bool, bool)>;

    /// What the database counted.
    fn counted(&self) -> Result<Stats>;

    /// The database's builds of indexes that run.
    fn builds(&self) -> Result<Arc<Builds>>;

    /// How often the database's tables and indexes were used since it was opened.
    fn uses(&self) -> Result<HashMap<ObjectId, Uses>>;

    /// Tells the client, with the statement's answer. SQLSTATE 01000.
    fn warn(&self, message: String);

    /// What the session's `random()` draws from.
    fn random(&self) -> &Generator;

    /// Does nothing for so long. SQLSTATE 57014 where the statement is to end before.
    fn sleep(&self, time: Duration) -> Result<()>;

    /// Bytes of a tree's pages, all of which are read.
    fn tree_bytes(&self, tree: TreeId) -> Result<u64>;

    /// Bytes of the database's pages and of the log that is needed.
    fn database_bytes(&self) -> Result<u64>;

    /// What the database is called.
    fn database_name(&self) -> Result<Arc<str>>;

    /// The server, of a session that has come in over one.
    fn server(&self) -> Option<&Arc<dyn Server>>;

    /// Fails when the session's statement was cancelled or its time is up. SQLSTATE 57014.
    fn check(&self) -> Result<()>;
}

/// A number that is locked by agreement: one of 64 bits, or two of 32, which are others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Advisory {
    One(i64),
    Two(i32, i32),
}

/// When a lock is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockScope {
    /// When it is said, or the session ends.
    Session,
    /// When the transaction ends.
    Transaction,
}

/// IANA name of a time zone; UTC, unless said otherwise. Cheap to clone.
///
/// ```
/// let zone = cairndb::ZoneName::from("Europe/Berlin");
/// assert_eq!((zone.to_string().as_str(), &*cairndb::ZoneName::default()), ("Europe/Berlin", "UTC"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneName(Option<Arc<str>>);

impl fmt::Display for ZoneName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl From<&str> for ZoneName {
    fn from(name: &str) -> ZoneName {
        ZoneName((name != "UTC").then(|| name.into()))
    }
}

impl Deref for ZoneName {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.as_deref().unwrap_or("UTC")
    }
}

impl EvalContext {
    /// A context in UTC whose transaction and statement begin now.
    pub fn now() -> EvalContext {
        let now = super::datetime::clock_micros();
        EvalContext::began(now, now)
    }

    /// A context in UTC whose transaction and statement began then.
    pub(crate) fn began(transaction_timestamp: i64, statement_timestamp: i64) -> EvalContext {
        EvalContext { transaction_timestamp, statement_timestamp, ..EvalContext::default() }
    }

    /// The same, in a transaction and a statement that began then.
    pub(crate) fn at(&self, transaction_timestamp: i64, statement_timestamp: i64) -> EvalContext {
        EvalContext { transaction_timestamp, statement_timestamp, plain: None, ..self.clone() }.with_style(self.style)
    }

    /// Takes what a session says: its time zone, its style, its settings by name, its part in the channels, and what it knows by names.
    pub(crate) fn of_session(
        mut self,
        zone: &ZoneName,
        style: TextStyle,
        settings: Arc<dyn ShownSettings>,
        channels: Arc<dyn SessionServices>,
        names: Weak<dyn SessionNames>,
    ) -> EvalContext {
        self.time_zone = zone.clone();
        self.settings = Some(settings);
        self.channels = Some(channels);
        self.names = Some(names);
        self.with_style(style)
    }

    /// The same, reading and writing texts in this style.
    pub(crate) fn with_style(mut self, style: TextStyle) -> EvalContext {
        (self.style, self.plain) = (TextStyle::default(), None);
        if style != self.style {
            self.plain = Some(Arc::new(self.clone()));
            self.style = style;
        }
        self
    }

    /// Oids have these names.
    pub(crate) fn know_oids(&mut self, names: Arc<dyn OidNames>) {
        if let Some(plain) = &mut self.plain {
            Arc::make_mut(plain).oid_names = Some(names.clone());
        }
        self.oid_names = Some(names);
    }

    /// A `regclass` or one of its kin from its text. SQLSTATE of what is not there: 42P01, 42704, 42883, 3F000.
    pub(crate) fn read_oid(&self, of: Reg, text: &str) -> Result<RegValue> {
        let number = match (parse_number(text.trim())?, &self.calls, &self.oid_names) {
            (Some(number), _, _) => number,
            (None, Some(calls), _) => calls.oid_names().read_name(of, text)?,
            (None, None, Some(names)) => names.read_name(of, text)?,
            (None, None, None) => return Err(Error::unsupported(format!("the name of a {} in this place", of.name()))),
        };
        Ok(RegValue::of_number(of, number))
    }

    /// Appends a `regclass` or one of its kin: its name; the number where it has none.
    pub(crate) fn write_oid(&self, value: RegValue, out: &mut String) {
        match (&self.calls, &self.oid_names) {
            _ if value.oid == 0 => out.push('-'),
            (Some(calls), _) => out.push_str(&calls.oid_names().name(value.of, value.number())),
            (None, Some(names)) => out.push_str(&names.name(value.of, value.number())),
            // Writing to a String cannot fail.
            (None, None) => _ = write!(out, "{}", value.oid),
        }
    }

    /// The same, with these calls of the schema's functions.
    pub(crate) fn with_function_calls(&self, calls: Option<Arc<dyn FunctionCalls>>) -> EvalContext {
        EvalContext { calls, plain: None, ..self.clone() }.with_style(self.style)
    }

    /// What is stored (a generated column, a key of an index) is computed in: the same for every session's style.
    #[inline]
    pub(crate) fn of_stored(&self) -> &EvalContext {
        self.plain.as_deref().unwrap_or(self)
    }

    /// For functions that may take long: fails when the statement was cancelled or its time is up. SQLSTATE 57014.
    pub(crate) fn check(&self) -> Result<()> {
        self.channels.as_ref().map_or(Ok(()), |channels| channels.check())
    }
}

/// An oid that is written as a number, or `-`, which is none. SQLSTATE 22003.
fn parse_number(text: &str) -> Result<Option<i64>> {
    match text {
        "-" => Ok(Some(0)),
        _ if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(None),
        _ => text.parse::<u32>().map(|oid| Some(oid.into())).map_err(|_| {
            let message = format!("value \"{text}\" is out of range for type oid");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        }),
    }
}
