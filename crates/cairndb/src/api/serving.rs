//! What who serves statements to others asks of a connection beside what a program does: a statement whose parameters have types
//! that are said before, what settings have become.

use std::sync::Arc;
use std::time::Instant;

use super::{Connection, Database, Params, Statement};
use crate::result::Executed;
use crate::session::{Ceilings, PortalState, SettingsSeen};
use crate::types::{DataType, Server};
use crate::{Error, Result, Value};

impl Database {
    /// The ceilings that this database's own options make: nobody gets more memory, or commits with less durability, than they say.
    pub fn ceilings(&self) -> Ceilings {
        self.shared.options.ceilings()
    }

    /// A connection for statements that come from others: it begins with these settings, which RESET goes back to, and no setting goes
    /// beyond the ceilings, whoever sets it and how. (See [`Ceilings`].)
    ///
    /// # Errors
    ///
    /// As those of SET.
    ///
    /// ```
    /// let db = cairndb::Database::open_in_memory()?;
    /// let settings = [("TimeZone".to_owned(), "Europe/Rome".to_owned())];
    /// let conn = db.connect_within(&db.ceilings(), &settings)?;
    /// conn.execute("SET TimeZone = 'Asia/Tokyo'", ())?;
    /// conn.execute("RESET ALL", ())?;
    /// assert_eq!(conn.time_zone(), "Europe/Rome");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn connect_within(&self, ceilings: &Ceilings, settings: &[(String, String)]) -> Result<Connection> {
        let connection = self.connect()?;
        connection.session.begin_within(ceilings, settings)?;
        Ok(connection)
    }
}

impl Connection {
    /// The session is of this server from now on, which tells its statements what only a server knows: `pg_database`, `pg_stat_activity`,
    /// `pg_stat_statements`, `pg_cancel_backend()` and their kin. The first that is given stays.
    ///
    /// It answers what is said by the client itself: never what stands in views, routines, triggers, defaults and constraints.
    pub fn serve(&self, server: Arc<dyn Server>) {
        self.session.serve(server);
    }

    /// How long the session may wait for its next statement from now on, and what it is ended with then: by `idle_session_timeout`,
    /// or in a transaction by its limits of time. `None`: as long as it likes.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert!(conn.idle_limit().is_none());
    /// conn.execute("SET idle_session_timeout = '1min'", ())?;
    /// let (_, error) = conn.idle_limit().unwrap();
    /// assert_eq!(error.sqlstate().as_str(), "57P05");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn idle_limit(&self) -> Option<(Instant, Error)> {
        self.session.idle_limit()
    }

    /// Runs one statement, whatever it is: see [`Statement::perform`].
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut done = conn.perform("CREATE TABLE t (id int)", ())?;
    /// assert_eq!((done.command(), done.affected(), done.take_rows().is_none()), ("CREATE TABLE", 0, true));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn perform(&self, sql: &str, params: impl Params) -> Result<Executed> {
        self.session.perform(sql, &params)
    }

    /// Prepares one statement, whose first parameters have these types; [`DataType::Unknown`]: what the statement says.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let statement = conn.prepare_typed("SELECT $1", &[DataType::Date])?;
    /// assert_eq!(statement.columns()[0].data_type, DataType::Date);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn prepare_typed(&self, sql: &str, types: &[DataType]) -> Result<Statement<'_>> {
        Ok(Statement::of(&self.session, self.session.prepare_typed(sql, types)?))
    }

    /// As [`Connection::prepare_typed`]; where it fails, an open transaction stays as it is: for who tries what a statement takes
    /// before running one that it does.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("BEGIN", ())?;
    /// assert!(conn.try_prepare("SELECT $1 * $2", &[]).is_err(), "of what types?");
    /// assert!(!conn.transaction_failed());
    /// let statement = conn.try_prepare("SELECT $1 * $2", &[DataType::Integer, DataType::Integer])?;
    /// assert_eq!(statement.columns()[0].data_type, DataType::Integer);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn try_prepare(&self, sql: &str, types: &[DataType]) -> Result<Statement<'_>> {
        Ok(Statement::of(&self.session, self.session.try_prepare(sql, types)?))
    }

    /// SQL knows a statement by this name from now on, as if PREPARE had made it: EXECUTE runs it, DEALLOCATE forgets it.
    ///
    /// # Errors
    ///
    /// 42P05 where it knows one already.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.name_statement("double", &conn.prepare("SELECT 2 * $1::int")?)?;
    /// assert_eq!(conn.query_row_as::<i32>("EXECUTE double(4)", ())?, 8);
    /// let mut double = conn.named_statement("double")?;
    /// let mut rows = double.perform((5,))?.take_rows().expect("rows");
    /// assert_eq!(rows.next()?.expect("a row").get::<i32>(0)?, 10);
    /// conn.execute("DEALLOCATE double", ())?;
    /// assert!(!conn.knows_statement("double"));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn name_statement(&self, name: &str, statement: &Statement<'_>) -> Result<()> {
        self.session.name_runnable(name, statement.runnable())
    }

    /// The statement that SQL knows by this name. SQLSTATE 26000.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("PREPARE one AS SELECT 1 AS a", ())?;
    /// assert_eq!(conn.named_statement("one")?.columns()[0].name, "a");
    /// assert_eq!(conn.named_statement("two").err().expect("none").sqlstate().as_str(), "26000");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn named_statement(&self, name: &str) -> Result<Statement<'_>> {
        Ok(Statement::of(&self.session, self.session.named_runnable(name)?))
    }

    /// Whether SQL knows a statement by this name.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("PREPARE one AS SELECT 1", ())?;
    /// assert!(conn.knows_statement("one") && !conn.knows_statement("two"));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn knows_statement(&self, name: &str) -> bool {
        self.session.knows_named(name)
    }

    /// As DEALLOCATE, where there is one of this name.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("PREPARE one AS SELECT 1", ())?;
    /// conn.forget_statement("one");
    /// assert!(!conn.knows_statement("one"));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn forget_statement(&self, name: &str) {
        self.session.forget_named(name);
    }

    /// SQL knows a portal of a client by this name from now on, as if DECLARE had made it, without SCROLL: FETCH and MOVE run its statement
    /// with these values, or run it on, CLOSE closes it, `pg_cursors` lists it with this text. Its number, which no other has.
    ///
    /// It ends with the open transaction, and with the savepoint that it was opened behind; outside of a transaction, and in any case,
    /// by [`close_portals`](Connection::close_portals). `statement`: `None`, where it is nothing that SQL could run.
    ///
    /// # Errors
    ///
    /// 42P03 where SQL knows a cursor or portal of this name.
    ///
    /// ```
    /// use cairndb::{PortalState, Value};
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("BEGIN", ())?;
    /// let mut statement = conn.prepare("SELECT generate_series(1, $1::int)")?;
    /// conn.open_portal("p", Some(&statement), &"SELECT ..".into(), vec![Value::Integer(5)])?;
    /// assert_eq!(conn.query_row_as::<i32>("FETCH p", ())?, 1);
    /// // The protocol runs on what SQL has begun.
    /// let Some(PortalState::Begun(mut begun)) = conn.take_portal("p")? else { panic!("it was begun") };
    /// assert_eq!(begun.rows.next()?.expect("a row").get::<i32>(0)?, 2);
    /// conn.give_portal_back("p", PortalState::Begun(begun));
    /// assert_eq!(conn.query_row_as::<i32>("FETCH p", ())?, 3);
    /// conn.execute("CLOSE p", ())?;
    /// assert!(conn.cursor_of("p").is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn open_portal(
        &self,
        name: &str,
        statement: Option<&Statement<'_>>,
        text: &Arc<str>,
        values: Vec<Value>,
    ) -> Result<u64> {
        self.session.open_portal(name, statement.map(Statement::runnable), text, values)
    }

    /// The number and the text of the cursor or portal of this name.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1", ())?;
    /// assert!(conn.cursor_of("c").is_some() && conn.cursor_of("d").is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn cursor_of(&self, name: &str) -> Option<(u64, Arc<str>)> {
        self.session.cursor_of(name)
    }

    /// How far a portal was run, for who runs it on, and [gives it back](Connection::give_portal_back); until then it can not be run
    /// or closed by SQL. `None`: it is a cursor that SQL has made. (An example: [`Connection::open_portal`].)
    ///
    /// # Errors
    ///
    /// 34000 where there is none of this name; 55000 where it has failed, or is being run.
    pub fn take_portal(&self, name: &str) -> Result<Option<PortalState>> {
        self.session.take_portal(name)
    }

    /// What came of a portal that was taken. (If it has ended meanwhile, nothing is done.)
    pub fn give_portal_back(&self, name: &str, state: PortalState) {
        self.session.give_portal_back(name, state);
    }

    /// As CLOSE, where there is a portal or cursor of this name.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1", ())?;
    /// conn.close_portal("c");
    /// assert!(conn.cursor_of("c").is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn close_portal(&self, name: &str) {
        self.session.close_portal(name);
    }

    /// Closes all portals, and no cursor that SQL has made.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.open_portal("p", None, &"".into(), Vec::new())?;
    /// conn.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1", ())?;
    /// conn.close_portals();
    /// assert!(conn.cursor_of("p").is_none() && conn.cursor_of("c").is_some());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn close_portals(&self) {
        self.session.close_portals();
    }

    /// The type of this number in `pg_type`; of a domain, the type that it rests on.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert_eq!(conn.type_of_oid(23)?, Some(cairndb::DataType::Integer));
    /// assert_eq!(conn.type_of_oid(0)?, None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn type_of_oid(&self, oid: u32) -> Result<Option<DataType>> {
        self.session.type_of_oid(oid)
    }

    /// These settings, as `SHOW` says them, if any setting has changed since the last call with the same `seen`.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut seen = cairndb::SettingsSeen::default();
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), Some(vec!["UTC".to_owned()]));
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), None);
    /// conn.execute("SET timezone = 'Europe/Rome'", ())?;
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), Some(vec!["Europe/Rome".to_owned()]));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn changed_settings(&self, names: &[&str], seen: &mut SettingsSeen) -> Option<Vec<String>> {
        self.session.changed_settings(names, seen)
    }

    /// Fails the open transaction, if there is one, as a statement that fails does.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("BEGIN", ())?;
    /// conn.fail_transaction();
    /// assert!(conn.transaction_failed());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn fail_transaction(&self) {
        self.session.state.borrow().fail();
    }
}
