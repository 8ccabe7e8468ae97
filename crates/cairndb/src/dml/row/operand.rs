//! Values that are known when a statement starts.

use super::fit::fitted;
use super::{Env, Stop};
use crate::Value;
use crate::plan::Expr;
use crate::types::Params;
use crate::types::{DataType, ValueRef};

/// A parameter or a literal, for a column of a known type.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    source: Source,
    data_type: DataType,
}

#[derive(Clone, Debug)]
enum Source {
    Parameter(usize),
    Literal(Value),
}

impl Operand {
    /// `expr` as a value of a column of type `to`, if it is one without computing.
    pub(crate) fn of(expr: &Expr, to: DataType) -> Option<Operand> {
        let source = match expr {
            Expr::Literal { value, .. } => Source::Literal(ValueRef::from(value).fit(to)?.to_value()),
            Expr::Parameter { index, data_type, .. } if same_values(*data_type, to) => Source::Parameter(*index),
            // An integer of another type: one that is beyond the column's does not fit.
            Expr::Call { function, args } if function.is_equal_integer() => match args.as_slice() {
                [Expr::Parameter { index, .. }] => Source::Parameter(*index),
                _ => return None,
            },
            Expr::Cast { input, to: cast } if *cast == to && same_values(input.data_type(), to) => {
                return Operand::of(input, to);
            }
            _ => return None,
        };
        Some(Operand { source, data_type: to })
    }

    /// Appends the value, as the column holds it; false: it needs converting first.
    #[inline]
    pub(crate) fn push<'v>(&'v self, params: &'v dyn Params, values: &mut Vec<ValueRef<'v>>) -> bool {
        // It is looked at where it comes to lie: most are of the column's type, and are copied once.
        let at = values.len();
        match &self.source {
            Source::Parameter(index) => values.push(params.value(*index)),
            Source::Literal(value) => values.push(value.into()),
        }
        let value = &mut values[at];
        value.is_of(self.data_type) || value.fit(self.data_type).map(|fitted| *value = fitted).is_some()
    }

    /// The value, as the column holds it; `None`: it needs converting first.
    #[inline]
    pub(crate) fn value<'v>(&'v self, params: &'v dyn Params) -> Option<ValueRef<'v>> {
        match &self.source {
            Source::Parameter(index) => params.value(*index).fit(self.data_type),
            Source::Literal(value) => Some(value.into()),
        }
    }

    /// A value that is not as the column holds it, made so: a string of another length. [`Stop::Unfit`]: it is more than
    /// that.
    pub(super) fn converted(&self, env: Env<'_>) -> Result<Value, Stop> {
        let value = match &self.source {
            Source::Parameter(index) => env.params.value(*index),
            Source::Literal(value) => value.into(),
        };
        match (value, fitted(value, self.data_type, env.eval)?) {
            (_, Some(fitted)) => Ok(fitted),
            (ValueRef::Text(text), None) if self.data_type.is_string() => Ok(Value::Text(text.into())),
            _ => Err(Stop::Unfit),
        }
    }
}

/// Values of the two types are the same but for their length, which [`ValueRef::fit`] checks.
fn same_values(from: DataType, to: DataType) -> bool {
    let is_text = |data_type| matches!(data_type, DataType::Text | DataType::Varchar(_));
    from == to || (is_text(from) && is_text(to))
}
