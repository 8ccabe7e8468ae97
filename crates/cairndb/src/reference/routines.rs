//! The functions, operators, aggregates and window functions.

use crate::functions::{
    Aggregate, Declared, Function, Volatility, WindowFunction, aggregate_overloads, function_names, overloads,
    window_names, window_overloads,
};
use crate::system;

/// One function, for some argument types.
///
/// ```
/// let upper = cairndb::reference::routines().into_iter().find(|routine| routine.name == "upper").expect("it is there");
/// assert_eq!((upper.arguments.join(", "), upper.returns.as_str(), upper.variadic), ("text".to_string(), "text", false));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Routine {
    /// How it is called.
    pub kind: RoutineKind,
    /// Its name, or the operator.
    pub name: String,
    /// The types of its arguments.
    pub arguments: Vec<String>,
    /// The type of its answer; behind `setof` that of its rows.
    pub returns: String,
    /// The last argument may be given several times.
    pub variadic: bool,
    /// `immutable`, `stable` or `volatile`, as PostgreSQL has it.
    pub volatility: &'static str,
}

/// How a function is called.
///
/// ```
/// use cairndb::reference::{RoutineKind, routines};
///
/// assert!(routines().iter().any(|routine| routine.name == "sum" && routine.kind == RoutineKind::Aggregate));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutineKind {
    /// Between or before its operands.
    Operator,
    /// By its name.
    Function,
    /// Over a group's rows.
    Aggregate,
    /// With OVER.
    Window,
}

/// All of them in order, without what belongs to one connection or schema.
///
/// ```
/// let overloads = cairndb::reference::routines().into_iter().filter(|routine| routine.name == "length").count();
/// assert!(overloads > 1);
/// ```
pub fn routines() -> Vec<Routine> {
    let functions = function_names().flat_map(overloads).map(|function| of_function(function));
    let aggregates = function_names().flat_map(aggregate_overloads).map(|aggregate| of_aggregate(aggregate));
    let windows = window_names().flat_map(window_overloads).map(|function| of_window(function));
    let mut all: Vec<Routine> = functions.chain(aggregates).chain(windows).collect();
    all.sort();
    all.dedup();
    all
}

/// What is known of the functions that ask the catalog, as of the others.
///
/// ```
/// let all = cairndb::reference::catalog_routines();
/// assert!(all.iter().any(|routine| routine.name == "to_regclass" && routine.volatility == "stable"));
/// ```
pub fn catalog_routines() -> Vec<Routine> {
    system::all_entries().map(|entry| of_function(&entry.function)).collect()
}

fn of_function(function: &Function) -> Routine {
    let is_name = function.name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    Routine {
        kind: if is_name { RoutineKind::Function } else { RoutineKind::Operator },
        name: function.name.to_string(),
        arguments: arguments(function.args.len(), |at| function.declared(at)),
        returns: returned(function),
        variadic: function.variadic,
        volatility: function.volatility.word(),
    }
}

fn returned(function: &Function) -> String {
    let of = match function.columns().len() {
        0 | 1 => function.declared_result().type_name(),
        _ => Declared::Record.type_name(),
    };
    if function.is_set() { format!("setof {of}") } else { of.to_owned() }
}

fn of_aggregate(aggregate: &Aggregate) -> Routine {
    Routine {
        kind: RoutineKind::Aggregate,
        name: aggregate.name.to_string(),
        arguments: arguments(aggregate.args.len(), |at| aggregate.declared(at)),
        returns: aggregate.declared_result().type_name().to_owned(),
        variadic: false,
        volatility: aggregate.volatility.word(),
    }
}

fn of_window(function: &WindowFunction) -> Routine {
    Routine {
        kind: RoutineKind::Window,
        name: function.name.to_owned(),
        arguments: arguments(function.args.len(), |at| function.declared(at)),
        returns: function.declared_result().type_name().to_owned(),
        variadic: false,
        volatility: Volatility::Immutable.word(),
    }
}

fn arguments(count: usize, declared: impl Fn(usize) -> Option<Declared>) -> Vec<String> {
    (0..count).map(|at| declared(at).unwrap_or(Declared::Any).type_name().to_owned()).collect()
}
