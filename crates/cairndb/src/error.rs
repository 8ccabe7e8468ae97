//! One error type: PostgreSQL's SQLSTATE codes and message shapes.

use crate::sync::Mutex;
use std::collections::BTreeSet;
use std::fmt;

mod feature;
mod named;

pub(crate) use feature::Feature;

/// A five-character SQLSTATE code, PostgreSQL's (appendix A of its manual). Its constants can be matched:
///
/// ```
/// use cairndb::SqlState;
///
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// # conn.execute_script("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")?;
/// let error = conn.execute("INSERT INTO t VALUES (1)", ()).unwrap_err();
/// match error.sqlstate() {
///     SqlState::UNIQUE_VIOLATION => assert_eq!(error.sqlstate().to_string(), "23505"),
///     other => panic!("{other}"),
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub &'static str);

impl SqlState {
    /// The five characters.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl SqlState { $(#[doc = concat!("`", $code, "`")] pub const $name: SqlState = SqlState($code);)* }
    };
}
codes! {
    SUCCESSFUL_COMPLETION = "00000";
    WARNING = "01000";
    CONNECTION_FAILURE = "08006";
    TRANSACTION_RESOLUTION_UNKNOWN = "08007";
    PROTOCOL_VIOLATION = "08P01";
    FEATURE_NOT_SUPPORTED = "0A000";
    CARDINALITY_VIOLATION = "21000";
    DATA_EXCEPTION = "22000";
    STRING_DATA_RIGHT_TRUNCATION = "22001";
    NUMERIC_VALUE_OUT_OF_RANGE = "22003";
    NULL_VALUE_NOT_ALLOWED = "22004";
    ERROR_IN_ASSIGNMENT = "22005";
    INVALID_DATETIME_FORMAT = "22007";
    DATETIME_FIELD_OVERFLOW = "22008";
    INVALID_TIME_ZONE_DISPLACEMENT_VALUE = "22009";
    INVALID_USE_OF_ESCAPE_CHARACTER = "2200C";
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED = "2200H";
    SUBSTRING_ERROR = "22011";
    DIVISION_BY_ZERO = "22012";
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = "22013";
    INVALID_ARGUMENT_FOR_NTILE = "22014";
    INTERVAL_FIELD_OVERFLOW = "22015";
    INVALID_ARGUMENT_FOR_NTH_VALUE = "22016";
    INVALID_REGULAR_EXPRESSION = "2201B";
    INVALID_ARGUMENT_FOR_LOGARITHM = "2201E";
    INVALID_ARGUMENT_FOR_POWER_FUNCTION = "2201F";
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION = "2201G";
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE = "2201W";
    INVALID_ROW_COUNT_IN_OFFSET_CLAUSE = "2201X";
    INVALID_BYTE_SEQUENCE = "22021";
    INVALID_PARAMETER_VALUE = "22023";
    INVALID_ESCAPE_SEQUENCE = "22025";
    ARRAY_SUBSCRIPT_ERROR = "2202E";
    INVALID_TABLESAMPLE_REPEAT = "2202G";
    INVALID_TABLESAMPLE_ARGUMENT = "2202H";
    INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION = "22031";
    INVALID_SQL_JSON_SUBSCRIPT = "22033";
    NON_NUMERIC_SQL_JSON_ITEM = "22036";
    SINGLETON_SQL_JSON_ITEM_REQUIRED = "22038";
    SQL_JSON_ARRAY_NOT_FOUND = "22039";
    SQL_JSON_NUMBER_NOT_FOUND = "2203B";
    SQL_JSON_OBJECT_NOT_FOUND = "2203C";
    INVALID_TEXT_REPRESENTATION = "22P02";
    INVALID_BINARY_REPRESENTATION = "22P03";
    BAD_COPY_FILE_FORMAT = "22P04";
    UNTRANSLATABLE_CHARACTER = "22P05";
    NOT_NULL_VIOLATION = "23502";
    FOREIGN_KEY_VIOLATION = "23503";
    UNIQUE_VIOLATION = "23505";
    CHECK_VIOLATION = "23514";
    INVALID_CURSOR_STATE = "24000";
    INVALID_TRANSACTION_STATE = "25000";
    ACTIVE_SQL_TRANSACTION = "25001";
    READ_ONLY_SQL_TRANSACTION = "25006";
    NO_ACTIVE_SQL_TRANSACTION = "25P01";
    IN_FAILED_SQL_TRANSACTION = "25P02";
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03";
    TRANSACTION_TIMEOUT = "25P04";
    INVALID_SQL_STATEMENT_NAME = "26000";
    TRIGGERED_DATA_CHANGE_VIOLATION = "27000";
    INVALID_AUTHORIZATION_SPECIFICATION = "28000";
    INVALID_PASSWORD = "28P01";
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01";
    INVALID_TRANSACTION_TERMINATION = "2D000";
    FUNCTION_EXECUTED_NO_RETURN_STATEMENT = "2F005";
    INVALID_CURSOR_NAME = "34000";
    EXTERNAL_ROUTINE_EXCEPTION = "38000";
    EXTERNAL_ROUTINE_INVOCATION_EXCEPTION = "39000";
    INVALID_SAVEPOINT_SPECIFICATION = "3B001";
    INVALID_CATALOG_NAME = "3D000";
    INVALID_SCHEMA_NAME = "3F000";
    SERIALIZATION_FAILURE = "40001";
    DEADLOCK_DETECTED = "40P01";
    INSUFFICIENT_PRIVILEGE = "42501";
    SYNTAX_ERROR = "42601";
    INVALID_NAME = "42602";
    INVALID_COLUMN_DEFINITION = "42611";
    DUPLICATE_COLUMN = "42701";
    AMBIGUOUS_COLUMN = "42702";
    UNDEFINED_COLUMN = "42703";
    UNDEFINED_OBJECT = "42704";
    DUPLICATE_OBJECT = "42710";
    DUPLICATE_ALIAS = "42712";
    DUPLICATE_FUNCTION = "42723";
    AMBIGUOUS_FUNCTION = "42725";
    GROUPING_ERROR = "42803";
    DATATYPE_MISMATCH = "42804";
    WRONG_OBJECT_TYPE = "42809";
    INVALID_FOREIGN_KEY = "42830";
    CANNOT_COERCE = "42846";
    UNDEFINED_FUNCTION = "42883";
    GENERATED_ALWAYS = "428C9";
    RESERVED_NAME = "42939";
    UNDEFINED_TABLE = "42P01";
    UNDEFINED_PARAMETER = "42P02";
    DUPLICATE_CURSOR = "42P03";
    DUPLICATE_DATABASE = "42P04";
    DUPLICATE_PREPARED_STATEMENT = "42P05";
    DUPLICATE_SCHEMA = "42P06";
    DUPLICATE_TABLE = "42P07";
    INVALID_COLUMN_REFERENCE = "42P10";
    INVALID_CURSOR_DEFINITION = "42P11";
    INVALID_FUNCTION_DEFINITION = "42P13";
    INVALID_SCHEMA_DEFINITION = "42P15";
    INVALID_TABLE_DEFINITION = "42P16";
    INVALID_OBJECT_DEFINITION = "42P17";
    INDETERMINATE_DATATYPE = "42P18";
    INVALID_RECURSION = "42P19";
    WINDOWING_ERROR = "42P20";
    WITH_CHECK_OPTION_VIOLATION = "44000";
    INSUFFICIENT_RESOURCES = "53000";
    DISK_FULL = "53100";
    OUT_OF_MEMORY = "53200";
    TOO_MANY_CONNECTIONS = "53300";
    CONFIGURATION_LIMIT_EXCEEDED = "53400";
    PROGRAM_LIMIT_EXCEEDED = "54000";
    STATEMENT_TOO_COMPLEX = "54001";
    TOO_MANY_COLUMNS = "54011";
    TOO_MANY_ARGUMENTS = "54023";
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000";
    OBJECT_IN_USE = "55006";
    CANT_CHANGE_RUNTIME_PARAM = "55P02";
    QUERY_CANCELED = "57014";
    ADMIN_SHUTDOWN = "57P01";
    CANNOT_CONNECT_NOW = "57P03";
    IDLE_SESSION_TIMEOUT = "57P05";
    IO_ERROR = "58030";
    UNDEFINED_FILE = "58P01";
    DUPLICATE_FILE = "58P02";
    SNAPSHOT_TOO_OLD = "72000";
    NO_DATA_FOUND = "P0002";
    INTERNAL_ERROR = "XX000";
    DATA_CORRUPTED = "XX001";
}

impl SqlState {
    /// A code that SQL made up. Each is kept for good, once.
    pub(crate) fn interned(code: &str) -> SqlState {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock();
        if let Some(known) = known.get(code) {
            return SqlState(known);
        }
        let code: &'static str = Box::leak(code.into());
        known.insert(code);
        SqlState(code)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What went wrong, in PostgreSQL's terms. The message reads as PostgreSQL's would.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute("CREATE TABLE t (id int CONSTRAINT positive CHECK (id > 0))", ())?;
/// let error = conn.execute("INSERT INTO t VALUES (-1)", ()).unwrap_err();
/// assert_eq!(error.sqlstate(), cairndb::SqlState::CHECK_VIOLATION);
/// assert_eq!((error.constraint(), error.context()), (Some("positive"), None));
/// assert_eq!((error.schema(), error.table()), (Some("public"), Some("t")));
/// assert_eq!((error.column(), error.data_type()), (None, None));
/// assert_eq!(error.detail(), Some("Failing row contains (-1)."));
/// let error = conn.execute("SELECT lenght('x')", ()).unwrap_err();
/// assert_eq!((error.message(), error.position()), ("function lenght(unknown) does not exist", Some(8)));
/// assert_eq!(error.hint(), Some("Perhaps you meant the function \"length\"."));
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone)]
pub struct Error(Box<Parts>);

#[derive(Clone)]
struct Parts {
    code: SqlState,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<usize>,
    constraint: Option<String>,
    context: Option<String>,
    /// The context is of calls: what is around the statement is yet to be said.
    of_calls: bool,
    about: About,
}

/// Calls within calls tell no more of where they come from.
const CONTEXT_BYTES_MAX: usize = 16 << 10;

/// What an error is about, besides a constraint.
#[derive(Clone, Debug, Default)]
struct About {
    schema: Option<String>,
    table: Option<String>,
    column: Option<String>,
    data_type: Option<String>,
    routine: Option<&'static str>,
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error without detail, hint or position.
    ///
    /// ```
    /// use cairndb::{Error, SqlState};
    ///
    /// let error = Error::new(SqlState("P0001"), "no more tickets")
    ///     .with_detail("All 100 are sold.")
    ///     .with_hint("Come back tomorrow.")
    ///     .with_constraint("tickets_left")
    ///     .with_context("buying a ticket")
    ///     .with_schema("shop")
    ///     .with_table("ticket")
    ///     .with_column("seat")
    ///     .with_data_type("seat_number")
    ///     .at(8);
    /// assert_eq!(error.to_string(), "no more tickets");
    /// ```
    pub fn new(code: SqlState, message: impl Into<String>) -> Error {
        let message = message.into();
        let (detail, hint, position, constraint, context) = (None, None, None, None, None);
        let about = About::default();
        Error(Box::new(Parts { code, message, detail, hint, position, constraint, context, of_calls: false, about }))
    }
    /// Something of the database is damaged: says what tells more, and what saves the rest.
    pub(crate) fn damaged(message: impl Into<String>) -> Error {
        Error::new(SqlState::DATA_CORRUPTED, message).with_hint(
            "\"cairn verify FILE\" reads every page and tells what is damaged, \"cairn salvage FILE TARGET\" saves what is left into a new database; have a backup at hand.",
        )
    }

    /// Something not supported: SQLSTATE 0A000.
    ///
    /// ```
    /// assert_eq!(cairndb::Error::unsupported("a fourth dimension").message(), "a fourth dimension is not supported");
    /// ```
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }
    /// A broken invariant of ours: SQLSTATE XX000.
    ///
    /// ```
    /// assert_eq!(cairndb::Error::internal("it can not be").sqlstate().as_str(), "XX000");
    /// ```
    pub fn internal(what: impl fmt::Display) -> Error {
        Error::new(SqlState::INTERNAL_ERROR, what.to_string())
    }
    /// Adds the DETAIL line.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }
    /// Adds the HINT line.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }
    /// `position`: 1-based, in characters of the statement's text.
    pub fn at(mut self, position: usize) -> Error {
        self.0.position.get_or_insert(position);
        self
    }
    /// Of a text that stands elsewhere in the user's: where its position is there.
    pub(crate) fn moved(mut self, position: impl FnOnce(usize) -> usize) -> Error {
        self.0.position = self.0.position.map(position);
        self
    }
    /// Names the constraint that was violated.
    pub fn with_constraint(mut self, name: impl Into<String>) -> Error {
        self.0.constraint = Some(name.into());
        self
    }
    /// Names the schema of what it is about.
    pub fn with_schema(mut self, name: impl Into<String>) -> Error {
        self.0.about.schema = Some(name.into());
        self
    }
    /// Names the table that it is about.
    pub fn with_table(mut self, name: impl Into<String>) -> Error {
        self.0.about.table = Some(name.into());
        self
    }
    /// Names the column that it is about.
    pub fn with_column(mut self, name: impl Into<String>) -> Error {
        self.0.about.column = Some(name.into());
        self
    }
    /// Names the data type that it is about.
    pub fn with_data_type(mut self, name: impl Into<String>) -> Error {
        self.0.about.data_type = Some(name.into());
        self
    }
    /// Says what was going on around it, unless that was said closer to it.
    pub fn with_context(mut self, context: impl Into<String>) -> Error {
        match &mut self.0.context {
            // What called what is around the statement in it.
            Some(known) if std::mem::take(&mut self.0.of_calls) => {
                known.push('\n');
                known.push_str(&context.into());
            }
            known => drop(known.get_or_insert_with(|| context.into())),
        }
        self
    }
    /// Adds what has called what it came from, as the next line of the context.
    pub(crate) fn called_from(mut self, call: &str) -> Error {
        match &mut self.0.context {
            // Calls within calls, without an end.
            Some(known) if known.len() > CONTEXT_BYTES_MAX => return self,
            Some(known) => {
                known.push('\n');
                known.push_str(call);
            }
            None => self.0.context = Some(call.to_owned()),
        }
        self.0.of_calls = true;
        self
    }
    /// The code.
    pub fn sqlstate(&self) -> SqlState {
        self.0.code
    }
    /// The text, without severity.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// More about what happened.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
    /// What the user can do.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// Where in the statement, 1-based, in characters.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }
    /// What was going on around it: `COPY t, line 3, column a: "x"`.
    pub fn context(&self) -> Option<&str> {
        self.0.context.as_deref()
    }
    /// The constraint that was violated.
    pub fn constraint(&self) -> Option<&str> {
        self.0.constraint.as_deref()
    }
    /// The schema of the table or data type that it is about.
    pub fn schema(&self) -> Option<&str> {
        self.0.about.schema.as_deref()
    }
    /// The table that it is about: the one whose constraint was violated.
    pub fn table(&self) -> Option<&str> {
        self.0.about.table.as_deref()
    }
    /// The column that it is about.
    pub fn column(&self) -> Option<&str> {
        self.0.about.column.as_deref()
    }
    /// The data type that it is about: the domain whose condition was violated.
    pub fn data_type(&self) -> Option<&str> {
        self.0.about.data_type.as_deref()
    }
    /// The routine of PostgreSQL's source that says the same, for the few errors that clients tell from others by it:
    /// `RevalidateCachedQuery` where a prepared statement's columns are others now (asyncpg and pgjdbc prepare it again).
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (a int); PREPARE q AS SELECT * FROM t; ALTER TABLE t ADD b int")?;
    /// let error = conn.execute("EXECUTE q", ()).unwrap_err();
    /// assert_eq!((error.sqlstate().as_str(), error.routine()), ("0A000", Some("RevalidateCachedQuery")));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn routine(&self) -> Option<&'static str> {
        self.0.about.routine
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {}: {}", self.0.code.0, self.0.message)?;
        for (name, part) in [("DETAIL", &self.0.detail), ("HINT", &self.0.hint), ("CONTEXT", &self.0.context)] {
            if let Some(part) = part {
                write!(f, " {name}: {part}")?;
            }
        }
        Ok(())
    }
}
impl std::error::Error for Error {}

impl From<cairn_storage::Error> for Error {
    fn from(error: cairn_storage::Error) -> Error {
        match SqlState(error.sqlstate()) {
            SqlState::DATA_CORRUPTED => Error::damaged(error.to_string()),
            code => {
                let told = Error::new(code, error.to_string());
                match error {
                    cairn_storage::Error::Busy { is_read: true, .. } => told.with_hint(
                        "Whoever has it only reads it: it can be opened beside him by who only reads it, too \
                        (Options::read_only, --read-only).",
                    ),
                    _ => told,
                }
            }
        }
    }
}
