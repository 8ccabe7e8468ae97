//! Portals of a client's protocol: cursors that it opens over statements of any kind, and reads itself.
//!
//! - Portals and cursors share their names: FETCH, MOVE and CLOSE know portals, `pg_cursors` lists them, and the protocol executes and
//!   closes what DECLARE has made.
//! - A portal's statement is run when rows are asked for first, whoever asks; rows come once, in their order.
//! - It ends with its transaction, with the savepoint that it was opened behind, and when the protocol says that it is over.

use std::sync::Arc;
use std::time::Instant;

use super::Session;
use super::cursor::Cursor;
use super::cursors::not_to_be_run;
use super::execute::Runnable;
use crate::exec::{ExecContext, ScrolledRows};
use crate::plan::Field;
use crate::prepared::Prepared;
use crate::result::Rows;
use crate::sql::ParsedStatement;
use crate::state::Reader;
use crate::{Error, Result, SqlState, Value};

/// FETCH from a portal that is a FETCH from a portal, and so on: how many may be in one another.
const NESTED_MAX: usize = 16;

/// How far a portal was run: see [`Connection::take_portal`](crate::Connection::take_portal).
///
/// ```
/// use cairndb::{PortalState, Value};
///
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let statement = conn.prepare("SELECT $1::int")?;
/// conn.open_portal("p", Some(&statement), &"SELECT ..".into(), vec![Value::Integer(5)])?;
/// assert!(matches!(conn.take_portal("p")?, Some(PortalState::New(values)) if values == [Value::Integer(5)]));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub enum PortalState {
    /// It was not; the values of its parameters.
    New(Vec<Value>),
    /// Rows of its result are left.
    Begun(Box<Begun>),
    /// It is over; what its rows were a result of, where it had rows, of which more may be asked for.
    Over(Option<&'static str>),
}

/// A result of which rows are given.
///
/// ```
/// let conn = cairndb::Database::open_in_memory()?.connect()?;
/// let mut executed = conn.perform("SELECT 1", ())?;
/// let rows = executed.take_rows().expect("rows");
/// let begun = cairndb::Begun { command: executed.command(), affected: Some(executed.affected()), rows };
/// assert_eq!((begun.command, begun.rows.count_so_far()), ("SELECT", 0));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Begun {
    /// The first words of its command tag.
    pub command: &'static str,
    /// What the tag counts; `None`: some of the rows were given before, and it counts those that were given last.
    pub affected: Option<u64>,
    /// Those that are left.
    pub rows: Rows,
}

/// What a cursor reads.
pub(super) enum CursorRows {
    /// Of a query that DECLARE or a function has opened.
    Scrolled(Box<ScrolledRows>),
    Portal(Portal),
}

/// See the module.
pub(super) struct Portal {
    /// `None`: nothing that SQL could run.
    runnable: Option<Runnable>,
    /// `None`: it returns no rows.
    fields: Option<Vec<Field>>,
    /// `None`: the protocol runs it.
    state: Option<PortalState>,
}

impl CursorRows {
    /// With all that the statement gives, however little of it is told.
    pub(super) fn fields(&self) -> &[Field] {
        match self {
            CursorRows::Scrolled(rows) => rows.fields(),
            CursorRows::Portal(portal) => portal.fields.as_deref().unwrap_or_default(),
        }
    }

    pub(super) fn returns_rows(&self) -> bool {
        !matches!(self, CursorRows::Portal(Portal { fields: None, .. }))
    }

    /// Whether it reads what was there when it began to.
    pub(super) fn is_begun(&self) -> bool {
        match self {
            CursorRows::Scrolled(_) => true,
            CursorRows::Portal(portal) => matches!(portal.state, Some(PortalState::Begun(_))),
        }
    }

    pub(super) fn is_new_portal(&self) -> bool {
        matches!(self, CursorRows::Portal(Portal { state: Some(PortalState::New(_)), .. }))
    }

    /// Whether there is nothing to be asked of it any more.
    pub(super) fn is_spent(&self) -> bool {
        matches!(self, CursorRows::Portal(Portal { state: Some(PortalState::Over(None)), .. }))
    }

    /// Whether the protocol runs it.
    pub(super) fn is_taken(&self) -> bool {
        matches!(self, CursorRows::Portal(Portal { state: None, .. }))
    }

    /// Whether the row of this number, from 0, and those behind it can be asked for though they were passed.
    pub(super) fn has(&self, number: u64) -> bool {
        match self {
            CursorRows::Scrolled(rows) => rows.has(number),
            CursorRows::Portal(_) => false,
        }
    }

    /// The row of this number, from 0; `None`: there are fewer.
    pub(super) fn row(&mut self, number: u64) -> Result<Option<Vec<Value>>> {
        match self {
            CursorRows::Scrolled(rows) => rows.row(number),
            CursorRows::Portal(portal) => portal.row(number),
        }
    }

    /// Another statement asks from here on.
    pub(super) fn begin_statement(&mut self, deadline: Option<Instant>) -> Result<()> {
        match self {
            CursorRows::Scrolled(rows) => rows.begin_statement(deadline),
            CursorRows::Portal(_) => Ok(()),
        }
    }

    /// What rows that are read of it are kept in; of a portal it is the asking statement's.
    pub(super) fn context(&self) -> Option<&ExecContext> {
        match self {
            CursorRows::Scrolled(rows) => Some(rows.context()),
            CursorRows::Portal(_) => None,
        }
    }

    /// Reads all that is left; a portal never stays behind its transaction.
    pub(super) fn hold(&mut self, reader: &Reader) -> Result<()> {
        match self {
            CursorRows::Scrolled(rows) => rows.hold(reader),
            CursorRows::Portal(_) => Ok(()),
        }
    }
}

impl Portal {
    pub(super) fn take(&mut self) -> Option<PortalState> {
        self.state.take()
    }

    pub(super) fn give_back(&mut self, state: PortalState) {
        self.state = Some(state);
    }

    fn row(&mut self, number: u64) -> Result<Option<Vec<Value>>> {
        let begun = match &mut self.state {
            Some(PortalState::Begun(begun)) => begun,
            Some(PortalState::Over(_)) => return Ok(None),
            Some(PortalState::New(_)) => return Err(not_fetched()),
            None => return Err(Error::internal("a portal that is read twice at once")),
        };
        if begun.rows.count_so_far() != number {
            return Err(Error::internal("a portal is asked for a row that is not its next"));
        }
        begun.affected = None;
        let command = begun.command;
        let row = begun.rows.next()?.map(|row| row.values().to_vec());
        if row.is_none() {
            self.state = Some(PortalState::Over(Some(command)));
        }
        Ok(row)
    }
}

/// SQLSTATE 0A000: a function would have to run what a client has not.
fn not_fetched() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "a function cannot run what a client's portal is to run")
        .with_hint("Execute the portal, or FETCH from it, before a function does.")
}

/// SQLSTATE 55000.
fn without_rows(name: &str) -> Error {
    let message = format!("portal \"{name}\" returns no rows");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

impl Session {
    /// Opens one, over this statement; its number, which no other has. SQLSTATE 42P03.
    pub(crate) fn open_portal(
        &self,
        name: &str,
        runnable: Option<&Runnable>,
        text: &Arc<str>,
        values: Vec<Value>,
    ) -> Result<u64> {
        let fields = runnable.map(|runnable| self.result_of(runnable)).transpose()?.flatten();
        let runnable = runnable.map(|runnable| Runnable { kept: None, ..runnable.clone() });
        let rows = CursorRows::Portal(Portal { runnable, fields, state: Some(PortalState::New(values)) });
        let depth = self.state.borrow().transaction.as_ref().map(|open| open.depth());
        let cursor = Cursor { depth, is_portal: true, ..Cursor::new(rows, None, Some(false), text) };
        self.routines.names.cursors.open(name, cursor)
    }

    /// The number and the text of a cursor or portal.
    pub(crate) fn cursor_of(&self, name: &str) -> Option<(u64, Arc<str>)> {
        self.routines.names.cursors.known(name)
    }

    /// How far a portal was run, for the protocol to run it on; `None`: it is a cursor. SQLSTATE 34000, 55000.
    pub(crate) fn take_portal(&self, name: &str) -> Result<Option<PortalState>> {
        self.routines.names.cursors.take_portal(name)
    }

    /// What came of it.
    pub(crate) fn give_portal_back(&self, name: &str, state: PortalState) {
        self.routines.names.cursors.give_portal_back(name, state);
    }

    /// Runs what a portal is to run, if that is one, and it was not yet.
    pub(super) fn begin_portal(&self, name: &str) -> Result<()> {
        let cursors = &self.routines.names.cursors;
        let Some((mut cursor, nested)) = cursors.take_new_portal(name)? else { return Ok(()) };
        let ran = match nested {
            ..NESTED_MAX => self.run_portal(name, &mut cursor),
            _ => Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "portals fetch from portals too deep")),
        };
        cursor.failed = ran.is_err();
        cursors.give_back(name, cursor)?;
        ran
    }

    fn run_portal(&self, name: &str, cursor: &mut Cursor) -> Result<()> {
        let Some(CursorRows::Portal(portal)) = &mut cursor.rows else { return Err(not_to_be_run(name)) };
        let Some(PortalState::New(values)) = portal.state.replace(PortalState::Over(None)) else {
            return Err(not_to_be_run(name));
        };
        let runnable = portal.runnable.as_mut().ok_or_else(|| without_rows(name))?;
        if self.result_of(runnable)?.is_none() {
            return Err(without_rows(name));
        }
        let mut executed = self.dispatch(runnable, &values)?;
        let mut rows = executed.take_rows().ok_or_else(|| without_rows(name))?;
        if rows.is_endless() {
            return Err(Error::unsupported("FETCH from a portal of SUBSCRIBE"));
        }
        if let Some(open) = &self.state.borrow().transaction {
            rows.belong_to(Some(open.part()));
        }
        let (command, affected) = (executed.command(), Some(executed.affected()));
        portal.state = Some(PortalState::Begun(Box::new(Begun { command, affected, rows })));
        Ok(())
    }

    /// What rows of a statement are kept in that has nothing else to run.
    pub(super) fn context_to_keep(&self, parsed: &ParsedStatement) -> Result<ExecContext> {
        self.with_state(|state| {
            let utility = Prepared::utility(&Arc::new(parsed.clone()), state.stamp, &state.catalog);
            self.context(&utility, state, &())
        })
    }

    /// Closes a portal or cursor, if there is one of this name.
    pub(crate) fn close_portal(&self, name: &str) {
        self.routines.names.cursors.forget(name);
    }

    /// Closes what the protocol has opened.
    pub(crate) fn close_portals(&self) {
        self.routines.names.cursors.forget_portals();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Connection, Database, PortalState};

    fn open(conn: &Connection, name: &str, sql: &str) {
        let statement = conn.prepare_typed(sql, &[]).unwrap();
        conn.open_portal(name, Some(&statement), &sql.into(), Vec::new()).unwrap();
    }

    #[test]
    fn portals_that_fetch_from_portals_have_an_end() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute("BEGIN", ()).unwrap();
        open(&conn, "p0", "SELECT 7");
        (1..=1000).for_each(|number| open(&conn, &format!("p{number}"), &format!("FETCH p{}", number - 1)));
        assert_eq!(conn.query_row_as::<i32>("FETCH p10", ()).unwrap(), 7);
        let error = conn.query("FETCH p1000", ()).err().unwrap();
        assert_eq!(error.sqlstate().as_str(), "54001", "{error}");
    }

    #[test]
    fn a_portal_that_the_protocol_runs_is_nobody_elses() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute("BEGIN", ()).unwrap();
        open(&conn, "p", "SELECT generate_series(1, 3)");
        let code = |sql: &str| {
            conn.execute("SAVEPOINT s", ()).unwrap();
            let code = conn.perform(sql, ()).map(drop).err().map(|error| error.sqlstate().as_str().to_owned());
            conn.execute("ROLLBACK TO s", ()).unwrap();
            code
        };
        let Some(taken @ PortalState::New(_)) = conn.take_portal("p").unwrap() else { panic!("it was not run") };
        assert_eq!(
            [code("FETCH p"), code("CLOSE p"), code("CLOSE ALL")],
            [Some("55000".into()), Some("24000".into()), None]
        );
        assert!(conn.take_portal("p").is_err());
        conn.give_portal_back("p", taken);
        assert_eq!(conn.query_row_as::<i32>("FETCH p", ()).unwrap(), 1);
        conn.execute("COMMIT", ()).unwrap();
        assert_eq!(conn.take_portal("p").err().map(|error| error.sqlstate().as_str().to_owned()), Some("34000".into()));
    }

    #[test]
    fn what_is_not_begun_keeps_no_transaction_where_it_is() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        let names = || conn.session.routines.names.cursors.has_any();
        conn.execute("BEGIN", ()).unwrap();
        open(&conn, "p", "SELECT 1");
        assert!(!names());
        conn.query_row_as::<i32>("FETCH p", ()).unwrap();
        assert!(names());
        conn.close_portals();
        assert!(!names());
    }
}
