//! What the columns of a row that changes become.

use super::fit::{fitted, is_limited, settle};
use super::sum::Sum;
use super::{Env, Operand, Stop, Stored, Target, env};
use crate::bind::Generated;
use crate::catalog::ColumnPlace;
use crate::plan::{Columns, Datum, Expr, Held};
use crate::types::{DataType, ValueRef};
use crate::{Error, Value};

/// A column's new value.
#[derive(Debug)]
pub(super) struct Assignment {
    /// Position among the row's columns; `None`: it is in the key only.
    pub(super) place: Option<usize>,
    data_type: DataType,
    value: NewValue,
    /// The value is never lent: a trigger may say another.
    kept: bool,
}

#[derive(Debug)]
enum NewValue {
    Operand(Operand),
    Sum(Sum, Expr),
    /// A column of the row beside the old one, of the same type but for its length.
    Beside(usize),
    Computed(Expr),
    /// Over the new row: a generated column.
    Generated(Expr),
}

impl Assignment {
    pub(super) fn of(target: &Target, column: usize, expr: Expr) -> Assignment {
        let data_type = target.table.columns[column].data_type;
        let place = match target.layout.place(column) {
            ColumnPlace::Row(place) => Some(place),
            ColumnPlace::Key(_) => None,
        };
        let value = match (Operand::of(&expr, data_type), expr) {
            (Some(operand), _) => NewValue::Operand(operand),
            (None, Expr::Column { index, data_type: from })
                if index >= target.table.columns.len() && from == data_type =>
            {
                NewValue::Beside(index - target.table.columns.len())
            }
            (None, expr) => match Sum::of(target, data_type, &expr) {
                Some(sum) => NewValue::Sum(sum, expr),
                None => NewValue::Computed(expr),
            },
        };
        Assignment { place, data_type, value, kept: false }
    }

    /// With its value never lent.
    pub(super) fn kept(self) -> Assignment {
        Assignment { kept: true, ..self }
    }

    pub(super) fn is_generated(&self) -> bool {
        matches!(self.value, NewValue::Generated(_))
    }

    /// What a generated column becomes.
    pub(super) fn of_generated(target: &Target, generated: &Generated) -> Assignment {
        let unknown = Expr::Literal { value: Value::Null, data_type: DataType::Unknown };
        let assignment = Assignment::of(target, generated.column, unknown);
        Assignment { value: NewValue::Generated(generated.value.clone()), ..assignment }
    }

    /// The new value; NULL where it is lent. `new`: the new row as far as it is known.
    pub(super) fn compute(&self, both: &Both<'_>, new: &dyn Columns<Stop>, env: Env<'_>) -> Result<Value, Stop> {
        let value = self.computed(both, new, env)?;
        match self.kept {
            true => Ok(self.lent(&value, both, env)?.into_value()),
            false => Ok(value),
        }
    }

    fn computed(&self, both: &Both<'_>, new: &dyn Columns<Stop>, env: Env<'_>) -> Result<Value, Stop> {
        let expr = match &self.value {
            // What is not of its type is noticed where it is lent; only a string may have to be made to fit.
            NewValue::Operand(operand) if is_limited(self.data_type) && operand.value(env.params).is_none() => {
                return operand.converted(env);
            }
            NewValue::Operand(_) => return Ok(Value::Null),
            NewValue::Beside(column) => return self.beside(both.beside(*column)?, env),
            NewValue::Sum(sum, expr) => match sum.value(both.old.layout, both.old.value, env.params)? {
                Some(value) => return Ok(value),
                None => expr,
            },
            NewValue::Computed(expr) => expr,
            NewValue::Generated(expr) => {
                return Ok(settle(env::eval(expr, new, env.stored())?, self.data_type, env.eval)?);
            }
        };
        Ok(settle(env::eval(expr, both, env)?, self.data_type, env.eval)?)
    }

    /// The column of the row beside the old one whose value this is, as it stands.
    pub(super) fn as_beside(&self) -> Option<usize> {
        match self.value {
            NewValue::Beside(column) if !self.kept && !is_limited(self.data_type) => Some(column),
            _ => None,
        }
    }

    /// Whether no expression is evaluated.
    pub(super) fn evaluates_nothing(&self) -> bool {
        !matches!(self.value, NewValue::Computed(_) | NewValue::Generated(_))
    }

    /// Whether it can be done while this is held.
    pub(super) fn is_evaluable(&self, held: Held) -> bool {
        match &self.value {
            NewValue::Computed(expr) | NewValue::Generated(expr) => held.allows(expr),
            _ => true,
        }
    }

    /// The new value, lent from where it is, or from what was computed.
    pub(super) fn value<'v>(
        &'v self,
        computed: &'v Value,
        both: &'v Both<'_>,
        env: Env<'v>,
    ) -> Result<Datum<'v>, Stop> {
        match self.kept {
            true => Ok(Datum::Lent(computed.into())),
            false => self.lent(computed, both, env),
        }
    }

    fn lent<'v>(&'v self, computed: &'v Value, both: &'v Both<'_>, env: Env<'v>) -> Result<Datum<'v>, Stop> {
        let computed = ValueRef::from(computed);
        match &self.value {
            NewValue::Operand(operand) if computed.is_null() => {
                operand.value(env.params).map(Datum::Lent).ok_or(Stop::Unfit)
            }
            NewValue::Beside(column) if computed.is_null() => both.beside(*column),
            _ => Ok(Datum::Lent(computed)),
        }
    }

    fn beside(&self, value: Datum<'_>, env: Env<'_>) -> Result<Value, Stop> {
        match value {
            Datum::Lent(value) if is_limited(self.data_type) => {
                Ok(fitted(value, self.data_type, env.eval)?.unwrap_or(Value::Null))
            }
            Datum::Lent(_) => Ok(Value::Null),
            own => Ok(settle(own, self.data_type, env.eval)?),
        }
    }
}

/// The row that is there, then the row beside it: the one proposed for insertion, a row of the statement's source.
pub(super) struct Both<'a> {
    pub(super) old: &'a Stored<'a>,
    pub(super) beside: Option<&'a dyn Columns<Stop>>,
    pub(super) width: usize,
}

impl<'a> Both<'a> {
    pub(super) fn beside(&self, index: usize) -> Result<Datum<'a>, Stop> {
        self.beside.ok_or_else(|| Error::internal("no row beside the one that changes"))?.column(index)
    }
}

impl Columns<Stop> for Both<'_> {
    fn column(&self, index: usize) -> Result<Datum<'_>, Stop> {
        match index.checked_sub(self.width) {
            None => self.old.column(index),
            Some(index) => self.beside(index),
        }
    }
}
