//! Of the extension `tablefunc` what asks no query.

use super::catalogue::Catalogue;
use super::support::wrong_arguments;
use super::{Declared, random};
use crate::types::{DataType, Generator, Value};
use crate::{Error, Result, SqlState};

use super::rows::SetRows;

pub(super) fn register(catalogue: &mut Catalogue) {
    let [count, number] = [DataType::Integer, DataType::Double].map(Declared::Type);
    let args = [count, number, number];
    catalogue
        .add_rows("normal_rand", &args, &[("", number)], |_, args, context| match args {
            [Value::Integer(count), Value::Double(mean), Value::Double(deviation)] => {
                normal_numbers(*count, *mean, *deviation, random::unit(context))
            }
            _ => Err(wrong_arguments(args)),
        })
        .volatile();
}

/// So many numbers of the normal distribution, as they are asked for; `from`, in [0, 1), says which. SQLSTATE 22023.
fn normal_numbers(count: i32, mean: f64, deviation: f64, from: f64) -> Result<SetRows> {
    let count = usize::try_from(count)
        .map_err(|_| Error::new(SqlState::INVALID_PARAMETER_VALUE, "number of rows cannot be negative"))?;
    let generator = Generator::default();
    generator.seed(from);
    let next = move || {
        // By Box and Muller.
        let (radius, turn) = (1.0 - generator.unit(), generator.unit());
        let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        Ok(vec![Value::Double(mean + deviation * normal)])
    };
    Ok(SetRows::Own(Box::new(std::iter::repeat_with(next).take(count))))
}
