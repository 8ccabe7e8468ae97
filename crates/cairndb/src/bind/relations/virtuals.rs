//! Virtual columns: what they are read as.
//!
//! A row has NULL in them. Whoever reads a table in a query reads a projection that has their expressions in their places
//! ([`Virtuals::over_scan`]); what a row program evaluates over a row that it writes has the expressions in it
//! ([`Virtuals::put_into`]), and rows that are handed on whole are filled ([`Virtuals::fill`]).

use std::sync::Arc;

use crate::bind::bind_generated;
use crate::catalog::{Catalog, Table};
use crate::functions::{Checked, Cost, Function};
use crate::plan::{EvalEnv, Expr, Field, LogicalPlan, StandIn, Version, eval, raised, walk};
use crate::types::{DataType, EvalContext, cast_assign};
use crate::{Error, Result, Value};

/// A table's virtual columns, each by its position with its expression over the table's other columns.
#[derive(Debug, Default)]
pub(crate) struct Virtuals(Box<[(usize, Expr)]>);

impl Virtuals {
    pub(crate) fn of(table: &Table, catalog: &Catalog) -> Result<Virtuals> {
        let columns = table.columns.iter().enumerate().filter(|(_, column)| column.is_virtual);
        let computed = columns.filter_map(|(at, column)| Some((at, column, column.generated.as_ref()?)));
        let bound = computed.map(|(at, column, expression)| {
            let value = bind_generated(expression, column, table, catalog)?;
            Ok((at, of_length(value, column.data_type)))
        });
        Ok(Virtuals(bound.collect::<Result<_>>()?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The column's expression, if it is virtual.
    pub(crate) fn expression(&self, column: usize) -> Option<&Expr> {
        self.0.iter().find(|(at, _)| *at == column).map(|(_, value)| value)
    }

    /// The rows of a scan, whose columns are the table's and perhaps more, with what is virtual computed.
    pub(in crate::bind) fn over_scan(&self, scan: LogicalPlan) -> LogicalPlan {
        let fields = scan.fields();
        let of = |(index, field): (usize, &Field)| match self.expression(index) {
            Some(value) => value.clone(),
            None => Expr::Column { index, data_type: field.data_type },
        };
        let exprs = fields.iter().enumerate().map(of).collect();
        LogicalPlan::Project { input: Box::new(scan), exprs, fields }
    }

    /// Puts the expressions where a row's virtual columns are asked for, in an expression over the row, or the row as it was
    /// and is (see [`StandIn`]).
    pub(crate) fn put_into(&self, expr: &mut Expr) {
        self.put_from(0, expr);
        for version in [Version::Old, Version::New] {
            self.put_from(StandIn::Affected(version, 0).column(), expr);
        }
    }

    /// The same where the row's columns begin at a place.
    pub(crate) fn put_from(&self, base: usize, expr: &mut Expr) {
        if self.is_empty() {
            return;
        }
        walk::rewrite(expr, 0, &mut |expr, depth| {
            let index = match expr {
                Expr::Column { index, .. } if depth == 0 => *index,
                Expr::Outer { level, index, .. } if depth > 0 && *level == depth => *index,
                _ => return None,
            };
            let value = self.expression(index.checked_sub(base)?)?;
            Some(raised(self.at(base, value), depth))
        });
    }

    /// An expression over a row whose columns begin at a place: NULL where there is no such row.
    fn at(&self, base: usize, value: &Expr) -> Expr {
        let mut value = value.clone();
        walk::rewrite(&mut value, 0, &mut |expr, depth| match expr {
            Expr::Column { index, data_type } if depth == 0 => {
                Some(Expr::Column { index: index + base, data_type: *data_type })
            }
            _ => None,
        });
        let Some(StandIn::Affected(version, _)) = StandIn::of(base) else { return value };
        let is_there = Expr::Column { index: StandIn::Present(version).column(), data_type: DataType::Boolean };
        let data_type = value.data_type();
        Expr::Case { branches: vec![(is_there, value)], otherwise: None, data_type }
    }

    /// The expression with all of it over what the row has.
    pub(crate) fn put_in(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        self.put_into(&mut expr);
        expr
    }

    /// Computes what a whole row has in its virtual columns.
    pub(crate) fn fill<'a>(&self, row: &mut [Value], around: impl EvalEnv<'a, Miss = Error>) -> Result<()> {
        for (at, value) in &self.0 {
            row[*at] = eval(value, &&*row, around)?.into_value();
        }
        Ok(())
    }

    /// Takes it out again.
    pub(crate) fn clear(&self, row: &mut [Value]) {
        self.0.iter().for_each(|(at, _)| row[*at] = Value::Null);
    }
}

/// A value as a column of limited strings shows it: SQLSTATE 22001 where it is too long.
fn of_length(value: Expr, data_type: DataType) -> Expr {
    let (DataType::Varchar(Some(limit)) | DataType::Char(limit)) = data_type else { return value };
    let check = move |value: &Value, context: &EvalContext| match value.is_null() {
        true => Ok(Value::Null),
        false => cast_assign(value, DataType::Text, data_type, context),
    };
    let is_char = matches!(data_type, DataType::Char(_));
    let checked = Checked {
        name: data_type.type_name().into(),
        data_type,
        immutable: true,
        cost: Cost::Bounded,
        calls: false,
        entry: 1 << 62 | u64::from(is_char) << 32 | u64::from(limit),
        check: Arc::new(check),
    };
    Expr::Call { function: Arc::new(Function::checked(checked)), args: vec![value] }
}
