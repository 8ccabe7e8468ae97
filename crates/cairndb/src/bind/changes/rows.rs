//! Rows of constants for INSERT: from the tree straight into columns of the table's types, without an expression for each
//! of them.
//!
//! What a constant means is told elsewhere (`literal`, `coerce`): the short ways here are for forms of which it is plain to
//! see, everything else is bound as ever, and taken if a value came out of it. One that is none (a call, a parameter, a
//! conversion that asks for the time zone or fails when it is evaluated) makes the whole statement a plan.

use std::sync::Arc;

use cairn_parser::{self as ast, Id, List, Row};

use super::insert::{Targets, column_at, fields_of, literal};
use crate::bind::binder::Binder;
use crate::bind::context::Context;
use crate::catalog::Table;
use crate::exec::{Batch, Data, Vector};
use crate::plan::{Expr, LogicalPlan};
use crate::types::{DataType, Value};
use crate::{Error, Result};

/// As many rows as a batch has elsewhere.
const BATCH_ROWS: usize = 1024;

/// Up to so many rows, columns cost more than they save.
const FEW: usize = 8;

/// Complete rows of a table, in its columns' types.
#[derive(Clone, Debug)]
pub struct ConstantRows {
    table: Arc<Table>,
    /// Where they are not few; their text is known to be text.
    batches: Vec<Batch>,
    /// Where they are.
    few: Vec<Vec<Value>>,
    /// Columns that have the same expression in every row, a default: NULL in the rows, for it has yet to be computed.
    computed: Vec<(usize, Expr)>,
}

impl ConstantRows {
    /// The rows as values, if they are few, but for what is computed.
    pub(crate) fn few(&self) -> Option<&[Vec<Value>]> {
        (!self.few.is_empty()).then_some(&self.few)
    }

    /// The rows otherwise.
    pub(crate) fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Columns (ascending) and what is computed for every row of them.
    pub(crate) fn computed(&self) -> &[(usize, Expr)] {
        &self.computed
    }

    /// The row, if it is one.
    pub(crate) fn only_row(&self) -> Option<Vec<Expr>> {
        match self.few.as_slice() {
            [row] => Some(self.exprs(row)),
            _ => None,
        }
    }

    /// The same rows as expressions.
    pub(crate) fn plan(&self) -> LogicalPlan {
        let of_batch = |batch: &Batch| (0..batch.len()).map(|row| self.exprs(&batch.row(row))).collect::<Vec<_>>();
        let rows = self.few.iter().map(|row| self.exprs(row)).chain(self.batches.iter().flat_map(of_batch));
        LogicalPlan::Values { rows: rows.collect(), fields: fields_of(&self.table) }
    }

    fn exprs(&self, row: &[Value]) -> Vec<Expr> {
        let columns = self.table.columns.iter().zip(row);
        let mut exprs: Vec<Expr> = columns.map(|(column, value)| literal(value.clone(), column.data_type)).collect();
        for (column, expr) in &self.computed {
            if let Some(slot) = exprs.get_mut(*column) {
                *slot = expr.clone();
            }
        }
        exprs
    }
}

/// A column that values are given for.
struct Given {
    index: usize,
    data_type: DataType,
    /// Values may be refused or ignored.
    has_rules: bool,
    values: Vector,
    /// Every row says DEFAULT, which has yet to be computed.
    computed: Option<Expr>,
}

/// What is made of the rows.
struct Columns<'t> {
    table: &'t Table,
    given: Vec<Given>,
    /// What the other columns get.
    gaps: Vec<(usize, Expr)>,
    /// Rows that are in the columns and not yet in a batch.
    rows: usize,
    batches: Vec<Batch>,
}

impl Columns<'_> {
    /// Makes a batch of the rows; `left` follow.
    fn end_batch(&mut self, left: usize) -> Result<()> {
        let mut columns: Vec<Option<Arc<Vector>>> = vec![None; self.table.columns.len()];
        for given in &mut self.given {
            let empty = Vector::with_capacity(given.data_type, left.min(BATCH_ROWS));
            let values = std::mem::replace(&mut given.values, empty);
            if let Some(slot) = columns.get_mut(given.index) {
                *slot = Some(Arc::new(values));
            }
        }
        for (gap, default) in &self.gaps {
            let value = if let Expr::Literal { value, .. } = default { value } else { &Value::Null };
            if let (Some(slot), Some(column)) = (columns.get_mut(*gap), self.table.columns.get(*gap)) {
                *slot = Some(Arc::new(Vector::repeat(column.data_type, value, self.rows)?));
            }
        }
        let columns =
            columns.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| Error::internal("a lost column"))?;
        let mut batch = Batch::new(columns, self.rows);
        batch.check_text();
        self.batches.push(batch);
        self.rows = 0;
        Ok(())
    }

    /// What is not the same value in every row.
    fn computed(self) -> (Vec<Batch>, Vec<(usize, Expr)>) {
        let given = self.given.into_iter().filter_map(|given| Some((given.index, given.computed?)));
        let gaps = self.gaps.into_iter().filter(|(_, default)| !matches!(default, Expr::Literal { .. }));
        let mut computed: Vec<(usize, Expr)> = given.chain(gaps).collect();
        computed.sort_by_key(|(column, _)| *column);
        (self.batches, computed)
    }
}

impl Binder<'_> {
    /// The rows as columns; none, and nothing lost but time, where one of them is more than constants.
    pub(super) fn constant_rows(
        &mut self,
        rows: List<Row>,
        targets: &mut Targets,
        gaps: &[usize],
        context: &mut Context,
    ) -> Result<Option<ConstantRows>> {
        let (tree, table) = (self.tree, targets.table);
        let first = tree.list(rows).next().map_or(List::EMPTY, |row| tree.get(row).values);
        if !tree.list(first).all(|value| self.looks_constant(value)) {
            return Ok(None);
        }
        if tree.len(rows) <= FEW {
            return self.few_rows(rows, targets, gaps, context);
        }
        let mut left = tree.len(rows);
        let mut columns = Columns { table, given: vec![], gaps: vec![], rows: 0, batches: vec![] };
        for index in &targets.columns {
            let column = column_at(table, *index)?;
            columns.given.push(Given {
                index: *index,
                data_type: column.data_type,
                has_rules: column.identity.is_some() || column.generated.is_some(),
                values: Vector::with_capacity(column.data_type, left.min(BATCH_ROWS)),
                computed: None,
            });
        }
        for (number, row) in tree.list(rows).enumerate() {
            let values = tree.get(row).values;
            self.check_row_width(values, columns.given.len())?;
            for (value, given) in tree.list(values).zip(&mut columns.given) {
                if !self.constant(value, given, number == 0, targets, context)? {
                    return Ok(None);
                }
            }
            if number == 0 {
                for gap in gaps {
                    columns.gaps.push((*gap, self.default_of(*gap, targets)?));
                }
            }
            columns.rows += 1;
            left -= 1;
            if columns.rows == BATCH_ROWS || left == 0 {
                columns.end_batch(left)?;
            }
        }
        let (batches, computed) = columns.computed();
        Ok(Some(ConstantRows { table: Arc::clone(table), batches, few: vec![], computed }))
    }

    fn few_rows(
        &mut self,
        rows: List<Row>,
        targets: &mut Targets,
        gaps: &[usize],
        context: &mut Context,
    ) -> Result<Option<ConstantRows>> {
        let (tree, table) = (self.tree, targets.table);
        let width = targets.columns.len();
        let mut result = ConstantRows {
            table: Arc::clone(table),
            batches: vec![],
            few: Vec::with_capacity(tree.len(rows)),
            computed: vec![],
        };
        for row in tree.list(rows) {
            let values = tree.get(row).values;
            self.check_row_width(values, width)?;
            let mut complete = vec![Value::Null; table.columns.len()];
            for (position, value) in tree.list(values).enumerate() {
                let index = targets.columns.get(position).copied().unwrap_or_default();
                let Some(constant) = self.few_constant(value, index, &mut result, targets, context)? else {
                    return Ok(None);
                };
                if let Some(slot) = complete.get_mut(index) {
                    *slot = constant;
                }
            }
            for gap in gaps {
                match (self.default_of(*gap, targets)?, complete.get_mut(*gap)) {
                    (Expr::Literal { value, .. }, Some(slot)) => *slot = value,
                    (default, _) if result.few.is_empty() => result.computed.push((*gap, default)),
                    _ => {}
                }
            }
            result.few.push(complete);
        }
        result.computed.sort_by_key(|(column, _)| *column);
        Ok(Some(result))
    }

    /// A value of one of few rows, NULL where it has yet to be computed; none where it is no constant.
    fn few_constant(
        &mut self,
        value: Id<ast::Expr>,
        index: usize,
        result: &mut ConstantRows,
        targets: &mut Targets,
        context: &mut Context,
    ) -> Result<Option<Value>> {
        let syntax = self.tree.get(value);
        let is_computed = result.computed.iter().any(|(column, _)| *column == index);
        let column = column_at(targets.table, index)?;
        if column.identity.is_none()
            && column.generated.is_none()
            && !is_computed
            && let Some(value) = self.plain_constant(syntax, column.data_type)
        {
            return Ok(Some(value));
        }
        let bound = self.insert_value(value, index, targets, context)?;
        let is_default = syntax == ast::Expr::Default;
        Ok(match bound {
            Expr::Literal { value, .. } if !is_computed => Some(value),
            bound if is_default && !is_computed && result.few.is_empty() => {
                result.computed.push((index, bound));
                Some(Value::Null)
            }
            _ if is_default && is_computed => Some(Value::Null),
            _ => None,
        })
    }

    /// Whether the value has the form of a constant.
    fn looks_constant(&self, value: Id<ast::Expr>) -> bool {
        use ast::Expr as E;
        match self.tree.get(value) {
            E::Unary { operand, .. } | E::Cast { operand, .. } => {
                matches!(self.tree.get(operand), E::Integer { .. } | E::Number { .. } | E::String { .. } | E::Null)
            }
            value => matches!(
                value,
                E::Null
                    | E::Default
                    | E::Boolean { .. }
                    | E::Integer { .. }
                    | E::Number { .. }
                    | E::String { .. }
                    | E::TypedString { .. }
            ),
        }
    }

    /// Appends a value to its column; false where it is none.
    fn constant(
        &mut self,
        value: Id<ast::Expr>,
        given: &mut Given,
        first: bool,
        targets: &mut Targets,
        context: &mut Context,
    ) -> Result<bool> {
        let syntax = self.tree.get(value);
        if !given.has_rules && given.computed.is_none() && self.plain_value(syntax, given)? {
            return Ok(true);
        }
        let bound = self.insert_value(value, given.index, targets, context)?;
        let is_default = syntax == ast::Expr::Default;
        match (bound, &given.computed) {
            (Expr::Literal { value, .. }, None) => given.values.push(&value)?,
            (bound, None) if first && is_default => {
                given.values.push_null();
                given.computed = Some(bound);
            }
            (_, Some(_)) if is_default => given.values.push_null(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends a value of which it is plain to see what it is.
    fn plain_value(&self, syntax: ast::Expr, given: &mut Given) -> Result<bool> {
        let is_text = matches!(given.data_type, DataType::Text | DataType::Varchar(_));
        match (syntax, given.values.data_mut()) {
            (ast::Expr::Null, _) => given.values.push_null(),
            (ast::Expr::String { text }, Data::Bytes(strings)) if is_text => {
                strings.push(self.tree.text(text).as_bytes());
                given.values.push_valid();
            }
            _ => match self.plain_constant(syntax, given.data_type) {
                Some(value) => given.values.push(&value)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }
}
