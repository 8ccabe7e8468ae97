//! A date compared with a known timestamp, as a comparison of dates.
//!
//! `date '1994-01-01' + interval '1 year'` is a timestamp, but an index over dates answers only comparisons with dates,
//! and these are also the quicker ones.

use crate::functions::{Function, Operator, exact_overload};
use crate::plan::expressions::expr::Expr;
use crate::types::datetime::split_timestamp;
use crate::types::{DataType, Value};

/// The comparison over dates that says the same; `None`: there is none.
pub(super) fn as_dates(function: &Function, args: &[Expr]) -> Option<Expr> {
    let (date, timestamp, op) = match (args, function.op?) {
        ([date, Expr::Literal { value: Value::Timestamp(at), .. }], op) => (date, *at, op),
        ([Expr::Literal { value: Value::Timestamp(at), .. }, date], op) => (date, *at, op.commuted()?),
        _ => return None,
    };
    if !op.is_comparison() || date.data_type() != DataType::Date || matches!(timestamp, i64::MIN | i64::MAX) {
        return None;
    }
    let (day, time) = split_timestamp(timestamp);
    // No day begins within a day: it lies before or behind.
    let op = match op {
        op if time == 0 => op,
        Operator::Less | Operator::LessEqual => Operator::LessEqual,
        Operator::Greater | Operator::GreaterEqual => Operator::Greater,
        _ => return None,
    };
    let value = Value::Date(i32::try_from(day).ok()?);
    let function = exact_overload(op.symbol(), &[DataType::Date, DataType::Date])?;
    let day = Expr::Literal { value, data_type: DataType::Date };
    Some(Expr::Call { function, args: vec![date.clone(), day] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::EvalContext;
    use crate::types::datetime::MICROS_PER_DAY;

    /// Around a day, with and without a time of day: both say the same of every date near by.
    #[test]
    fn the_comparison_of_dates_says_what_that_of_timestamps_says() {
        let context = EvalContext::default();
        let literal = |value: Value, data_type| Expr::Literal { value, data_type };
        let holds = |function: &Function, args: &[Value]| function.call(args, &context).unwrap();
        let mut rewritten = 0;
        for symbol in ["=", "<>", "<", "<=", ">", ">="] {
            for at in [-MICROS_PER_DAY - 1, -MICROS_PER_DAY, -1, 0, 1, MICROS_PER_DAY - 1, MICROS_PER_DAY] {
                for swapped in [false, true] {
                    let order = |mut pair: Vec<Expr>| {
                        if swapped {
                            pair.reverse();
                        }
                        pair
                    };
                    let types = order(vec![
                        Expr::Column { index: 0, data_type: DataType::Date },
                        literal(Value::Timestamp(at), DataType::TIMESTAMP),
                    ]);
                    let function = exact_overload(symbol, &[types[0].data_type(), types[1].data_type()]).unwrap();
                    let Some(Expr::Call { function: by_date, args }) = as_dates(&function, &types) else {
                        assert!(matches!(symbol, "=" | "<>") && at % MICROS_PER_DAY != 0);
                        continue;
                    };
                    let Expr::Literal { value: limit, .. } = &args[1] else { panic!("a literal on the right") };
                    rewritten += 1;
                    for day in -3..=3 {
                        let pair = if swapped {
                            [Value::Timestamp(at), Value::Date(day)]
                        } else {
                            [Value::Date(day), Value::Timestamp(at)]
                        };
                        let found = holds(&by_date, &[Value::Date(day), limit.clone()]);
                        assert_eq!(found, holds(&function, &pair), "{day} {symbol} {at}, swapped: {swapped}");
                    }
                }
            }
        }
        assert!(rewritten > 60);
    }
}
