//! `=`, `<>`, `<`, `<=`, `>`, `>=` for every type, and among integers, among floats, among dates and timestamps;
//! `greatest` and `least`.

use std::cmp::Ordering;

use super::catalogue::{Catalogue, Eval};
use super::support::wrong_arguments;
use super::{Declared, Function, Operator};
use crate::Result;
use crate::types::datetime::Zone;
use crate::types::{DataType, EvalContext, ExtensionTypeKind, Reg as Of, Value, compare_blank_padded};

/// Compared as values of one type are. Those that most comparisons are of come first: that is where the choice among them begins.
static PLAIN: [[DataType; 2]; 31] = {
    use DataType::*;
    [
        [Integer, Integer],
        [BigInt, Integer],
        [BigInt, BigInt],
        [Text, Text],
        [Boolean, Boolean],
        [SmallInt, SmallInt],
        [SmallInt, Integer],
        [SmallInt, BigInt],
        [Integer, SmallInt],
        [Integer, BigInt],
        [BigInt, SmallInt],
        [Real, Real],
        [Real, Double],
        [Double, Real],
        [Double, Double],
        [Numeric(None), Numeric(None)],
        [Bytea, Bytea],
        [Date, Date],
        [DataType::TIME, DataType::TIME],
        [DataType::TIMETZ, DataType::TIMETZ],
        [DataType::TIMESTAMP, DataType::TIMESTAMP],
        [DataType::TIMESTAMPTZ, DataType::TIMESTAMPTZ],
        [DataType::INTERVAL, DataType::INTERVAL],
        [Uuid, Uuid],
        [Jsonb, Jsonb],
        [Name, Name],
        [InternalChar, InternalChar],
        [Oid, Oid],
        [Inet, Inet],
        [Macaddr, Macaddr],
        [Macaddr8, Macaddr8],
    ]
};

static BLANK_PADDED: [DataType; 2] = [DataType::Char(0), DataType::Char(0)];

/// Compared as timestamps, whatever the session's time zone.
static DATE_AND_TIMESTAMP: [[DataType; 2]; 2] =
    [[DataType::Date, DataType::TIMESTAMP], [DataType::TIMESTAMP, DataType::Date]];

/// Compared as instants: what a local time is depends on the session's time zone.
static LOCAL_AND_ZONED: [[DataType; 2]; 4] = {
    use DataType::*;
    [
        [Date, DataType::TIMESTAMPTZ],
        [DataType::TIMESTAMPTZ, Date],
        [DataType::TIMESTAMP, DataType::TIMESTAMPTZ],
        [DataType::TIMESTAMPTZ, DataType::TIMESTAMP],
    ]
};

/// `greatest` and `least` of the same type.
static EXTREMES: [[DataType; 1]; 32] = {
    use DataType::*;
    [
        [Boolean],
        [SmallInt],
        [Integer],
        [BigInt],
        [Real],
        [Double],
        [Numeric(None)],
        [Text],
        [Varchar(None)],
        [Char(0)],
        [Bytea],
        [Date],
        [DataType::TIME],
        [DataType::TIMETZ],
        [DataType::TIMESTAMP],
        [DataType::TIMESTAMPTZ],
        [DataType::INTERVAL],
        [Uuid],
        [Jsonb],
        [Name],
        [InternalChar],
        [Oid],
        [Reg(Of::Class)],
        [Reg(Of::Type)],
        [Reg(Of::Proc)],
        [Reg(Of::Procedure)],
        [Reg(Of::Namespace)],
        [Reg(Of::Role)],
        [Inet],
        [Cidr],
        [Macaddr],
        [Macaddr8],
    ]
};

pub(super) fn register(catalogue: &mut Catalogue) {
    register_operator::<EQUAL>(catalogue, Operator::Equal);
    register_operator::<NOT_EQUAL>(catalogue, Operator::NotEqual);
    register_operator::<LESS>(catalogue, Operator::Less);
    register_operator::<LESS_EQUAL>(catalogue, Operator::LessEqual);
    register_operator::<GREATER>(catalogue, Operator::Greater);
    register_operator::<GREATER_EQUAL>(catalogue, Operator::GreaterEqual);
    for types in &EXTREMES {
        catalogue.add("greatest", types, types[0], extreme::<true>).bounded().variadic().syntax().called_on_null();
        catalogue.add("least", types, types[0], extreme::<false>).bounded().variadic().syntax().called_on_null();
    }
    for any in [Declared::Array, Declared::Enum, CITEXT, HSTORE, Declared::Record] {
        let greatest = |_: &Function, args: &[Value], context: &EvalContext| extreme::<true>(args, context);
        catalogue.add_polymorphic("greatest", &[any], any, greatest).bounded().variadic().syntax().called_on_null();
        let least = |_: &Function, args: &[Value], context: &EvalContext| extreme::<false>(args, context);
        catalogue.add_polymorphic("least", &[any], any, least).bounded().variadic().syntax().called_on_null();
    }
}

fn register_operator<const OP: u8>(catalogue: &mut Catalogue, op: Operator) {
    let mut add = |types: &'static [DataType; 2], eval: Eval, stable: bool| {
        let function = catalogue.add(op.symbol(), types, DataType::Boolean, eval).bounded().op(op);
        if stable {
            function.stable();
        }
    };
    PLAIN.iter().for_each(|types| add(types, plain::<OP>, false));
    add(&BLANK_PADDED, blank_padded::<OP>, false);
    DATE_AND_TIMESTAMP.iter().for_each(|types| add(types, local::<OP>, false));
    LOCAL_AND_ZONED.iter().for_each(|types| add(types, zoned::<OP>, true));
    let boolean = Declared::Type(DataType::Boolean);
    // Values of hstore have an order, but no signs for it.
    let has_sign = |any: &Declared| *any != HSTORE || matches!(op, Operator::Equal | Operator::NotEqual);
    let all = [Declared::Array, Declared::Enum, CITEXT, HSTORE, Declared::Record];
    for any in all.into_iter().filter(has_sign) {
        let eval = |_: &Function, args: &[Value], context: &EvalContext| plain::<OP>(args, context);
        catalogue.add_polymorphic(op.symbol(), &[any, any], boolean, eval).bounded().op(op);
    }
}

const CITEXT: Declared = Declared::Extension(ExtensionTypeKind::Citext);
const HSTORE: Declared = Declared::Extension(ExtensionTypeKind::Hstore);

const EQUAL: u8 = 0;
const NOT_EQUAL: u8 = 1;
const LESS: u8 = 2;
const LESS_EQUAL: u8 = 3;
const GREATER: u8 = 4;
const GREATER_EQUAL: u8 = 5;

fn holds<const OP: u8>(order: Ordering) -> Result<Value> {
    Ok(Value::Boolean(match OP {
        EQUAL => order.is_eq(),
        NOT_EQUAL => order.is_ne(),
        LESS => order.is_lt(),
        LESS_EQUAL => order.is_le(),
        GREATER => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn plain<const OP: u8>(args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [a, b] => holds::<OP>(a.compare(b)),
        _ => Err(wrong_arguments(args)),
    }
}

fn blank_padded<const OP: u8>(args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [Value::Text(a), Value::Text(b)] => holds::<OP>(compare_blank_padded(a, b)),
        _ => Err(wrong_arguments(args)),
    }
}

fn local<const OP: u8>(args: &[Value], _: &EvalContext) -> Result<Value> {
    match args {
        [a, b] => holds::<OP>(wide_instant(a, &Zone::UTC).cmp(&wide_instant(b, &Zone::UTC))),
        _ => Err(wrong_arguments(args)),
    }
}

fn zoned<const OP: u8>(args: &[Value], context: &EvalContext) -> Result<Value> {
    let zone = Zone::of(context);
    match args {
        [a, b] => holds::<OP>(wide_instant(a, &zone).cmp(&wide_instant(b, &zone))),
        _ => Err(wrong_arguments(args)),
    }
}

/// The instant of a date or timestamp local to `zone`. Dates reach further than timestamps, hence the width.
pub(super) fn wide_instant(value: &Value, zone: &Zone) -> i128 {
    // Behind whatever is not infinite, dates that no timestamp reaches too.
    let infinite = |micros: i64| match micros {
        i64::MAX => Some(i128::MAX),
        i64::MIN => Some(i128::MIN),
        _ => None,
    };
    let local = match *value {
        Value::Date(days) => match crate::types::date_to_timestamp(days) {
            Ok(micros) => micros,
            Err(_) => return i128::from(days) * i128::from(crate::types::datetime::MICROS_PER_DAY),
        },
        Value::Timestamp(micros) => micros,
        Value::TimestampTz(micros) => return infinite(micros).unwrap_or(micros.into()),
        _ => return 0,
    };
    infinite(local).unwrap_or_else(|| zone.to_utc(local).unwrap_or(local).into())
}

/// NULLs are passed over; NULL only if all are.
fn extreme<const GREATEST: bool>(args: &[Value], _: &EvalContext) -> Result<Value> {
    let present = args.iter().filter(|value| !value.is_null());
    let better = |a: &Value, b: &Value| if GREATEST { b.compare(a).is_gt() } else { b.compare(a).is_lt() };
    let best = present.reduce(|best, value| if better(best, value) { value } else { best });
    Ok(best.cloned().unwrap_or(Value::Null))
}
