//! `to_char`, `to_date`, `to_timestamp`, `to_number`: PostgreSQL's template patterns.

mod number;
mod pattern;
mod read_time;
mod write_time;

use super::catalogue::Catalogue;
use super::support::call;
use crate::types::datetime::Zone;
use crate::types::{DataType, Numeric, Value};
use number::Shown;

const TEXT: DataType = DataType::Text;
const N: DataType = DataType::Numeric(None);

pub(super) fn register(catalogue: &mut Catalogue) {
    use DataType::{BigInt, Date, Double, Integer, Real};
    catalogue
        .add(
            "to_char",
            &[DataType::TIMESTAMP, TEXT],
            TEXT,
            call!((Timestamp t, Text f) {
                write_time::timestamp_to_char(*t, None, f)
            }),
        )
        .stable_in_name();
    catalogue
        .add(
            "to_char",
            &[DataType::TIMESTAMPTZ, TEXT],
            TEXT,
            call!((TimestampTz t, Text f), context {
                write_time::timestamp_to_char(*t, Some(&Zone::of(context)), f)
            }),
        )
        .stable();
    catalogue
        .add(
            "to_char",
            &[DataType::INTERVAL, TEXT],
            TEXT,
            call!((Interval i, Text f) write_time::interval_to_char(*i, f)),
        )
        .stable_in_name();
    catalogue
        .add("to_char", &[N, TEXT], TEXT, call!((Numeric n, Text f) number::to_char(&Shown::Exact(n), f)))
        .stable_in_name();
    catalogue
        .add(
            "to_char",
            &[Integer, TEXT],
            TEXT,
            call!((Integer n, Text f) number::to_char(&Shown::Exact(&Numeric::from(*n)), f)),
        )
        .stable_in_name();
    catalogue
        .add(
            "to_char",
            &[BigInt, TEXT],
            TEXT,
            call!((BigInt n, Text f) number::to_char(&Shown::Exact(&Numeric::from(*n)), f)),
        )
        .stable_in_name();
    catalogue
        .add("to_char", &[Double, TEXT], TEXT, call!((Double n, Text f) number::to_char(&Shown::double(*n), f)))
        .stable_in_name();
    catalogue
        .add("to_char", &[Real, TEXT], TEXT, call!((Real n, Text f) number::to_char(&Shown::real(*n), f)))
        .stable_in_name();
    catalogue
        .add("to_number", &[TEXT, TEXT], N, call!((Text t, Text f) number::to_number(t, f).map(Value::Numeric)))
        .stable_in_name();
    catalogue.add("to_date", &[TEXT, TEXT], Date, call!((Text t, Text f) read_time::to_date(t, f))).stable_in_name();
    catalogue
        .add(
            "to_timestamp",
            &[TEXT, TEXT],
            DataType::TIMESTAMPTZ,
            call!((Text t, Text f), context {
                read_time::to_timestamp(t, f, context)
            }),
        )
        .bounded()
        .stable();
}
