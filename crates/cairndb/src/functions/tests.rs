//! Every function of the catalogue, called with random values: none panics, and each returns what it declares.

use std::sync::Arc;

use super::{ANY, Declared, Function, aggregate_overloads, exact_overload, function_names, overloads};
use crate::types::testing::{Random, random_value};
use crate::types::{
    DataType, EvalContext, Value, cast, from_text, sample_composite, sample_enum, sample_of_extension, sample_types,
    to_text,
};

const CALLS: usize = 100;
/// Functions whose integer arguments are sizes of their answers.
const SIZED: [&str; 6] = ["repeat", "lpad", "rpad", "format", "factorial", "power"];

/// Of any type, arrays among them.
fn random_type(random: &mut Random) -> DataType {
    let types = sample_types();
    types[random.below(types.len() as u64) as usize]
}

/// What a polymorphic one stands for where its arguments are of a random type.
fn resolved(random: &mut Random, function: &Arc<Function>) -> Arc<Function> {
    let element = loop {
        let data_type = random_type(random).base();
        if !data_type.is_array() {
            break data_type;
        }
    };
    let given = |at| match function.declared(at) {
        Some(Declared::Array | Declared::CompatibleArray) => element.array().unwrap(),
        Some(Declared::Type(data_type)) => data_type,
        Some(Declared::Enum) => sample_enum(),
        Some(Declared::Extension(kind)) => sample_of_extension(kind),
        Some(Declared::Record) => sample_composite(),
        _ => element,
    };
    let given: Vec<DataType> = (0..function.args.len()).map(given).collect();
    let made = function.extension().map(sample_of_extension);
    function.resolve_with(&given, made).unwrap_or_else(|| panic!("{function:?} of {given:?}"))
}

fn random_argument(random: &mut Random, function: &Function, index: usize) -> Value {
    let data_type = match function.declared(index).unwrap() {
        Declared::Type(data_type) => data_type,
        Declared::NonArray => DataType::Integer,
        _ => random_type(random),
    };
    if !function.strict && random.below(4) == 0 {
        return Value::Null;
    }
    match random_value(random, data_type) {
        Value::Integer(n) if SIZED.contains(&&*function.name) => Value::Integer(n % 500),
        Value::BigInt(n) if SIZED.contains(&&*function.name) => Value::BigInt(n % 500),
        Value::Text(_) if random.below(2) == 0 => Value::text(random_template(random)),
        value => value,
    }
}

/// Pieces that mean something to patterns, templates, zones and units.
fn random_template(random: &mut Random) -> String {
    const PIECES: [&str; 28] = [
        "%",
        "_",
        "\\",
        "YYYY",
        "MM",
        "DD",
        "HH24",
        "9",
        "0",
        ".",
        ",",
        "FM",
        "S",
        "PR",
        "th",
        "EEEE",
        "year",
        "week",
        "epoch",
        "UTC",
        "Europe/Berlin",
        "+05:30",
        "hex",
        "(",
        "[a-z]",
        "*",
        "$1",
        "\"x\"",
    ];
    let count = random.below(5);
    (0..count).map(|_| PIECES[random.below(28) as usize]).collect()
}

fn is_of(value: &Value, data_type: DataType) -> bool {
    use DataType as T;
    if let (Value::Array(array), DataType::Array(element)) = (value, data_type) {
        return array.element().base() == element.data_type().base()
            && array.values().iter().all(|value| is_of(value, element.data_type()));
    }
    if let (Value::Composite(row), T::Composite(of)) = (value, data_type) {
        return row.of() == of && row.typed().all(|(data_type, value)| value.is_null() || is_of(value, data_type));
    }
    if let (Value::Citext(text), T::Citext(_)) = (value, data_type) {
        return text.data_type() == data_type;
    }
    if let (Value::Hstore(of), T::Hstore(_)) = (value, data_type) {
        return of.data_type() == data_type;
    }
    if let (Value::Enum(value), T::Enum(of)) = (value, data_type) {
        return value.of() == of;
    }
    matches!(
        (value, data_type.base()),
        (Value::Null, _)
            | (Value::Boolean(_), T::Boolean)
            | (Value::SmallInt(_), T::SmallInt)
            | (Value::Integer(_), T::Integer)
            | (Value::BigInt(_), T::BigInt | T::Oid)
            | (Value::Reg(_), T::Reg(_))
            | (Value::Real(_), T::Real)
            | (Value::Double(_), T::Double)
            | (Value::Numeric(_), T::Numeric(_))
            | (Value::Text(_), T::Text | T::Varchar(_) | T::Char(_) | T::Name | T::InternalChar)
            | (Value::Bytea(_), T::Bytea)
            | (Value::Date(_), T::Date)
            | (Value::Time(_), T::Time(_))
            | (Value::TimeTz(_), T::TimeTz(_))
            | (Value::Timestamp(_), T::Timestamp(_))
            | (Value::TimestampTz(_), T::TimestampTz(_))
            | (Value::Interval(_), T::Interval(_))
            | (Value::Uuid(_), T::Uuid)
            | (Value::Inet(_), T::Inet)
            | (Value::Cidr(_), T::Cidr)
            | (Value::Macaddr(_), T::Macaddr)
            | (Value::Macaddr8(_), T::Macaddr8)
            | (Value::Json(_), T::Json)
            | (Value::JsonPath(_), T::JsonPath)
            | (Value::Jsonb(_), T::Jsonb)
    )
}

#[test]
fn no_function_panics_and_each_returns_its_type() {
    let mut random = Random::new(11);
    let mut context = EvalContext::now();
    context.time_zone = "Europe/Berlin".into();
    for function in function_names().flat_map(overloads).filter(|function| function.is_value()) {
        for _ in 0..CALLS {
            let function = resolved(&mut random, function);
            let repeats = if function.variadic { random.below(3) as usize } else { 0 };
            let count = function.args.len() + repeats;
            let args: Vec<Value> = (0..count).map(|index| random_argument(&mut random, &function, index)).collect();
            match function.run(&args, &context) {
                Ok(value) => assert!(is_of(&value, function.returns), "{function:?}{args:?} gave {value:?}"),
                Err(error) => assert_ne!(error.sqlstate().0, "XX000", "{function:?}{args:?}: {error:?}"),
            }
        }
    }
}

/// Those that only a session answers fail as such; the first rows of the others are of their columns.
#[test]
fn no_function_of_rows_panics_and_each_row_is_of_its_columns() {
    let mut random = Random::new(13);
    let context = EvalContext::now();
    let (mut functions, mut rows) = (0, 0);
    for function in function_names().flat_map(overloads).filter(|function| function.rows().is_some()) {
        functions += 1;
        for _ in 0..CALLS {
            let function = resolved(&mut random, function);
            let columns = function.columns();
            let args: Vec<Value> =
                (0..function.args.len()).map(|index| random_argument(&mut random, &function, index)).collect();
            let mut first_rows = || -> crate::Result<()> {
                let mut each = function.start_rows(&args, &context)?;
                for _ in 0..20 {
                    let mut row = Vec::new();
                    if !each.next_row(&mut row)? {
                        break;
                    }
                    assert_eq!(row.len(), columns.len(), "{function:?}{args:?}");
                    let types = columns.iter().map(|(_, data_type)| *data_type);
                    let fits = |(value, data_type): (&Value, DataType)| value.is_null() || is_of(value, data_type);
                    assert!(row.iter().zip(types).all(fits), "{function:?}{args:?} gave {row:?}, {columns:?}");
                    rows += 1;
                }
                Ok(())
            };
            if let Err(error) = first_rows() {
                assert_ne!(error.sqlstate().0, "XX000", "{function:?}{args:?}: {error:?}");
            }
        }
    }
    assert!(functions > 20 && rows > 200, "{functions} functions gave {rows} rows");
}

#[test]
fn no_aggregate_panics_and_each_returns_its_type() {
    let mut random = Random::new(12);
    for aggregate in function_names().flat_map(aggregate_overloads) {
        for rows in 0..20 {
            let element = random_type(&mut random).base();
            let element = element.element().unwrap_or(element);
            let given = |at| match aggregate.declared(at) {
                Some(Declared::Array) => element.array().unwrap(),
                Some(Declared::Type(data_type)) => data_type,
                Some(Declared::Enum) => sample_enum(),
                Some(Declared::Extension(kind)) => sample_of_extension(kind),
                Some(Declared::Record) => sample_composite(),
                _ => element,
            };
            let given: Vec<DataType> = (0..aggregate.args.len()).map(given).collect();
            let aggregate = aggregate.resolve(&given).unwrap_or_else(|| panic!("{aggregate:?} of {given:?}"));
            let mut state = aggregate.start();
            let outcome = (0..rows).try_for_each(|_| {
                let declared = aggregate.args.iter().map(|a| if *a == ANY { DataType::Text } else { *a });
                let args: Vec<Value> = declared.map(|a| random_value(&mut random, a)).collect();
                state.update(&args)
            });
            match outcome.and_then(|()| state.finish()) {
                Ok(value) => assert!(is_of(&value, aggregate.returns), "{aggregate:?} gave {value:?}"),
                Err(error) => assert_ne!(error.sqlstate().0, "XX000", "{aggregate:?}: {error:?}"),
            }
        }
    }
}

#[test]
fn text_forms_read_back_as_the_same_value() {
    let mut random = Random::new(13);
    let mut context = EvalContext::now();
    context.time_zone = "America/New_York".into();
    for data_type in sample_types() {
        for _ in 0..500 {
            let value = random_value(&mut random, data_type);
            let is_coarse = matches!(data_type, DataType::Interval(_) | DataType::Array(_));
            let in_range = matches!(value, Value::Date(d) if !(-2_451_545..2_145_031_949).contains(&d))
                || matches!(value, Value::Timestamp(t) | Value::TimestampTz(t)
                    if !(-211_813_000_000_000_000..9_223_371_000_000_000_000).contains(&t));
            let text = to_text(&value, &context);
            match from_text(&text, data_type, &context) {
                // A repeated local hour or an interval's mixed signs may read back otherwise.
                Ok(back) => {
                    let scalar = data_type.element().unwrap_or(data_type);
                    let exact = !matches!(scalar, DataType::TimestampTz(_) | DataType::Interval(_));
                    assert!(!exact || back == value, "{data_type}: {text}");
                }
                Err(error) => assert!(in_range || is_coarse, "{text}: {error:?}"),
            }
        }
    }
}

#[test]
fn no_text_and_no_cast_panics() {
    const LETTERS: &[u8] = b"0123456789 -+.:/eEtTpPdDmyYnNiaxBC\\'{}";
    let mut random = Random::new(14);
    let context = EvalContext::now();
    for _ in 0..4000 {
        let length = random.below(24);
        let text: String =
            (0..length).map(|_| char::from(LETTERS[random.below(LETTERS.len() as u64) as usize])).collect();
        for to in sample_types() {
            let _ = from_text(&text, to, &context).map(|value| to_text(&value, &context));
        }
    }
    for from in sample_types() {
        for to in sample_types() {
            for _ in 0..20 {
                let value = random_value(&mut random, from);
                if let Ok(value) = cast(&value, from, to, &context) {
                    assert!(is_of(&value, to), "{from} to {to} gave {value:?}");
                }
            }
        }
    }
}

#[test]
fn overloads_are_found_by_exact_types_whatever_their_modifiers() {
    let scaled = DataType::Numeric(Some((10, 2)));
    let plus = exact_overload("+", &[scaled, DataType::Numeric(None)]).unwrap();
    assert_eq!(plus.returns, DataType::Numeric(None));
    assert!(exact_overload("+", &[DataType::Text, DataType::Integer]).is_none());
    let concat = exact_overload("concat", &[DataType::Text, DataType::Integer, DataType::Uuid]).unwrap();
    assert!(concat.variadic && !concat.strict);
    assert!(overloads("no_such_function").is_empty());
}
