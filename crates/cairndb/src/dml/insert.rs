//! INSERT.

use std::sync::Arc;

use cairn_storage::{Error as StorageError, KeyList, TransactionWriter};

use super::pending::PendingChecks;
use super::row::{
    BatchRow, Conflict, Env, Given, InsertBuffers, LentRow, NewRows, Proposed, RowInsert, RowObserver, Spare, Stop,
    Target, Touched, Trees,
};
use super::source::{Source, held_trees, rows_of, with_computed};
use super::statement::Beside;
use super::{DmlContext, DmlResult};
use crate::bind::{Callees, ConstantRows};
use crate::catalog::{Catalog, TriggerEvent};
use crate::exec::{self, Batch, Data, ExecContext, SourceRows, Surroundings, Vector, eval, eval_row};
use crate::plan::{Expr, Held, Modification, ModificationKind, SequenceOp, walk};
use crate::types::{DataType, EvalContext, ValueRef};
use crate::{Error, Result, Value};

/// Bytes of rows that are encoded before they are inserted together: they stay in the processor's nearest cache.
const RUN_BYTES: usize = 16 << 10;

/// INSERT into a table.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) program: Arc<RowInsert>,
    of: Arc<Modification>,
}

impl InsertPlan {
    pub(super) fn new(of: &Arc<Modification>, catalog: &Catalog) -> Result<InsertPlan> {
        Ok(InsertPlan { program: InsertPlan::program(of, catalog)?, of: of.clone() })
    }

    /// What inserts a row.
    pub(crate) fn program(of: &Modification, catalog: &Catalog) -> Result<Arc<RowInsert>> {
        let on_conflict = match &of.kind {
            ModificationKind::Insert { on_conflict } => on_conflict.as_ref(),
            _ => return Err(Error::internal("not an INSERT")),
        };
        if on_conflict.is_none() && of.returning.is_none() && of.view_checks.is_empty() {
            return RowInsert::plain(&of.table, catalog);
        }
        let target = Target::of(&of.table, catalog)?;
        let returning = of.returning.as_ref().map(|returning| returning.exprs.as_slice());
        let conflict = on_conflict.map(|bound| Conflict::new(&target, bound, returning, catalog)).transpose()?;
        Ok(Arc::new(RowInsert::new(&target, conflict, returning).through(&of.view_checks, catalog)?))
    }

    /// Whether to run it again and again, for one row of these expressions each time, can be done in one go.
    pub(super) fn is_repeatable(&self, row: &[Expr]) -> bool {
        let mut is_simple = true;
        for expr in row {
            walk::walk(expr, 0, &mut |expr, _| {
                is_simple &= match expr {
                    Expr::Subquery(_) | Expr::Subplan(_) | Expr::Outer { .. } | Expr::Column { .. } => false,
                    Expr::Call { function, .. } => !function.calls_routines(),
                    _ => true,
                };
            });
        }
        // What subqueries see is frozen for a statement, which this is one of for each row.
        is_simple && self.program.is_only_insert() && !self.program.asks()
    }

    pub(super) fn run<'a>(
        &'a self,
        rows: SourceRows<'_>,
        context: &'a DmlContext<'a>,
        pending: &mut PendingChecks<'_>,
        beside: Beside,
    ) -> Result<DmlResult> {
        let mut inserter = Inserter::new(&self.program, context);
        inserter.run_beside(beside);
        inserter.result = DmlResult::new(context, self.of.returning.as_ref());
        match rows {
            SourceRows::Few(rows) => inserter.insert_computed(rows, pending)?,
            SourceRows::Constants(rows) => match rows.few() {
                Some(few) => inserter.insert_few(few, rows, pending)?,
                None => inserter.insert_constants(rows, pending)?,
            },
            SourceRows::Lazy(next) => inserter.insert_lazily(next, pending)?,
            SourceRows::Batches(batches, shared) => inserter.insert_all(&Source::new(batches, shared), pending)?,
        }
        Ok(std::mem::take(&mut inserter.result))
    }
}

/// Runs an INSERT of one row of expressions once for each row of `parameters`, whose columns are its parameters: evaluates,
/// inserts, looks at what the row refers to, and goes on.
///
/// All rows are evaluated before the first is inserted, one after the other: what is evaluated asks no table, and conditions on
/// the rows ask nothing that it changes. An error of one is told when those before it are inserted, for one of theirs comes first.
/// Otherwise each row is evaluated when its turn comes; so are rows that draw more than one number, which a statement that fails
/// would have drawn for nothing.
pub(crate) fn insert_each(
    (plan, exprs): (&InsertPlan, &[Expr]),
    context: &DmlContext<'_>,
    parameters: &Batch,
) -> Result<()> {
    let mut computed = ComputedRows::of(exprs);
    let is_ahead =
        plan.program.rules.are_evaluable(Held::Transaction) && (computed.only_sequence().is_some() || !computed.draw());
    let evaluated = if is_ahead { computed.evaluate(parameters, context.exec) } else { Ok(()) };
    let inserted = insert_computed_rows(plan, (&mut computed, is_ahead), context, parameters);
    let failed = match &inserted {
        Err((_, row)) => Some(*row),
        Ok(()) => evaluated.is_err().then_some(computed.rows),
    };
    if let Some(row) = failed {
        // (What goes wrong in that costs a gap.)
        let _ = computed.used_up_to(row, context.exec);
    }
    inserted.map_err(|(error, _)| error)?;
    evaluated
}

/// Gives rows as they come.
type NextBatch<'b> = &'b mut dyn FnMut() -> Result<Option<Batch>>;

/// The error, and the row that it is of.
type OfRow = (Error, usize);

fn insert_computed_rows(
    plan: &InsertPlan,
    (computed, is_ahead): (&mut ComputedRows<'_>, bool),
    context: &DmlContext<'_>,
    parameters: &Batch,
) -> Result<(), OfRow> {
    let mut pending = PendingChecks::new(context);
    let mut inserter = Inserter::new(&plan.program, context);
    let mut tx = context.tx;
    // (Whoever draws numbers may have to write.)
    let is_alone = is_ahead && plan.program.is_alone();
    let held = if is_alone { tx.writer(plan.program.rules.target.table.tree) } else { Ok(None) };
    let mut hold = held.map_err(|error| (error.into(), 0))?;
    let rows = 0..parameters.len().min(if is_ahead { computed.rows } else { usize::MAX });
    let mut done = 0;
    if let Some(writer) = hold.as_mut().filter(|_| plan.program.is_row_alone()) {
        let computed = &*computed;
        let given = |column| computed.given(column, parameters);
        done = match NewRows::of(&plan.program, given, rows.len()) {
            Some(new) => inserter.insert_runs(writer, new.count(), |row, Buffers { run: (keys, values), .. }| {
                new.encode(row, keys, values);
                Ok(())
            })?,
            None => inserter.insert_runs(writer, rows.len(), |row, buffers| {
                let repeated = RepeatedRow { computed, row, parameters };
                buffers.encode(repeated, &plan.program, context)
            })?,
        };
    }
    let trees = held_trees(&mut hold, &mut tx);
    for row in rows.skip(done) {
        let of_row = |error: Error| (error, row);
        if row % 256 == 0 {
            context.exec.check().map_err(of_row)?;
        }
        if !is_ahead {
            computed.evaluate_row(parameters, row, context.exec).map_err(of_row)?;
        }
        let repeated = RepeatedRow { computed, row, parameters };
        inserter.insert_into(trees, repeated, &mut pending).map_err(of_row)?;
        if !is_alone {
            pending.settle_insert().map_err(of_row)?;
        }
    }
    Ok(())
}

/// Rows of expressions, of which some had to be evaluated.
struct ComputedRows<'e> {
    exprs: &'e [Expr],
    /// Those that are neither constants nor parameters, and where each of `exprs` is among them.
    computed: Vec<&'e Expr>,
    places: Vec<Option<usize>>,
    /// Of each, its values of the rows so far.
    values: Vec<Vector>,
    rows: usize,
    /// Numbers that were drawn for all rows ahead.
    drawn: Vec<i64>,
}

impl<'e> ComputedRows<'e> {
    fn of(exprs: &'e [Expr]) -> ComputedRows<'e> {
        let mut rows = ComputedRows { exprs, computed: vec![], places: vec![], values: vec![], rows: 0, drawn: vec![] };
        for expr in exprs {
            let is_computed = !matches!(expr, Expr::Literal { .. } | Expr::Parameter { .. });
            rows.places.push(is_computed.then_some(rows.computed.len()));
            if is_computed {
                rows.computed.push(expr);
                rows.values.push(Vector::new(expr.data_type()));
            }
        }
        rows
    }

    /// Evaluates a row for each of the parameters, up to the first that can not be.
    fn evaluate(&mut self, parameters: &Batch, context: &ExecContext) -> Result<()> {
        let evaluated = match self.only_sequence() {
            Some(drawn) => self.draw_all(drawn, parameters.len(), context),
            None => (0..parameters.len()).try_for_each(|row| self.evaluate_row(parameters, row, context)),
        };
        self.values.iter_mut().for_each(Vector::check_text);
        evaluated
    }

    /// Draws a number for each row, which is all that is to be evaluated.
    fn draw_all(&mut self, (name, cast): (&str, Option<DataType>), rows: usize, context: &ExecContext) -> Result<()> {
        let source = context.sequence_source()?;
        let mut draw = || {
            while self.drawn.len() < rows {
                context.check()?;
                source.next_values(name, rows - self.drawn.len(), &mut self.drawn)?;
            }
            Ok(())
        };
        let all = draw();
        let [values] = &mut self.values[..] else { return Err(Error::internal("a sequence's numbers have no place")) };
        match cast {
            None => {
                *values = Vector::from_parts(DataType::BigInt, Data::I64(self.drawn.clone()), None);
                self.rows = self.drawn.len();
            }
            Some(to) => {
                for &number in &self.drawn {
                    values.push(&crate::types::cast(&Value::BigInt(number), DataType::BigInt, to, &context.eval)?)?;
                    self.rows += 1;
                }
            }
        }
        all
    }

    /// No row behind this one is inserted: values that were drawn ahead for those are put back.
    fn used_up_to(&self, row: usize, context: &ExecContext) -> Result<()> {
        let Some((name, _)) = self.only_sequence().filter(|_| row + 1 < self.drawn.len()) else { return Ok(()) };
        context.sequence_source()?.used_up_to(name, &self.drawn, row)
    }

    /// The sequence, if to draw from one is all that is to be evaluated, and what its numbers are cast to.
    fn only_sequence(&self) -> Option<(&'e str, Option<DataType>)> {
        let [only] = self.computed[..] else { return None };
        let (drawn, cast) = match only {
            Expr::Cast { input, to } => (&**input, Some(*to)),
            other => (other, None),
        };
        let Expr::Sequence { op: SequenceOp::Next, name, .. } = drawn else { return None };
        match &**name {
            Expr::Literal { value: Value::Text(name), .. } => Some((name, cast)),
            _ => None,
        }
    }

    /// Whether numbers are drawn.
    fn draw(&self) -> bool {
        let mut draws = false;
        let mut look = |expr: &Expr, _| draws |= matches!(expr, Expr::Sequence { .. });
        self.computed.iter().for_each(|expr| walk::walk(expr, 0, &mut look));
        draws
    }

    fn evaluate_row(&mut self, parameters: &Batch, row: usize, context: &ExecContext) -> Result<()> {
        if row.is_multiple_of(256) {
            context.check()?;
        }
        let around = RowOfParameters { row: BatchRow { columns: parameters.columns(), row }, context };
        for (expr, values) in self.computed.iter().zip(&mut self.values) {
            let nothing: &[Value] = &[];
            values.push(&eval(expr, &nothing, around)?.into_value())?;
        }
        self.rows += 1;
        Ok(())
    }

    /// What an expression is for the rows.
    #[inline]
    fn given<'r>(&'r self, column: usize, parameters: &'r Batch) -> Option<Given<'r>> {
        match self.exprs.get(column)? {
            Expr::Literal { value, .. } => Some(Given::Value(value)),
            Expr::Parameter { index, .. } => Some(Given::Each(parameters.columns().get(*index)?)),
            _ => self.values.get((*self.places.get(column)?)?).map(Given::Each),
        }
    }
}

/// A row of a batch as the parameters of expressions.
#[derive(Clone, Copy)]
struct RowOfParameters<'r> {
    row: BatchRow<'r>,
    context: &'r ExecContext,
}

impl<'r> Surroundings<'r> for RowOfParameters<'r> {
    type Miss = Error;

    fn parameter(self, index: usize, _: DataType) -> Result<ValueRef<'r>> {
        self.row.lend(index).ok_or_else(|| Error::damaged("a row is damaged"))
    }

    fn eval(self) -> &'r EvalContext {
        &self.context.eval
    }

    fn sequence(self, op: SequenceOp, name: &Value, value: Option<&Value>) -> Result<Value> {
        exec::sequence(op, name, value, self.context)
    }

    fn missed(error: Error) -> Error {
        error
    }
}

/// A row of expressions, of which parameters are in a batch.
#[derive(Clone, Copy)]
struct RepeatedRow<'r> {
    computed: &'r ComputedRows<'r>,
    row: usize,
    parameters: &'r Batch,
}

impl<'r> RepeatedRow<'r> {
    #[inline]
    fn given(self, column: usize) -> Option<Given<'r>> {
        self.computed.given(column, self.parameters)
    }
}

impl<'r> LentRow<'r> for RepeatedRow<'r> {
    fn lend(self, column: usize) -> Option<ValueRef<'r>> {
        let mut is_text = true;
        let value = self.given(column)?.value_ref_or(self.row, || {
            is_text = false;
            ValueRef::Null
        });
        is_text.then_some(value)
    }

    #[inline]
    fn push_to<'a>(self, column: usize, values: &mut Vec<ValueRef<'a>>) -> bool
    where
        'r: 'a,
    {
        let given = self.given(column);
        let mut is_lent = given.is_some();
        let bad_text = || {
            is_lent = false;
            ValueRef::Null
        };
        values.push(given.map_or(ValueRef::Null, |given| given.value_ref_or(self.row, bad_text)));
        is_lent
    }

    fn copy(self, column: usize) -> Value {
        self.given(column).map_or(Value::Null, |given| given.value(self.row))
    }
}

/// What one INSERT leaves to the next: buffers, so that it need not allocate them.
#[derive(Debug, Default)]
pub(crate) struct InsertRoom(Option<Box<Buffers>>);

#[derive(Debug, Default)]
struct Buffers {
    computed: Vec<Value>,
    insert: InsertBuffers,
    fitted: Vec<(usize, Value)>,
    generated: Vec<Value>,
    spare: Spare,
    /// Keys and values of rows that are inserted together.
    run: (KeyList, KeyList),
}

impl Buffers {
    /// Puts down the key and the bytes of a row.
    fn encode<'b>(&mut self, row: impl LentRow<'b>, program: &RowInsert, context: &DmlContext<'_>) -> Result<(), Stop> {
        let Buffers { insert: buffers, fitted, generated, spare, run: (keys, values), .. } = self;
        let (target, env) = (&program.rules.target, Env::of(context.exec));
        let row = Proposed::fit(&target.table, row, fitted, spare.take(), env.eval)?;
        let row = row.generated(target, env, generated)?;
        program.prepare(&row, env, context.numbers(target.table.tree), buffers)?;
        spare.keep(row);
        keys.push(&buffers.key);
        values.push(buffers.row());
        Ok(())
    }
}

/// Inserts rows of one statement, whose lengths have yet to be fitted.
pub(crate) struct Inserter<'a> {
    program: &'a RowInsert,
    context: &'a DmlContext<'a>,
    /// Where ON CONFLICT may update.
    touched: Option<Touched<'a>>,
    room: InsertRoom,
    result: DmlResult,
}

impl<'a> Inserter<'a> {
    pub(crate) fn new(program: &'a RowInsert, context: &'a DmlContext<'a>) -> Inserter<'a> {
        Inserter {
            program,
            context,
            touched: program.may_update().then(Touched::default),
            room: context.room.take(),
            result: DmlResult::default(),
        }
    }

    /// `beside`: who else changes rows.
    fn run_beside(&mut self, beside: Beside) {
        let (context, tree) = (self.context, self.program.rules.target.table.tree);
        if let (true, Some(touched)) = (beside != Beside::Nobody, &mut self.touched) {
            touched.by_others = Some(Box::new(move |key| Ok(!context.is_untouched(tree, key)?)));
        }
    }

    /// Rows of expressions. Each is evaluated when the one before is inserted: functions that it calls may look for that.
    fn insert_computed(&mut self, rows: &[Vec<Expr>], pending: &mut PendingChecks<'_>) -> Result<()> {
        let context = self.context.exec;
        context.check()?;
        let mut computed = std::mem::take(&mut self.room.0.get_or_insert_default().computed);
        for exprs in rows {
            computed.clear();
            for expr in exprs {
                computed.push(match lent(expr, context) {
                    Some(_) => Value::Null,
                    None => eval_row(expr, &[], context)?,
                });
            }
            self.insert(ComputedRow { exprs, values: &computed, context }, pending)?;
        }
        self.room.0.get_or_insert_default().computed = computed;
        Ok(())
    }

    fn insert_few(&mut self, few: &[Vec<Value>], all: &ConstantRows, pending: &mut PendingChecks<'_>) -> Result<()> {
        let context = self.context.exec;
        context.check()?;
        let mut whole = Vec::new();
        for row in few {
            if all.computed().is_empty() {
                self.insert(row.as_slice(), pending)?;
                continue;
            }
            whole.clone_from(row);
            for (column, expr) in all.computed() {
                if let Some(slot) = whole.get_mut(*column) {
                    *slot = eval_row(expr, &[], context)?;
                }
            }
            self.insert(whole.as_slice(), pending)?;
        }
        Ok(())
    }

    /// A batch after the other; row by row where functions are called, which may look for what was inserted before.
    fn insert_constants(&mut self, rows: &ConstantRows, pending: &mut PendingChecks<'_>) -> Result<()> {
        let context = self.context.exec;
        let calls = rows.computed().iter().any(|(_, expr)| Callees::of(expr) != Callees::BuiltIn);
        for batch in rows.batches() {
            let step = if calls { 1 } else { batch.len() };
            for start in (0..batch.len()).step_by(step.max(1)) {
                let part = if calls { batch.slice(start, step) } else { batch.clone() };
                let part = with_computed(rows, &part, context)?;
                rows_of(&part).try_for_each(|row| self.insert(row, pending))?;
            }
        }
        Ok(())
    }

    fn insert_lazily(&mut self, next: NextBatch<'_>, pending: &mut PendingChecks<'_>) -> Result<()> {
        while let Some(mut batch) = next()? {
            self.context.exec.check()?;
            batch.check_text();
            rows_of(&batch).try_for_each(|row| self.insert(row, pending))?;
        }
        Ok(())
    }

    fn insert_all(&mut self, source: &Source<'_>, pending: &mut PendingChecks<'_>) -> Result<()> {
        source.for_each_row(self.context.exec, |_, row| self.insert(row, pending))
    }

    pub(crate) fn insert<'b>(&mut self, row: impl LentRow<'b>, observer: &mut dyn RowObserver) -> Result<()> {
        let mut trees = self.context.tx;
        self.insert_into(&mut trees, row, observer)
    }

    /// Into these trees, which are those of the statement's transaction.
    fn insert_into<'b>(
        &mut self,
        trees: &mut dyn Trees,
        row: impl LentRow<'b>,
        observer: &mut dyn RowObserver,
    ) -> Result<()> {
        let Inserter { program, context, touched, room, result } = self;
        let Buffers { insert: buffers, fitted, generated, spare, .. } = &mut **room.0.get_or_insert_default();
        let (table, env) = (&program.rules.target.table, Env::of(context.exec));
        let given;
        let mut row = Proposed::fit(table, row, fitted, spare.take(), env.eval)?;
        let mut refitted = Vec::new();
        if program.has_before {
            let new = observer.before(table, TriggerEvent::Insert, None, Some(row.to_values()), &[])?;
            let Some(new) = new else { return Ok(()) };
            given = new;
            row = Proposed::fit(table, given.as_slice(), &mut refitted, Vec::new(), env.eval)?;
        }
        let row = row.generated(&program.rules.target, env, generated)?;
        program.prepare(&row, env, context.numbers(table.tree), buffers)?;
        if program.run(trees, &row, env, buffers, (observer, touched.as_mut()), &mut result.returned)? {
            result.add()?;
        }
        spare.keep(row);
        Ok(())
    }

    /// So many rows that are no more than an entry of their table's tree each: encodes some, inserts those, and goes on. `encode`
    /// puts down the key and the row of a number. Returns how many it inserted: those before the first that another one is in the
    /// way of, or that can not be encoded, which is for the caller to find out about.
    fn insert_runs(
        &mut self,
        writer: &mut TransactionWriter<'_>,
        rows: usize,
        mut encode: impl FnMut(usize, &mut Buffers) -> Result<(), Stop>,
    ) -> Result<usize, OfRow> {
        let (tree, mut done) = (self.program.rules.target.table.tree, 0);
        while done < rows {
            self.context.exec.check().map_err(|error| (error, done))?;
            let buffers = &mut **self.room.0.get_or_insert_default();
            buffers.run.0.clear();
            buffers.run.1.clear();
            let is_room = |(keys, values): &(KeyList, KeyList)| keys.bytes() + values.bytes() < RUN_BYTES;
            let encoded = (done..rows).take_while(|&row| is_room(&buffers.run) && encode(row, buffers).is_ok()).count();
            let is_cut = done + encoded < rows && is_room(&buffers.run);
            let (keys, values) = &buffers.run;
            let inserted = match writer.insert_each(tree, keys, values, 0) {
                // None of them is inserted: what is wrong with one before it comes first.
                Err(StorageError::KeyTooLong { .. }) => break,
                inserted => inserted.map_err(|error| (error.into(), done))?,
            };
            done += inserted;
            self.result.add_many(inserted as u64);
            if is_cut || inserted < encoded {
                break;
            }
        }
        Ok(done)
    }

    /// What RETURNING made of the row that was inserted last.
    pub(super) fn take_returned(&mut self) -> Vec<Value> {
        self.result.rows.pop().unwrap_or_default()
    }

    pub(crate) fn affected(&self) -> u64 {
        self.result.affected
    }
}

/// A row of expressions and the values of those that had to be evaluated.
#[derive(Clone, Copy)]
struct ComputedRow<'r> {
    exprs: &'r [Expr],
    values: &'r [Value],
    context: &'r ExecContext,
}

/// The value of an expression that is one, or a parameter.
fn lent<'r>(expr: &'r Expr, context: &'r ExecContext) -> Option<&'r Value> {
    match expr {
        Expr::Literal { value, .. } => Some(value),
        Expr::Parameter { index, .. } => context.parameters.get(*index),
        _ => None,
    }
}

impl<'r> ComputedRow<'r> {
    fn value(self, column: usize) -> Option<&'r Value> {
        lent(self.exprs.get(column)?, self.context).or_else(|| self.values.get(column))
    }
}

impl<'r> LentRow<'r> for ComputedRow<'r> {
    #[inline]
    fn lend(self, column: usize) -> Option<ValueRef<'r>> {
        self.value(column).map(ValueRef::from)
    }

    #[inline]
    fn push_to<'a>(self, column: usize, values: &mut Vec<ValueRef<'a>>) -> bool
    where
        'r: 'a,
    {
        let value = self.value(column);
        values.push(value.map_or(ValueRef::Null, ValueRef::from));
        value.is_some()
    }

    fn copy(self, column: usize) -> Value {
        self.lend(column).map_or(Value::Null, |value| value.to_value())
    }
}

impl Drop for Inserter<'_> {
    fn drop(&mut self) {
        self.context.room.set(std::mem::take(&mut self.room));
    }
}
