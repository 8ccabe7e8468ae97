//! Prepared statements.

use std::ops::ControlFlow;

use cairn_storage::Acknowledge;

use super::{FromRow, Params, Row, RowRef, Rows, RowsAs, Ticket};
use crate::exec::Kept;
use crate::plan::{ColumnOrigin, Field, origins};
use crate::point::PointPlan;
use crate::prepared::Prepared;
use crate::result::{Executed, FewRows};
use crate::session::point::{add_row, rows_of};
use crate::session::{Ordered, Runnable, Session, exhaust, tag_of};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// A prepared statement: parsed, bound and planned once, planned again when the schema changed.
///
/// ```
/// # let conn = cairndb::Database::open_in_memory()?.connect()?;
/// conn.execute("CREATE TABLE t (id bigint PRIMARY KEY, n int)", ())?;
/// let mut insert = conn.prepare("INSERT INTO t VALUES ($1, $2)")?;
/// for id in 0..10i64 {
///     insert.execute((id, 2 * id))?;
/// }
/// let mut select = conn.prepare("SELECT n FROM t WHERE id = $1")?;
/// assert_eq!(select.query_point((4i64,), |row| row.get_i64(0))?, Some(Some(8)));
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Statement<'c> {
    session: &'c Session,
    runnable: Runnable,
    /// Of its parameters, by their numbers, where they have some.
    names: Vec<String>,
}

impl<'c> Statement<'c> {
    pub(crate) fn new(session: &'c Session, sql: &str) -> Result<Statement<'c>> {
        session.forget_interrupt();
        let (mut runnable, names) = session.runnable_with_names(sql)?;
        session.prepare_now(&mut runnable)?;
        // (From now on its columns stay: those that its text had before are nothing to it.)
        runnable.kept = Some(Kept::default());
        Ok(Statement { session, runnable, names })
    }

    /// The parameters by their numbers, where they were given by name.
    #[inline]
    fn ordered<'p>(&self, params: &'p impl Params) -> Result<Option<Ordered<'p>>> {
        let Some(given) = params.names() else { return Ok(None) };
        Ordered::new(params, given, &self.names).map(Some).inspect_err(|_| self.session.state.borrow().fail())
    }

    fn run(&mut self, params: &dyn Params) -> Result<Executed> {
        self.session.run_one(&mut self.runnable, params)
    }

    pub(super) fn runnable(&self) -> &Runnable {
        &self.runnable
    }

    /// Its text, and what stands around it.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert_eq!(conn.prepare("SELECT 1")?.text(), "SELECT 1");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn text(&self) -> &str {
        self.runnable.parsed.text()
    }

    /// Whose parameters have no names.
    pub(super) fn of(session: &'c Session, runnable: Runnable) -> Statement<'c> {
        Statement { session, runnable, names: Vec::new() }
    }

    /// The columns of the result, as far as they are known before it runs, of SHOW, EXECUTE and FETCH, too; `None`: it returns no
    /// rows.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let columns = conn.prepare("SHOW TimeZone")?.result()?.expect("a row");
    /// assert_eq!(columns[0].name, "TimeZone");
    /// assert!(conn.prepare("CREATE TABLE t (id int)")?.result()?.is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn result(&self) -> Result<Option<Vec<Field>>> {
        self.session.result_of(&self.runnable)
    }

    /// Of each column of a query's result: the table's column that it shows as it is (of a view's column, that of the table beneath).
    /// Empty where the statement is no query. What the statement's plan says, which is made if it was not yet.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE item (id int, name text)", ())?;
    /// let origins = conn.prepare("SELECT count(*), name FROM item GROUP BY name")?.origins()?;
    /// assert_eq!(origins.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn origins(&self) -> Result<Vec<Option<ColumnOrigin>>> {
        let plan = self.runnable.prepared.as_ref().map(|prepared| prepared.plan()).transpose()?.flatten();
        Ok(plan.map_or_else(Vec::new, |plan| origins(plan)))
    }

    /// Runs the statement; the number of rows it inserted, updated or deleted.
    pub fn execute(&mut self, params: impl Params) -> Result<u64> {
        let ordered = self.ordered(&params)?;
        let params: &dyn Params = ordered.as_ref().map_or(&params, |ordered| ordered);
        match self.write_point(params, self.now())? {
            Some((affected, _)) => Ok(affected),
            None => exhaust(self.run(params)?),
        }
    }

    /// As [`Statement::execute`], without waiting for durability where the statement is a point statement outside
    /// transactions (INSERT of one row; UPDATE or DELETE by primary key). Commits become durable in order.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int PRIMARY KEY)", ())?;
    /// let mut insert = conn.prepare("INSERT INTO t VALUES ($1)")?;
    /// let (first, second) = (insert.execute_async((1,))?, insert.execute_async((2,))?);
    /// assert_eq!(first.wait()? + second.wait()?, 2);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn execute_async(&mut self, params: impl Params) -> Result<Ticket> {
        let ordered = self.ordered(&params)?;
        let params: &dyn Params = ordered.as_ref().map_or(&params, |ordered| ordered);
        match self.write_point(params, Acknowledge::Later)? {
            Some((affected, ticket)) => Ok(Ticket::new(affected, ticket)),
            None => Ok(Ticket::new(exhaust(self.run(params)?)?, None)),
        }
    }

    /// Runs a query.
    pub fn query(&mut self, params: impl Params) -> Result<Rows> {
        // (Rows are large: what makes them makes them in their place.)
        let mut rows = self.rows_now(params);
        if let (Ok(rows), Some(open)) = (&mut rows, &self.session.state.borrow().transaction) {
            rows.belong_to(Some(open.part()));
        }
        rows
    }

    /// As [`Statement::query`], of a point SELECT outside of transactions for which nothing has to be waited for: its pages are in
    /// memory. `None`: it is no such one, or failed, and nothing was done; `query` can wait, and tells why.
    ///
    /// For who holds something meanwhile that others want.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 5)")?;
    /// let mut read = conn.prepare("SELECT n FROM t WHERE id = $1")?;
    /// let mut rows = read.query_at_once((1,)).expect("it is in memory");
    /// assert_eq!(rows.next()?.expect("a row").get::<i32>(0)?, 5);
    /// assert!(conn.prepare("SELECT count(*) FROM generate_series(1, 10)")?.query_at_once(()).is_none());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    #[inline]
    pub fn query_at_once(&mut self, params: impl Params) -> Option<Rows> {
        let prepared = self.runnable.prepared.as_ref()?;
        if params.names().is_some() || self.session.in_transaction() {
            return None;
        }
        let before = self.session.storage.try_borrow_mut().ok()?.set_impatient(true);
        let read = self.read_few(&params);
        self.session.storage.borrow_mut().set_impatient(before);
        read.ok()?.map(|rows| rows_of(prepared, rows))
    }

    /// Runs the statement, whatever it is: what it did, and its rows, if it is one that returns rows.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE t (id int PRIMARY KEY)", ())?;
    /// let mut insert = conn.prepare("INSERT INTO t VALUES ($1) RETURNING id + 1")?;
    /// let mut done = insert.perform((1,))?;
    /// assert_eq!((done.command(), done.affected()), ("INSERT", 1));
    /// assert_eq!(done.take_rows().expect("RETURNING").read_as::<i32>().collect::<Result<Vec<_>, _>>()?, [2]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn perform(&mut self, params: impl Params) -> Result<Executed> {
        let ordered = self.ordered(&params)?;
        let params: &dyn Params = ordered.as_ref().map_or(&params, |ordered| ordered);
        let mut executed = match (self.read_few(params)?, &self.runnable.prepared) {
            (Some(rows), Some(prepared)) => Executed::rows("SELECT", rows_of(prepared, rows)),
            _ => self.perform_now(params)?,
        };
        if let (Some(rows), Some(open)) = (&mut executed.rows, &self.session.state.borrow().transaction) {
            rows.belong_to(Some(open.part()));
        }
        Ok(executed)
    }

    /// As `query`, of rows that are read at once.
    #[inline]
    fn rows_now(&mut self, params: impl Params) -> Result<Rows> {
        let ordered = self.ordered(&params)?;
        let params: &dyn Params = ordered.as_ref().map_or(&params, |ordered| ordered);
        match (self.read_few(params)?, &self.runnable.prepared) {
            (Some(rows), Some(prepared)) => Ok(rows_of(prepared, rows)),
            _ => Ok(self.perform_now(params)?.rows.unwrap_or_else(Rows::empty)),
        }
    }

    /// The rows of a point SELECT.
    #[inline]
    fn read_few(&self, params: &dyn Params) -> Result<Option<FewRows>> {
        let (width, mut rows) = (self.columns().len(), Ok(FewRows::default()));
        match self.read_point(params, |row| add_row(&mut rows, row, width))? {
            Some(_) => rows.map(Some),
            None => Ok(None),
        }
    }

    /// Runs what is no point SELECT.
    fn perform_now(&mut self, params: &dyn Params) -> Result<Executed> {
        if let Some((affected, _)) = self.write_point(params, self.now())? {
            let returned = match affected {
                _ if !self.returns_rows() => None,
                0 => Some(Vec::new()),
                _ => Some(vec![std::mem::take(&mut self.session.point_buffers()?.write.returned)]),
            };
            let rows = returned.map(|rows| Rows::buffered(self.columns().to_vec(), rows));
            return Ok(Executed { tag: tag_of(self.runnable.parsed.syntax()), affected, rows });
        }
        self.run(params)
    }

    /// The plan as it is now.
    #[cfg(test)]
    pub(crate) fn plan(&self) -> Option<&std::sync::Arc<Prepared>> {
        self.runnable.prepared.as_ref()
    }

    /// Whether this is a point write with RETURNING.
    fn returns_rows(&self) -> bool {
        let returns =
            |prepared: &Prepared| prepared.point().is_some_and(PointPlan::is_write) && !prepared.fields().is_empty();
        self.runnable.prepared.as_ref().is_some_and(|prepared| returns(prepared))
    }

    fn now(&self) -> Acknowledge {
        Acknowledge::Now(self.session.durability())
    }

    /// Runs a query that must give at least one row, and converts the first. No row: SQLSTATE P0002.
    pub fn query_row<T>(&mut self, params: impl Params, map: impl FnOnce(Row<'_>) -> Result<T>) -> Result<T> {
        let mut rows = self.rows_now(params)?;
        let row = rows.next()?.ok_or_else(|| Error::new(SqlState::NO_DATA_FOUND, "query returned no rows"))?;
        map(row)
    }

    /// Runs a query (or a statement with RETURNING); an iterator over its rows, each as a tuple or a struct. See [`FromRow`].
    pub fn query_as<T: FromRow>(&mut self, params: impl Params) -> Result<RowsAs<T>> {
        Ok(self.query(params)?.read_as())
    }

    /// Runs a query (or a statement with RETURNING) and hands its first row to `read`, without copying it where the
    /// statement reads one row by key.
    ///
    /// The row lies in a page of the database for as long as `read` runs: it should be short, and what it runs on the same
    /// connection may fail with SQLSTATE 55006.
    pub fn query_point<R>(&mut self, params: impl Params, read: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        let ordered = self.ordered(&params)?;
        let params: &dyn Params = ordered.as_ref().map_or(&params, |ordered| ordered);
        let mut read = Some(read);
        let once = |row: RowRef<'_>| ControlFlow::Break(read.take().map(|read| read(row)));
        if let Some(found) = self.read_point(params, once)? {
            return Ok(found.flatten());
        }
        if self.returns_rows()
            && let Some((affected, _)) = self.write_point(params, self.now())?
        {
            // Out of the buffers for as long as it is lent.
            let returned = std::mem::take(&mut self.session.point_buffers()?.write.returned);
            let row = || RowRef::values(Row::new(self.columns(), &returned));
            let done = read.take().filter(|_| affected > 0).map(|read| read(row()));
            self.session.point_buffers()?.write.returned = returned;
            return Ok(done);
        }
        let mut rows = self.run(params)?.rows.unwrap_or_else(Rows::empty);
        let row = rows.next()?;
        Ok(row.and_then(|row| read.take().map(|read| read(RowRef::values(row)))))
    }

    fn read_point<R>(
        &self,
        params: &dyn Params,
        read: impl FnMut(RowRef<'_>) -> ControlFlow<R>,
    ) -> Result<Option<Option<R>>> {
        let Some(prepared) = &self.runnable.prepared else { return Ok(None) };
        self.session.try_read(prepared, params, read)
    }

    fn write_point(
        &self,
        params: &dyn Params,
        acknowledge: Acknowledge,
    ) -> Result<Option<(u64, Option<cairn_storage::Ticket>)>> {
        let Some(prepared) = &self.runnable.prepared else { return Ok(None) };
        self.session.try_write(prepared, params, acknowledge)
    }

    /// Whether the statement has the form of a point statement, which reads or writes one row by its whole key without
    /// interpretation.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int PRIMARY KEY, b text)", ())?;
    /// assert!(conn.prepare("SELECT b FROM t WHERE a = $1")?.is_point());
    /// assert!(!conn.prepare("SELECT a FROM t WHERE b = $1")?.is_point());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn is_point(&self) -> bool {
        self.runnable.prepared.as_ref().is_some_and(|prepared| prepared.point().is_some_and(PointPlan::is_of_one_row))
    }

    /// The result's columns; empty where the statement returns no rows.
    pub fn columns(&self) -> &[Field] {
        self.runnable.prepared.as_ref().map_or(&[], |prepared| prepared.fields())
    }

    /// The types of the parameters.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// conn.execute("CREATE TABLE t (a int PRIMARY KEY, b text)", ())?;
    /// let statement = conn.prepare("SELECT a FROM t WHERE b = $1")?;
    /// assert_eq!(statement.parameter_types(), [cairndb::DataType::Text]);
    /// assert_eq!(statement.columns()[0].name, "a");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn parameter_types(&self) -> &[DataType] {
        self.runnable.prepared.as_ref().map_or(&[], |prepared| &prepared.parameters)
    }
}
