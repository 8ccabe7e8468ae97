//! Result rows.

use std::sync::Arc;
use std::time::Duration;

use cairn_storage::Process;

use super::owned::read_row;
use super::{BatchRow, FewRows, FromRow, Mapped, Part, Row, RowValues, RowsAs};
use crate::columns::Batch;
use crate::exec::{Collected, NoAnswer, RowStream, Step};
use crate::plan::{ColumnOrigin, Field, PhysicalPlan, origins};
use crate::sync;
use crate::{DataType, Error, Result, Value};

/// The rows of a query, produced as they are asked for.
///
/// They can be moved to another thread: what was read of them, and what was worked out so far, goes with them.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'one'), (2, NULL)")?;
/// // Lent, one after the other:
/// let mut rows = conn.query("SELECT a, b FROM t ORDER BY a", ())?;
/// assert_eq!(rows.columns()[1].name, "b");
/// while let Some(row) = rows.next()? {
///     println!("{}: {:?}", row.get::<i32>("a")?, row.get::<Option<String>>("b")?);
/// }
/// assert_eq!(rows.count_so_far(), 2);
/// // Or copied:
/// for row in conn.query("SELECT a FROM t", ())? {
///     println!("{}", row?.get::<i32>(0)?);
/// }
/// // Or as another type:
/// let texts = conn.query("SELECT b FROM t ORDER BY a", ())?.read_as::<Option<String>>().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(texts, [Some("one".to_string()), None]);
/// let twice = conn.query("SELECT a FROM t ORDER BY a", ())?.mapped(|row| Ok(row.get::<i32>(0)? * 2));
/// assert_eq!(twice.collect::<Result<Vec<_>, _>>()?, [2, 4]);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Rows {
    columns: Columns,
    pub(super) source: RowSource,
    pub(super) count: u64,
    /// What the query belongs to, until there are no more rows; `None`: to nothing, for it was a statement on its own.
    part: Option<Arc<Part>>,
    /// Where the query runs.
    process: Process,
}

#[derive(Clone)]
pub(super) enum Columns {
    Own(Arc<[Field]>),
    Plan(Arc<PhysicalPlan>),
}

pub(super) enum RowSource {
    /// `next` counts from 0.
    Few {
        rows: FewRows,
        next: usize,
    },
    Stream {
        stream: Box<RowStream>,
        current: BatchRow,
    },
    /// What was worked out ahead.
    Ready {
        batches: std::vec::IntoIter<Batch>,
        current: BatchRow,
    },
    /// What is there already, some of it on disk.
    Collected {
        rows: Box<Collected>,
        types: Vec<DataType>,
        current: BatchRow,
    },
    /// What changes, for as long as somebody asks.
    Endless(Box<dyn EndlessRows>),
}

/// Rows that come for as long as somebody asks: SUBSCRIBE's.
pub(crate) trait EndlessRows: Send {
    fn fields(&self) -> Vec<Field>;

    /// Comes to the next row, in time if there is a limit; false: there will be none.
    fn step(&mut self, time: Option<Duration>) -> Step<bool>;

    /// The row that was come to.
    fn row(&self) -> &[Value];
}

impl RowSource {
    /// How many rows are there without work.
    fn ready(&self) -> usize {
        match self {
            RowSource::Few { rows, next } => rows.len() - next,
            RowSource::Stream { current, .. } => current.left(),
            RowSource::Ready { batches, current } => {
                current.left() + batches.as_slice().iter().map(Batch::len).sum::<usize>()
            }
            RowSource::Collected { rows, current, .. } => current.left() + rows.len(),
            RowSource::Endless(_) => 0,
        }
    }
}

/// From [`Rows::ahead`].
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// let mut rows = conn.query("SELECT n FROM generate_series(1, 100) AS n", ())?;
/// let ahead = rows.ahead(10, std::time::Duration::MAX)?;
/// assert!(ahead.count >= 10 && !ahead.is_end);
/// assert_eq!(ahead.rows.read_as::<i32>().count() + rows.read_as::<i32>().count(), 100);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub struct Prefetched {
    /// The rows: they are there, and asking for them takes no work.
    pub rows: Rows,
    /// How many there are.
    pub count: usize,
    /// There are no more behind them.
    pub is_end: bool,
}

impl Rows {
    pub(crate) fn buffered(columns: Vec<Field>, rows: Vec<Vec<Value>>) -> Rows {
        Rows::new(Columns::Own(columns.into()), RowSource::Few { rows: FewRows::of(rows), next: 0 })
    }

    pub(crate) fn collected(columns: Vec<Field>, rows: Collected) -> Rows {
        match rows.into_few() {
            Ok(few) => Rows::buffered(columns, few),
            Err(rows) => {
                let types = columns.iter().map(|field| field.data_type).collect();
                let source = RowSource::Collected { rows: Box::new(rows), types, current: BatchRow::new() };
                Rows::new(Columns::Own(columns.into()), source)
            }
        }
    }

    /// Rows of a statement that has these columns: of its plan, where it was planned.
    #[inline]
    pub(crate) fn few(plan: Option<&Arc<PhysicalPlan>>, fields: &[Field], rows: FewRows) -> Rows {
        let columns = match plan {
            Some(plan) => Columns::Plan(plan.clone()),
            None => Columns::Own(fields.into()),
        };
        Rows::new(columns, RowSource::Few { rows, next: 0 })
    }

    pub(crate) fn stream(stream: RowStream) -> Rows {
        let columns = Columns::Plan(stream.plan().clone());
        Rows::new(columns, RowSource::Stream { stream: Box::new(stream), current: BatchRow::new() })
    }

    pub(crate) fn endless(rows: impl EndlessRows + 'static) -> Rows {
        Rows::new(Columns::Own(rows.fields().into()), RowSource::Endless(Box::new(rows)))
    }

    #[inline]
    fn new(columns: Columns, source: RowSource) -> Rows {
        Rows { columns, source, count: 0, part: None, process: Process::current() }
    }

    /// The result of a statement that returns no rows.
    pub(crate) fn empty() -> Rows {
        Rows::buffered(Vec::new(), Vec::new())
    }

    /// Runs to the end, for the errors on the way.
    pub(crate) fn exhaust(&mut self) -> Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    /// The rows belong to a transaction, or a part of one: they end with it, and their errors fail it.
    pub(crate) fn belong_to(&mut self, part: Option<&Arc<Part>>) {
        self.part = part.cloned();
    }

    /// Of each output column: the table's column that it shows, where that is known; nothing of rows that were not planned.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("CREATE TABLE item (id int, name text)", ())?;
    /// let origins = conn.query("SELECT id, count(*) FROM item GROUP BY id", ())?.origins();
    /// assert_eq!(origins[0].map(|origin| origin.number), Some(1));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn origins(&self) -> Vec<Option<ColumnOrigin>> {
        match &self.columns {
            Columns::Plan(plan) => origins(plan),
            Columns::Own(_) => Vec::new(),
        }
    }

    /// What `columns` are of, to keep.
    pub(super) fn shape(&self) -> Columns {
        self.columns.clone()
    }

    /// The output columns.
    #[inline]
    pub fn columns(&self) -> &[Field] {
        self.columns.fields()
    }

    /// Whether there is no last row (SUBSCRIBE): they come as they come, until the statement is cancelled or the database is
    /// closed. [`Rows::next_within`] says when all was given that there is so far.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// assert!(!conn.query("SELECT 1", ())?.is_endless());
    /// assert!(conn.query("SUBSCRIBE SELECT 1", ())?.is_endless());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn is_endless(&self) -> bool {
        matches!(self.source, RowSource::Endless(_))
    }

    /// How many rows were given out so far.
    pub fn count_so_far(&self) -> u64 {
        self.count
    }

    /// The next row; it lives until the next call. After an error there are no more rows.
    ///
    /// Rows of a query in a transaction are there for as long as that is open, and ROLLBACK TO has not taken the query back
    /// (SQLSTATE 34000).
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        if !self.step_in_batch() && !self.advance()? {
            return Ok(None);
        }
        Ok(Some(self.row()))
    }

    /// As [`Rows::next`], for who has other things to do meanwhile: when `time` has passed without a row, the answer is
    /// [`Timeslice::NotYet`], and the next call goes on from there.
    ///
    /// A query stops between steps of about a thousand rows each. What is one step however long it takes: sorting
    /// what was read, a subquery in an expression for the rows of a step, a user's function.
    pub fn next_within(&mut self, time: Duration) -> Result<Timeslice<'_>> {
        if !self.step_in_batch() {
            match self.advance_to(Some(time))? {
                Some(true) => {}
                Some(false) => return Ok(Timeslice::End),
                None => return Ok(Timeslice::NotYet),
            }
        }
        Ok(Timeslice::Row(self.row()))
    }

    /// Works on until there are at least so many rows, or there are no more, or `time` has passed; gives what there is. For who
    /// hands them to another thread and goes on with something else: the next call goes on from there. (See
    /// [`Rows::next_within`] for what a step is.)
    ///
    /// # Errors
    ///
    /// The query's; rows that were worked out in the same call before it are not given then.
    pub fn ahead(&mut self, rows: usize, time: Duration) -> Result<Prefetched> {
        self.process.check()?;
        if self.is_endless() {
            return self.ahead_of_changes(rows, time);
        }
        self.check_part()?;
        let RowSource::Stream { stream, current } = &mut self.source else {
            let nothing = RowSource::Few { rows: FewRows::default(), next: 0 };
            let source = std::mem::replace(&mut self.source, nothing);
            let count = source.ready();
            return Ok(Prefetched { rows: self.of_these(source), count, is_end: true });
        };
        let (mut batches, mut is_end) = (Vec::from_iter(current.rest()), false);
        let until = sync::now().checked_add(time);
        let mut left = time;
        while !is_end && batches.iter().map(Batch::len).sum::<usize>() < rows {
            match stream.next_within(left) {
                Ok(Some(batch)) => batches.push(batch),
                Ok(None) => is_end = true,
                Err(NoAnswer::NotYet) => {}
                Err(NoAnswer::Failed(error)) => return Err(self.fail(error)),
            }
            left = until.map_or(time, |until| until.saturating_duration_since(sync::now()));
            if left.is_zero() {
                break;
            }
        }
        let count = batches.iter().map(Batch::len).sum();
        let source = RowSource::Ready { batches: batches.into_iter(), current: BatchRow::new() };
        Ok(Prefetched { rows: self.of_these(source), count, is_end })
    }

    /// As `ahead`, of SUBSCRIBE: all that there is once there is something, or so many.
    fn ahead_of_changes(&mut self, wanted: usize, time: Duration) -> Result<Prefetched> {
        let (mut few, mut is_end, mut left) = (FewRows::default(), false, time);
        let RowSource::Endless(changes) = &mut self.source else {
            return Err(Error::internal("rows that have an end were taken for some that have none"));
        };
        while few.len() < wanted {
            match changes.step(Some(left)) {
                Ok(true) => few.add(changes.row().to_vec()),
                Ok(false) => {
                    is_end = true;
                    break;
                }
                Err(NoAnswer::NotYet) => break,
                Err(NoAnswer::Failed(error)) => return Err(self.fail(error)),
            }
            left = Duration::ZERO;
        }
        let count = few.len();
        Ok(Prefetched { rows: Rows::new(self.columns.clone(), RowSource::Few { rows: few, next: 0 }), count, is_end })
    }

    /// A part of the rows.
    fn of_these(&self, source: RowSource) -> Rows {
        let mut rows = Rows::new(self.columns.clone(), source);
        rows.belong_to(self.part.as_ref());
        rows
    }

    /// Goes to the next row of the current batch, where there is one, and nothing to look at before.
    #[inline]
    fn step_in_batch(&mut self) -> bool {
        match &mut self.source {
            RowSource::Stream { current, .. }
            | RowSource::Ready { current, .. }
            | RowSource::Collected { current, .. }
                if self.part.is_none() =>
            {
                current.step()
            }
            _ => false,
        }
    }

    /// See [`Part::check`].
    pub(super) fn check_part(&self) -> Result<()> {
        self.part.as_ref().map_or(Ok(()), |part| part.check())
    }

    /// The row that was come to.
    #[inline]
    fn row(&mut self) -> Row<'_> {
        self.count += 1;
        let values = match &self.source {
            RowSource::Few { rows, next } => RowValues::Own(rows.row(*next - 1)),
            RowSource::Endless(rows) => RowValues::Own(rows.row()),
            RowSource::Stream { current, .. }
            | RowSource::Ready { current, .. }
            | RowSource::Collected { current, .. } => RowValues::Batch(current),
        };
        Row { columns: self.columns.fields(), values }
    }

    /// Comes to the next row where that is none of the current batch; whether there was one.
    #[inline(never)]
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            if let Some(is_row) = self.advance_to(None)? {
                return Ok(is_row);
            }
        }
    }

    /// As `advance`, in time if there is a limit: `None` where that was not enough.
    fn advance_to(&mut self, time: Option<Duration>) -> Result<Option<bool>> {
        if self.part.is_some() {
            self.check_part()?;
            if let RowSource::Stream { current, .. }
            | RowSource::Ready { current, .. }
            | RowSource::Collected { current, .. } = &mut self.source
                && current.step()
            {
                return Ok(Some(true));
            }
        }
        match self.advance_source(time) {
            Ok(is_row) => {
                if !is_row {
                    self.end();
                }
                Ok(Some(is_row))
            }
            Err(NoAnswer::NotYet) => Ok(None),
            Err(NoAnswer::Failed(error)) => Err(self.fail(error)),
        }
    }

    /// There are no more rows, and nothing that they hold.
    fn end(&mut self) {
        self.part = None;
        if let RowSource::Stream { .. } | RowSource::Collected { .. } = self.source {
            self.source = RowSource::Few { rows: FewRows::default(), next: 0 };
        }
    }

    fn fail(&mut self, error: Error) -> Error {
        self.source = RowSource::Few { rows: FewRows::default(), next: 0 };
        if let Some(part) = self.part.take() {
            part.fail();
        }
        error
    }

    /// Comes to the next batch, or the next row that is none of a batch, in time if there is a limit.
    fn advance_source(&mut self, time: Option<Duration>) -> Step<bool> {
        self.process.check().map_err(Error::from)?;
        match &mut self.source {
            RowSource::Few { rows, next } if *next < rows.len() => *next += 1,
            RowSource::Few { .. } => return Ok(false),
            RowSource::Endless(rows) => return rows.step(time),
            RowSource::Ready { batches, current } => match batches.next() {
                Some(batch) => current.begin(batch),
                None => return Ok(false),
            },
            RowSource::Collected { rows, types, current } => match rows.next_batch(types)? {
                Some(batch) => current.begin(batch),
                None => return Ok(false),
            },
            RowSource::Stream { stream, current } => {
                let batch = match time {
                    Some(time) => stream.next_within(time)?,
                    None => stream.next_batch()?,
                };
                match batch {
                    Some(batch) => current.begin(batch),
                    None => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// An iterator over the rows, each as a tuple or a struct. See [`FromRow`].
    pub fn read_as<T: FromRow>(self) -> RowsAs<T> {
        self.mapped(read_row)
    }

    /// An iterator over the rows, each turned into a value by `map`.
    pub fn mapped<T, F: FnMut(Row<'_>) -> Result<T>>(self, map: F) -> Mapped<F> {
        Mapped { rows: self, map }
    }
}

impl Columns {
    #[inline]
    pub(super) fn fields(&self) -> &[Field] {
        match self {
            Columns::Own(fields) => fields,
            Columns::Plan(plan) => &plan.fields,
        }
    }
}

/// What [`Rows::next_within`] came to.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::Timeslice;
///
/// let mut rows = conn.query("SELECT n FROM generate_series(1, 3) AS n", ())?;
/// let mut sum = 0;
/// loop {
///     match rows.next_within(std::time::Duration::from_millis(10))? {
///         Timeslice::Row(row) => sum += row.get::<i32>("n")?,
///         Timeslice::NotYet => println!("something else can be done"),
///         Timeslice::End => break,
///     }
/// }
/// assert_eq!(sum, 6);
/// # Ok::<(), cairndb::Error>(())
/// ```
pub enum Timeslice<'a> {
    /// The next row.
    Row(Row<'a>),
    /// There is more to do.
    NotYet,
    /// There are no more rows.
    End,
}
