//! Tests that a row and a batch get the same from every function, operator, cast and condition, over every type.

use std::sync::Arc;

use crate::exec::testing::*;
use crate::exec::{ExecContext, eval_row};
use crate::functions::{ANY, Declared, Function, cast, exact_overload, function_names, overloads};
use crate::plan::Expr;
use crate::types::{EvalContext, sample_composite, sample_enum, sample_of_extension, sample_types};
use crate::{DataType, Result, Value};

/// Texts of values that are of interest; not every one is right for every type that takes the list.
fn texts(data_type: DataType) -> &'static [&'static str] {
    use DataType as T;
    match data_type {
        T::Boolean => &["t", "f"],
        T::SmallInt => &["0", "1", "-1", "3", "32767", "-32768"],
        T::Integer => &["0", "1", "-1", "2", "7", "2147483647", "-2147483648"],
        T::BigInt => &["0", "1", "-1", "2", "64", "9223372036854775807", "-9223372036854775808"],
        T::Real | T::Double => &["0", "-0", "1", "-1.5", "2.5", "1e30", "1e-30", "NaN", "Infinity", "-Infinity"],
        T::Numeric(_) => &["0", "0.00", "1", "1.0", "-1.50", "2.5", "999.99", "1e40", "1e-20", "NaN", "Infinity"],
        T::Oid | T::Reg(_) => &["0", "1", "2", "26", "4294967295"],
        T::InternalChar => &["", "a", "b", "0", " "],
        T::Void => &[""],
        T::Text | T::Varchar(_) | T::Char(_) | T::Citext(_) | T::Name | T::RegName(_) | T::Unknown => &[
            "",
            "a",
            "a ",
            "ab",
            "Ab",
            "b%",
            "a_c",
            "\u{e9}a",
            "1",
            "-2",
            "2024-01-02",
            "YYYY-MM",
            "day",
            "t",
            "10:00",
        ],
        T::Bytea => &["", "\\x00", "\\x6162", "\\xff", "ab"],
        T::Date => &["2024-02-29", "1969-12-31", "0001-01-01 BC", "infinity", "-infinity"],
        T::Time(_) => &["00:00", "23:59:59.999999", "12:34:56.5", "24:00"],
        T::TimeTz(_) => &["00:00+00", "23:59:59.999999-15:59", "12:34:56.5+02", "10:34:56.5+00", "24:00+05:30"],
        T::Timestamp(_) => &["2024-02-29 23:59:59.999999", "1969-12-31 12:00", "infinity", "-infinity", "2000-01-01"],
        T::TimestampTz(_) => &["2024-02-29 23:59:59+02", "1969-12-31 12:00Z", "infinity", "-infinity"],
        T::Interval(_) => &["0", "1 day", "24 hours", "1 mon -30 days", "-1 year 02:03:04.5", "100 years"],
        T::Composite(_) => &["(1,a,2.5)", "(,,)", "(-1,\"b c\",0)", "(1,,2.50)"],
        T::Array(element) if element.data_type().is_integer() => {
            &["{}", "{1}", "{1,2,NULL}", "{{1,2},{3,4}}", "[0:1]={-1,1}", "{NULL}"]
        }
        T::Array(element) if element.data_type().is_string() || matches!(element.data_type(), T::Citext(_)) => {
            &["{}", "{a,NULL,\"b c\"}", "{a}", "{{a,b},{ab,\"a \"}}", "[-1:0]={t,1}"]
        }
        T::Array(element) if element.data_type() == T::Boolean => &["{}", "{t,f}", "{NULL,t}"],
        T::Array(element) if element.data_type().is_numeric() => &["{}", "{1,NaN}", "{1.0,-2.5,NULL}", "{{0},{-0}}"],
        T::Array(_) => &["{}", "{NULL}", "{2024-02-29}", "{1 day,24 hours}", "{12:34:56.5,24:00}", "{ab}"],
        T::Enum(_) => &["first", "second", "", "a b", "last"],
        T::Uuid => &["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
        T::Inet => &["10.0.0.1", "10.0.0.1/8", "10.0.0.0/8", "::1", "::/0", "0.0.0.0/0"],
        T::Cidr => &["10.0.0.1", "10.0.0.0/8", "::1", "::/0", "0.0.0.0/0"],
        T::Macaddr => &["08:00:2b:01:02:03", "000000000000"],
        T::Macaddr8 => &["08:00:2b:01:02:03", "08:00:2b:01:02:03:04:05"],
        T::Hstore(_) => &["", "a=>1", "a=>NULL", "b=>2, aa=>1, a=>\"x y\"", "\"\"=>\"\""],
        T::JsonPath => &["$", "$.a", "strict $[*]"],
        T::Json | T::Jsonb => &["{}", "[1, 1.0]", "null", "{\"a\": [true, \"x\"]}"],
    }
}

fn random_value(texts: &[&str], data_type: DataType, random: &mut Random) -> Value {
    let at = random.below(texts.len() as u64 + 1) as usize;
    let text = texts.get(at).map_or(Value::Null, |text| Value::text(*text));
    // What is too large for the type's modifier is NULL as well.
    cast(&text, DataType::Text, data_type, &EvalContext::now()).unwrap_or(Value::Null)
}

/// Expressions over a row whose columns they add, and over parameters.
struct Trial {
    random: Random,
    types: Vec<DataType>,
    parameters: Vec<Value>,
    context: ExecContext,
    rows: usize,
    answered: usize,
    failed: usize,
    /// What decimals are made of instead of their [`texts`].
    decimals: Option<&'static [&'static str]>,
}

impl Trial {
    fn new(seed: u64, rows: usize) -> Trial {
        let context = Fixture::new().context();
        let random = Random::new(seed);
        Trial { random, types: vec![], parameters: vec![], context, rows, answered: 0, failed: 0, decimals: None }
    }

    fn value(&mut self, data_type: DataType) -> Value {
        let texts = match (data_type, self.decimals) {
            (DataType::Numeric(_), Some(decimals)) => decimals,
            _ => texts(data_type),
        };
        random_value(texts, data_type, &mut self.random)
    }

    /// A column, a constant or a parameter of the type.
    fn operand(&mut self, data_type: DataType) -> Expr {
        match self.random.below(6) {
            0 => literal(self.value(data_type), data_type),
            1 => {
                let value = self.value(data_type);
                self.parameters.push(value);
                Expr::parameter(self.parameters.len() - 1, data_type)
            }
            _ => {
                self.types.push(data_type);
                col(self.types.len() - 1, data_type)
            }
        }
    }

    /// What [`Trial::operand`] gives, in a box.
    fn boxed(&mut self, data_type: DataType) -> Box<Expr> {
        Box::new(self.operand(data_type))
    }

    /// Row by row, in batches of one and in one batch: the same values and the same errors.
    fn compare(&mut self, expr: &Expr) {
        let types = std::mem::take(&mut self.types);
        let parameters: Arc<[Value]> = std::mem::take(&mut self.parameters).into();
        let context = ExecContext { parameters, ..self.context.clone() };
        let batch = |rows: &[Vec<Value>]| -> Result<Vec<Value>> {
            let found = run(&project(values(&types, rows), vec![expr.clone()]), context.clone())?;
            Ok(found.into_iter().map(|mut row| row.remove(0)).collect())
        };
        let (mut good, mut expected) = (vec![], vec![]);
        for _ in 0..self.rows {
            let row: Vec<Value> = types.iter().map(|&t| self.value(t)).collect();
            match (eval_row(expr, &row, &context), batch(std::slice::from_ref(&row))) {
                (Ok(alone), Ok(batch)) => {
                    assert_eq!(format!("{:?}", [&alone]), format!("{batch:?}"), "{expr:?} over {row:?}");
                    good.push(row);
                    expected.push(alone);
                }
                (Err(alone), Err(batch)) => {
                    let told = |error: &crate::Error| format!("{:?} {}", error.sqlstate(), error.message());
                    assert_eq!(told(&alone), told(&batch), "{expr:?} over {row:?}");
                    self.failed += 1;
                }
                (alone, batch) => panic!("one fails: {alone:?} {batch:?} in {expr:?} over {row:?}"),
            }
        }
        self.answered += good.len();
        let together = batch(&good).unwrap_or_else(|error| panic!("{error} in {expr:?} over {good:?}"));
        assert_eq!(format!("{expected:?}"), format!("{together:?}"), "{expr:?} over {good:?}");
    }
}

/// The types that may stand for an argument: those with its base type, all for `ANY`.
fn argument_types(argument: DataType) -> Vec<DataType> {
    sample_types().into_iter().filter(|data_type| argument == ANY || data_type.base() == argument.base()).collect()
}

/// A function's argument types where one of its pseudo-types is decided at random.
fn decided(function: &Arc<Function>, random: &mut Random) -> Arc<Function> {
    let scalars: Vec<DataType> = sample_types().into_iter().filter(|data_type| !data_type.is_array()).collect();
    let element = scalars[random.below(scalars.len() as u64) as usize];
    let given = |at| match function.declared(at) {
        Some(Declared::Array | Declared::CompatibleArray) => element.array().expect("not unknown"),
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

#[test]
fn every_function_and_operator() {
    let mut trial = Trial::new(1, 6);
    let functions =
        || function_names().flat_map(overloads).filter(|function| !function.is_volatile() && function.is_value());
    for function in functions() {
        let arguments = function.args.len() + usize::from(function.variadic);
        for _ in 0..3 {
            let function = decided(function, &mut trial.random);
            let args = (0..arguments).map(|at| {
                let argument = function.arg(at).expect("an argument");
                let fits =
                    |data_type: &DataType| function.declared(at) != Some(Declared::NonArray) || !data_type.is_array();
                let types: Vec<DataType> = argument_types(argument).into_iter().filter(fits).collect();
                let data_type = types[trial.random.below(types.len() as u64) as usize];
                trial.operand(data_type)
            });
            let args = args.collect();
            trial.compare(&Expr::Call { function, args });
        }
    }
    assert!(functions().count() > 500, "{}", functions().count());
    assert!(trial.answered > 5_000 && trial.failed > 100, "{} answers, {} failures", trial.answered, trial.failed);
}

#[test]
fn every_cast() {
    let mut trial = Trial::new(2, 12);
    for from in sample_types() {
        for to in sample_types() {
            let input = trial.boxed(from);
            trial.compare(&Expr::Cast { input, to });
        }
    }
    assert!(trial.answered > 1_000 && trial.failed > 1_000, "{} answers, {} failures", trial.answered, trial.failed);
}

/// `varchar` compares as text, `cidr` as `inet`, `regclass` and its kin as oids, `json` not at all.
fn has_equality(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Varchar(_) | DataType::Reg(_) | DataType::Cidr) && data_type.is_comparable()
}

/// `=` for values of the type.
fn equality(data_type: DataType) -> Arc<Function> {
    exact_overload("=", &[data_type, data_type]).unwrap_or_else(|| panic!("no = for {data_type:?}"))
}

#[test]
fn every_condition_over_every_type() {
    let mut trial = Trial::new(3, 12);
    for data_type in sample_types().into_iter().filter(has_equality) {
        // `char(3)` meets `char(5)`, `numeric` meets `numeric(5, 2)`.
        let others = argument_types(data_type.base());
        for _ in 0..6 {
            let other = others[trial.random.below(others.len() as u64) as usize];
            let (left, right) = (trial.boxed(data_type), trial.boxed(other));
            trial.compare(&Expr::IsNotDistinct(left, right));
            let input = trial.boxed(data_type);
            trial.compare(&Expr::IsNull(input));
            let input = trial.boxed(data_type);
            let list = (0..3).map(|_| trial.operand(other)).collect();
            trial.compare(&Expr::InList { input, list, equal: equality(data_type) });
            let list = (0..3).map(|_| literal(trial.value(other), other)).collect();
            let input = trial.boxed(data_type);
            trial.compare(&Expr::InList { input, list, equal: equality(data_type) });
            let args = (0..3).map(|_| trial.operand(data_type)).collect();
            trial.compare(&Expr::Coalesce { args, data_type });
            let branches = (0..2).map(|_| (trial.operand(BOOL), trial.operand(data_type))).collect();
            let otherwise = (trial.random.below(2) == 0).then(|| trial.boxed(data_type));
            trial.compare(&Expr::Case { branches, otherwise, data_type });
        }
    }
    for _ in 0..60 {
        let args: Vec<Expr> = (0..3).map(|_| trial.operand(BOOL)).collect();
        trial.compare(&Expr::And(args));
        let args: Vec<Expr> = (0..3).map(|_| trial.operand(BOOL)).collect();
        trial.compare(&Expr::Or(args));
        let input = trial.boxed(BOOL);
        trial.compare(&Expr::Not(input));
    }
    assert!(trial.answered > 5_000, "{} answers", trial.answered);
}

/// Decimals of which a vector has the form that their first ones ask for: of one scale, of several, at the limits of 64 and
/// of 128 bits, of scales far apart, and those that have no mantissa.
const DECIMALS: [&[&str]; 6] = [
    &["1.00", "-2.50", "0.00", "99999.99", "0.07"],
    &["1", "1.0", "1.00", "-0.5", "0.000", "12.5"],
    &["92233720368547758.07", "-92233720368547758.08", "9223372036854775807", "-9223372036854775808", "0.01", "-1"],
    &["9223372036854775808", "170141183460469231731687303715884105727", "-1e30", "1.5", "3", "-3000000000.00"],
    &["1e-40", "1e20", "0.0000000000000000000001", "5", "-5.0"],
    &["NaN", "Infinity", "-Infinity", "1e60", "1.00", "-1"],
];

#[test]
fn every_operator_over_decimals_of_every_form() {
    let mut trial = Trial::new(4, 14);
    let types = argument_types(DataType::Numeric(None));
    for name in ["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">="] {
        let function = exact_overload(name, &[DataType::Numeric(None); 2]).unwrap_or_else(|| panic!("no {name}"));
        for _ in 0..4 {
            for pool in DECIMALS {
                trial.decimals = Some(pool);
                let data_type = types[trial.random.below(types.len() as u64) as usize];
                let args = vec![trial.operand(data_type), trial.operand(DataType::Numeric(None))];
                trial.compare(&Expr::Call { function: function.clone(), args });
            }
        }
    }
    for pool in DECIMALS {
        trial.decimals = Some(pool);
        for &data_type in &types {
            let (left, right) = (trial.boxed(data_type), trial.boxed(DataType::Numeric(None)));
            trial.compare(&Expr::IsNotDistinct(left, right));
            let input = trial.boxed(DataType::Numeric(None));
            let list = (0..3).map(|_| literal(trial.value(data_type), data_type)).collect();
            trial.compare(&Expr::InList { input, list, equal: equality(DataType::Numeric(None)) });
            let args = (0..3).map(|_| trial.operand(data_type)).collect();
            trial.compare(&Expr::Coalesce { args, data_type });
        }
    }
    assert!(trial.answered > 3_000 && trial.failed > 20, "{} answers, {} failures", trial.answered, trial.failed);
}
