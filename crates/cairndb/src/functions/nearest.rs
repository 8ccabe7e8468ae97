//! The value of a key's type that is nearest to a value of another type of its family: how an index of integers is asked for
//! what a number, a float or a wider integer equals or bounds, and one of days for a moment.
//!
//! - Both are compared as the operator between the two types compares them: what is given is found by asking that for values of
//!   the key's type, which it orders as the key does. So infinities, NaN, -0, days of 23 hours and values beyond the key's
//!   type need no rules of their own.
//! - NULL: there is no such value. A key has none, and so there is no row.
//! - Where several of the key's values equal one of the other's, they lie side by side: from the first that is not less to the last
//!   that is not greater. (An empty span: there are none.)
//! - Bounds are themselves in the range, whichever way the operator has it: above 2.5 is from 3 on, and so is from 2.5 on.
//! - Between moments with and without zone there is no common order where clocks are put forward: bounds are then as wide as the
//!   changes of the zone's clocks close by, and each row is asked again ([`Nearness::Wide`]).

use std::cmp::Ordering;

use super::catalogue::Kernel;
use super::comparison::wide_instant;
use super::support::wrong_arguments;
use super::{Function, Volatility};
use crate::Result;
use crate::types::datetime::{DATE_MAX, DATE_MIN, MICROS_PER_SECOND, Zone, is_infinite};
use crate::types::{Array, DataType, EvalContext, Numeric, Value, compare_f64};

/// Which of the key's values is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearest {
    Equal,
    /// The first that is not less.
    AtLeast,
    /// The first that is greater.
    Above,
    /// The last that is not greater.
    AtMost,
    /// The last that is less.
    Below,
}

/// How values of the other type lie among those of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearness {
    /// At most one of the key's values equals one of them.
    One,
    /// Several may: what equals one is a range.
    Several,
    /// As `One`, but not all that lies in a range has to satisfy the condition.
    Padded,
    /// As `Several`, and not all that lies in a range has to satisfy the condition.
    Wide,
}

impl Nearness {
    /// Whether one of the key's values says all of `=`.
    pub(crate) fn is_one(self) -> bool {
        matches!(self, Nearness::One | Nearness::Padded)
    }

    /// Whether a range says all of the condition.
    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Nearness::One | Nearness::Several)
    }
}

/// What the functions are called.
const NAME: &str = "nearest";
/// Built-in functions have small numbers.
const ENTRY: u64 = 1 << 61;
/// Behind the numbers of [`Nearest`].
const SPANS: u64 = 8;
/// Integers below have floats of their own.
const EXACT_BELOW: f64 = (1u64 << 53) as f64;
/// Micros on both sides of a moment, between which all is known by the offsets in use there: no two of a zone differ by more.
const NEAR: i64 = 26 * HOUR;
const HOUR: i64 = 3600 * MICROS_PER_SECOND;

/// Whether values of type `value` are compared with a key by the order of the key, cast to `compared`, and how.
pub(crate) fn nearness(key: DataType, compared: DataType, value: DataType) -> Option<Nearness> {
    use DataType::{
        BigInt, Char, Date, Double, Integer, Name, Numeric, Real, SmallInt, Text, Timestamp, TimestampTz, Varchar,
    };
    let is_integer = |data_type: DataType| matches!(data_type, SmallInt | Integer | BigInt);
    let is_float = |data_type: DataType| matches!(data_type, Real | Double);
    Some(match (key.base(), compared, value.base()) {
        (key, compared, value) if is_integer(key) && is_integer(compared) && is_integer(value) => Nearness::One,
        (SmallInt | Integer | BigInt, Numeric(None), Numeric(_)) => Nearness::One,
        // (Large ones are rounded.)
        (BigInt, Double, value) if is_float(value) => Nearness::Several,
        (SmallInt | Integer, Double, value) if is_float(value) => Nearness::One,
        (SmallInt, Real, value) | (Real, Real | Double, value) if is_float(value) => Nearness::One,
        (Date, Date, Timestamp(_)) | (Timestamp(_), Timestamp(None), Date) => Nearness::One,
        (TimestampTz(_), TimestampTz(None), Date | Timestamp(_)) => Nearness::One,
        // (A day that a zone left out begins when the next one does.)
        (Date, Date, TimestampTz(_)) => Nearness::Several,
        (Timestamp(_), Timestamp(None), TimestampTz(_)) => Nearness::Wide,
        (Char(_), Text | Varchar(None), Text | Varchar(_) | Name) => Nearness::Padded,
        _ => return None,
    })
}

impl Function {
    /// The function of a value that gives a key's nearest one; of types of which there is a [`nearness`].
    pub(crate) fn nearest(key: DataType, value: DataType, which: Nearest) -> Function {
        let kernel = match which {
            Nearest::Equal => of_value::<EQUAL>,
            Nearest::AtLeast => of_value::<AT_LEAST>,
            Nearest::Above => of_value::<ABOVE>,
            Nearest::AtMost => of_value::<AT_MOST>,
            Nearest::Below => of_value::<BELOW>,
        };
        Function::of_nearest([value.base()], key.base(), which, kernel)
    }

    /// As [`Function::nearest`], of the elements of an array that equal a key: the others are left out.
    pub(crate) fn nearest_elements(keys: DataType, values: DataType) -> Function {
        Function::of_nearest([values], keys, Nearest::Equal, of_elements)
    }

    /// Where keys lie that equal a value, or one of an array's: in an array of the key's type two ends for each span that is not
    /// empty. It is no constant's, however constant its argument is: what it gives is of no meaning but to who asks for keys.
    pub(crate) fn nearest_spans(keys: DataType, value: DataType) -> Function {
        let spans = Function::of_nearest([value.base()], keys, Nearest::Equal, of_spans);
        Function { entry: ENTRY | SPANS, folds: false, ..spans }
    }

    fn of_nearest(
        args: [DataType; 1],
        returns: DataType,
        which: Nearest,
        kernel: fn(&Function, &[Value], &EvalContext) -> Result<Value>,
    ) -> Function {
        let in_zone =
            |data_type: DataType| matches!(data_type.element().unwrap_or(data_type), DataType::TimestampTz(_));
        // Folded in no zone but the session's, which is known when the statement runs.
        let immutable = !in_zone(returns) && !in_zone(args[0]);
        let volatility = if immutable { Volatility::Immutable } else { Volatility::Stable };
        let found = Function::new(NAME, args, returns, Kernel::Typed(kernel));
        Function { entry: ENTRY | which as u64, volatility, folds: immutable, ..found }
    }

    /// Whether it gives a key's nearest value.
    pub(crate) fn is_nearest(&self) -> bool {
        self.entry & ENTRY != 0 && self.name == NAME
    }

    /// Whether it gives spans, two ends for each.
    pub(crate) fn is_spans(&self) -> bool {
        self.is_nearest() && self.entry == ENTRY | SPANS
    }

    /// Whether it gives the integer that is equal, of a type that may not have it.
    pub(crate) fn is_equal_integer(&self) -> bool {
        let is_integer = |data_type: DataType| data_type.is_integer();
        self.is_nearest()
            && self.entry == ENTRY | Nearest::Equal as u64
            && is_integer(self.returns)
            && self.args.iter().all(|arg| is_integer(*arg))
    }
}

const EQUAL: u8 = 0;
const AT_LEAST: u8 = 1;
const ABOVE: u8 = 2;
const AT_MOST: u8 = 3;
const BELOW: u8 = 4;

fn of_value<const WHICH: u8>(function: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    match args {
        [value] => Ok(nearest::<WHICH>(function.returns, value, context)),
        _ => Err(wrong_arguments(args)),
    }
}

fn of_elements(function: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let (Some(key), [Value::Array(array)]) = (function.returns.element(), args) else {
        return Err(wrong_arguments(args));
    };
    let found = array.values().iter().filter(|value| !value.is_null());
    let found = found.map(|value| nearest::<EQUAL>(key.base(), value, context)).filter(|value| !value.is_null());
    Ok(Array::new(key, found.collect()).into())
}

fn of_spans(function: &Function, args: &[Value], context: &EvalContext) -> Result<Value> {
    let (Some(keys), [value]) = (function.returns.element(), args) else { return Err(wrong_arguments(args)) };
    let key = keys.base();
    let mut ends = vec![];
    let mut add = |value: &Value| {
        let from = nearest::<AT_LEAST>(key, value, context);
        let to = nearest::<AT_MOST>(key, value, context);
        if !from.is_null() && !to.is_null() && from.compare(&to).is_le() {
            ends.extend([from, to]);
        }
    };
    match value {
        Value::Array(array) => array.values().iter().filter(|value| !value.is_null()).for_each(&mut add),
        value => add(value),
    }
    Ok(Array::new(keys, ends).into())
}

fn nearest<const WHICH: u8>(key: DataType, value: &Value, context: &EvalContext) -> Value {
    if key.is_integer()
        && let Some((whole, is_equal)) = whole(value)
    {
        return of_whole::<WHICH>(key, whole, is_equal);
    }
    match (key, value) {
        (DataType::Char(_), Value::Text(text)) => unpadded::<WHICH>(text),
        (DataType::Timestamp(_), Value::TimestampTz(instant)) => {
            Value::Timestamp(local_bound(*instant, &Zone::of(context), matches!(WHICH, AT_LEAST | ABOVE)))
        }
        _ => searched::<WHICH>(key, value, context),
    }
}

/// The last integer that is not greater, and whether it is equal, where that is found without asking: of what is not beyond the
/// integers that are all floats, and of a short numeric.
fn whole(value: &Value) -> Option<(i64, bool)> {
    let of_float = |float: f64| (float.abs() < EXACT_BELOW).then(|| (float.floor() as i64, float.floor() == float));
    match value {
        Value::Real(float) => of_float((*float).into()),
        Value::Double(float) => of_float(*float),
        Value::Numeric(number) => {
            let (mantissa, scale) = number.as_small()?;
            let unit = 10i64.checked_pow(scale.into())?;
            Some((mantissa.div_euclid(unit), mantissa.rem_euclid(unit) == 0))
        }
        value => Some((value.as_i64()?, true)),
    }
}

/// The integer key nearest to what is equal to `whole`, or else lies between it and the next.
fn of_whole<const WHICH: u8>(key: DataType, whole: i64, is_equal: bool) -> Value {
    let whole = i128::from(whole);
    let (least, last) = places(key);
    let (least, last) = (i128::from(least), i128::from(last));
    let found = match WHICH {
        EQUAL => Some(whole).filter(|whole| is_equal && (least..=last).contains(whole)),
        AT_LEAST | ABOVE => {
            let first = whole + i128::from(WHICH == ABOVE || !is_equal);
            (first <= last).then(|| first.max(least))
        }
        _ => {
            let found = whole - i128::from(WHICH == BELOW && is_equal);
            (found >= least).then(|| found.min(last))
        }
    };
    found.map_or(Value::Null, |place| at_place(key, place as i64))
}

/// A value of `char(n)` as text has no blanks at its end.
fn unpadded<const WHICH: u8>(text: &str) -> Value {
    match text.trim_end_matches(' ') {
        kept if kept.len() == text.len() => Value::text(text),
        _ if WHICH == EQUAL => Value::Null,
        kept if matches!(WHICH, AT_LEAST | ABOVE) => Value::text(kept),
        // Those that go on with a blank lie before it.
        kept => Value::text(format!("{kept}!")),
    }
}

/// The earliest, or else the latest, local time that may be of the instant.
fn local_bound(instant: i64, zone: &Zone, earliest: bool) -> i64 {
    if is_infinite(instant) {
        return instant;
    }
    let hours = (-NEAR / HOUR)..=(NEAR / HOUR);
    let offsets = hours.map(|hour| zone.offset_at(instant.saturating_add(hour * HOUR)));
    let offset = if earliest { offsets.min() } else { offsets.max() }.unwrap_or(0);
    instant.saturating_add(i64::from(offset) * MICROS_PER_SECOND)
}

/// By asking for halves of all that there are.
fn searched<const WHICH: u8>(key: DataType, value: &Value, context: &EvalContext) -> Value {
    let other = Other::of(key, value, context);
    let (least, last) = places(key);
    let order = |place: i64| other.compared_with(&at_place(key, place));
    let wanted = if matches!(WHICH, ABOVE | AT_MOST) { Ordering::Greater } else { Ordering::Equal };
    let first = first_place(least, last, |place| order(place) >= wanted);
    let found = match WHICH {
        EQUAL => first.filter(|place| order(*place).is_eq()),
        AT_LEAST | ABOVE => first,
        _ => match first {
            Some(place) => (place > least).then(|| place - 1),
            None => Some(last),
        },
    };
    found.map_or(Value::Null, |place| at_place(key, place))
}

/// The first place from which on the condition holds.
fn first_place(least: i64, last: i64, holds: impl Fn(i64) -> bool) -> Option<i64> {
    if !holds(last) {
        return None;
    }
    let (mut low, mut high) = (i128::from(least), i128::from(last));
    while low < high {
        let middle = (low + high).div_euclid(2);
        if holds(middle as i64) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high as i64)
}

/// What a key's values are compared with.
enum Other<'v> {
    Value(&'v Value),
    Float(f64),
    Instant(i128, Zone),
}

impl<'v> Other<'v> {
    fn of(key: DataType, value: &'v Value, context: &EvalContext) -> Other<'v> {
        match value {
            Value::Date(_) | Value::Timestamp(_) | Value::TimestampTz(_) => {
                let is_zoned = matches!((key, value), (DataType::TimestampTz(_), _) | (_, Value::TimestampTz(_)));
                let zone = if is_zoned { Zone::of(context) } else { Zone::UTC };
                Other::Instant(wide_instant(value, &zone), zone)
            }
            Value::Real(float) => Other::Float((*float).into()),
            Value::Double(float) => Other::Float(*float),
            value => Other::Value(value),
        }
    }

    /// How a key's value lies to it.
    fn compared_with(&self, key: &Value) -> Ordering {
        match (self, key) {
            (Other::Instant(instant, zone), key) => wide_instant(key, zone).cmp(instant),
            (Other::Float(float), Value::Real(key)) => compare_f64((*key).into(), *float),
            (Other::Float(float), key) => compare_f64(key.as_i64().unwrap_or(0) as f64, *float),
            (Other::Value(Value::Numeric(number)), key) => Numeric::small(key.as_i64().unwrap_or(0), 0).cmp(number),
            (Other::Value(value), key) => key.compare(value),
        }
    }
}

/// The places of a type's values, in their order: the first and the last.
fn places(key: DataType) -> (i64, i64) {
    match key {
        DataType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        DataType::Integer => (i32::MIN.into(), i32::MAX.into()),
        DataType::Date => (DATE_MIN - 1, DATE_MAX + 1),
        DataType::Real => (-INFINITY_PLACE, INFINITY_PLACE + 1),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Of a positive float its bits are its place; NaN has the one behind infinity.
const INFINITY_PLACE: i64 = f32::INFINITY.to_bits() as i64;

fn at_place(key: DataType, place: i64) -> Value {
    match key {
        DataType::SmallInt => Value::SmallInt(place as i16),
        DataType::Integer => Value::Integer(place as i32),
        // (The infinities lie beside the days that there are.)
        DataType::Date if place < DATE_MIN => Value::Date(i32::MIN),
        DataType::Date if place > DATE_MAX => Value::Date(i32::MAX),
        DataType::Date => Value::Date(place as i32),
        DataType::Timestamp(_) => Value::Timestamp(place),
        DataType::TimestampTz(_) => Value::TimestampTz(place),
        DataType::Real if place > INFINITY_PLACE => Value::Real(f32::NAN),
        DataType::Real if place < 0 => Value::Real(-f32::from_bits(place.unsigned_abs() as u32)),
        DataType::Real => Value::Real(f32::from_bits(place as u32)),
        _ => Value::BigInt(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each way, of the integer key, the value that is compared as the operator does it.
    fn all(key: DataType, value: &Value) -> [Value; 5] {
        let which = [Nearest::Equal, Nearest::AtLeast, Nearest::Above, Nearest::AtMost, Nearest::Below];
        let data_type = crate::types::ValueRef::from(value).data_type().unwrap_or(key);
        let context = EvalContext::default();
        which.map(|which| {
            Function::nearest(key, data_type, which).call(std::slice::from_ref(value), &context).expect("a value")
        })
    }

    #[test]
    fn what_is_between_two_keys_equals_none_and_bounds_at_the_next() {
        let two_and_a_half = [Value::Double(2.5), Value::Numeric(Numeric::small(25, 1))];
        for value in two_and_a_half {
            let [two, three] = [Value::Integer(2), Value::Integer(3)];
            assert_eq!(all(DataType::Integer, &value), [Value::Null, three.clone(), three, two.clone(), two]);
        }
        let whole = [3, 3, 4, 3, 2].map(Value::Integer);
        assert_eq!(all(DataType::Integer, &Value::Numeric(Numeric::small(300, 2))), whole);
        assert_eq!(all(DataType::Integer, &Value::BigInt(3)), whole);
    }

    #[test]
    fn what_lies_beyond_the_keys_has_none_on_its_side() {
        let null = || Value::Null;
        let (least, last) = (|| Value::SmallInt(i16::MIN), || Value::SmallInt(i16::MAX));
        let above = [Value::BigInt(40_000), Value::Double(f64::INFINITY), Value::Double(f64::NAN)];
        for value in above.into_iter().chain([Value::Numeric(Numeric::NAN)]) {
            assert_eq!(all(DataType::SmallInt, &value), [null(), null(), null(), last(), last()]);
        }
        for value in [Value::BigInt(i64::MIN), Value::Double(f64::NEG_INFINITY)] {
            assert_eq!(all(DataType::SmallInt, &value), [null(), least(), least(), null(), null()]);
        }
        let edge = all(DataType::SmallInt, &Value::Integer(i16::MAX.into()));
        assert_eq!(edge, [last(), last(), null(), last(), Value::SmallInt(i16::MAX - 1)]);
    }

    #[test]
    fn floats_are_found_among_narrower_ones() {
        let tenth = f64::from(0.1f32);
        assert_eq!(all(DataType::Real, &Value::Double(tenth))[0], Value::Real(0.1));
        let [equal, at_least, above, at_most, below] = all(DataType::Real, &Value::Double(0.1));
        assert_eq!((equal, at_most, below.clone()), (Value::Null, below, Value::Real(0.1f32.next_down())));
        assert_eq!((at_least, above), (Value::Real(0.1), Value::Real(0.1)));
        let nan = all(DataType::Real, &Value::Double(f64::NAN));
        assert_eq!((&nan[0], &nan[2], &nan[4]), (&Value::Real(f32::NAN), &Value::Null, &Value::Real(f32::INFINITY)));
        let huge = all(DataType::Real, &Value::Double(1e300));
        assert_eq!((&huge[1], &huge[3]), (&Value::Real(f32::INFINITY), &Value::Real(f32::MAX)));
        assert_eq!(all(DataType::Real, &Value::Double(-0.0))[0], Value::Real(0.0));
    }

    #[test]
    fn what_is_found_without_asking_is_what_asking_finds() {
        let floats = [-4_503_599_627_370_496.5, -2.5, -2.0, -0.0, 0.1, 32_767.0, 32_768.5, 2_147_483_648.0, 9e15];
        let numbers =
            [(-25, 1), (-20, 1), (0, 3), (7, 0), (32_767_999, 3), (i64::MAX, 0), (i64::MIN, 0), (i64::MIN, 18)];
        let numbers = numbers.map(|(mantissa, scale)| Value::Numeric(Numeric::small(mantissa, scale)));
        let context = EvalContext::default();
        for value in floats.into_iter().map(Value::Double).chain(numbers) {
            for key in [DataType::SmallInt, DataType::Integer, DataType::BigInt] {
                assert!(whole(&value).is_some(), "{value:?}");
                let asked = [
                    searched::<EQUAL>(key, &value, &context),
                    searched::<AT_LEAST>(key, &value, &context),
                    searched::<ABOVE>(key, &value, &context),
                    searched::<AT_MOST>(key, &value, &context),
                    searched::<BELOW>(key, &value, &context),
                ];
                assert_eq!(all(key, &value), asked, "{key:?} {value:?}");
            }
        }
    }

    #[test]
    fn spans_are_those_that_have_keys() {
        let values = [2.0, 2.5, f64::NAN, 1e300, (1i64 << 53) as f64].map(Value::Double).into_iter();
        let array = Value::from(Array::new(DataType::Double, values.chain([Value::Null]).collect()));
        let array_of = |element: DataType| element.array().expect("has arrays");
        let spans = Function::nearest_spans(array_of(DataType::BigInt), array_of(DataType::Double));
        let found = spans.call(&[array], &EvalContext::default()).expect("spans");
        let ends = [2, 2, 1 << 53, (1 << 53) + 1].map(Value::BigInt).to_vec();
        assert_eq!(found, Array::new(DataType::BigInt, ends).into());
    }

    #[test]
    fn large_integers_that_are_rounded_alike_are_a_range() {
        let [_, from, _, to, _] = all(DataType::BigInt, &Value::Double((1i64 << 53) as f64));
        assert_eq!((from, to), (Value::BigInt(1 << 53), Value::BigInt((1 << 53) + 1)));
    }
}
