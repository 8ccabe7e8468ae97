//! Functions and aggregates that users write in Rust: entries like the built-in ones, found by a session under its own
//! names (they are part of how it looks names up: [`crate::catalog::SearchPath`]).
//!
//! Code that is not the engine's must not take the engine down: a panic in it, or a value of another type than declared, is
//! an error of the statement (SQLSTATE 38000, 42804).

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::catalogue::{Kernel, Start, next_entry};
use super::{
    Accumulator, Aggregate, AggregateKind, Function, Parallel, Volatility, aggregate_overloads, exact_overload,
    overloads, window_overloads,
};
use crate::types::FromValue;
use crate::types::{DataType, Value, ValueRef};
use crate::{Error, Result, SqlState};

/// The functions of a session's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsersFunctions {
    functions: HashMap<String, Vec<Arc<Function>>>,
    aggregates: HashMap<String, Vec<Arc<Aggregate>>>,
}

/// The arguments of a call.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::{Arguments, DataType, FunctionOptions};
///
/// let repeat = |arguments: &Arguments<'_>| Ok(arguments.get::<String>(0)?.repeat(arguments.get::<i32>(1)? as usize));
/// let types = [DataType::Text, DataType::Integer];
/// conn.create_function("again", &types, DataType::Text, FunctionOptions::immutable(), repeat)?;
/// assert_eq!(conn.query_row_as::<String>("SELECT again('ab', 3)", ())?, "ababab");
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a>(&'a [Value]);

impl<'a> Arguments<'a> {
    pub(super) fn of(values: &'a [Value]) -> Arguments<'a> {
        Arguments(values)
    }

    /// An argument as a Rust value.
    ///
    /// # Errors
    ///
    /// SQLSTATE 42804 where it is of another type, or NULL and `T` no `Option`.
    pub fn get<T: FromValue>(&self, index: usize) -> Result<T> {
        T::from_value(self.0.get(index).unwrap_or(&Value::Null))
    }
}

impl Deref for Arguments<'_> {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.0
    }
}

/// How a function behaves: what the planner may do with its calls.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::{DataType, FunctionOptions};
///
/// // Called with NULL, too; within a statement it always says the same of the same.
/// let options = FunctionOptions::stable().called_on_null();
/// conn.create_function("is_known", &[DataType::Text], DataType::Boolean, options, |arguments| Ok(!arguments[0].is_null()))?;
/// assert!(!conn.query_row_as::<bool>("SELECT is_known(NULL)", ())?);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionOptions {
    pub(crate) strict: bool,
    pub(crate) volatility: Volatility,
}

impl Default for FunctionOptions {
    /// Volatile, and not called with NULL.
    fn default() -> FunctionOptions {
        FunctionOptions { strict: true, volatility: Volatility::Volatile }
    }
}

impl FunctionOptions {
    /// The same arguments always give the same answer: a call with constants is made once, when the statement is planned.
    pub fn immutable() -> FunctionOptions {
        FunctionOptions { volatility: Volatility::Immutable, ..FunctionOptions::default() }
    }

    /// Within a statement the same arguments give the same answer.
    pub fn stable() -> FunctionOptions {
        FunctionOptions { volatility: Volatility::Stable, ..FunctionOptions::default() }
    }

    /// It is called with NULLs too. Without this its answer is NULL where an argument is, without a call.
    #[must_use]
    pub fn called_on_null(self) -> FunctionOptions {
        FunctionOptions { strict: false, ..self }
    }
}

/// An aggregate that is written in Rust: the state of one group. See [`Connection::create_aggregate`](crate::Connection::create_aggregate).
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::{AggregateFunction, Arguments, DataType, Result, Value};
///
/// struct Longest(String);
///
/// impl AggregateFunction for Longest {
///     fn step(&mut self, arguments: &Arguments<'_>) -> Result<()> {
///         let text = arguments.get::<Option<String>>(0)?.unwrap_or_default();
///         if text.len() > self.0.len() {
///             self.0 = text;
///         }
///         Ok(())
///     }
///
///     fn finish(&mut self) -> Result<Value> {
///         Ok(Value::text(std::mem::take(&mut self.0)))
///     }
/// }
///
/// conn.create_aggregate("longest", &[DataType::Text], DataType::Text, || Longest(String::new()))?;
/// let longest: String = conn.query_row_as("SELECT longest(name) FROM (VALUES ('ab'), (NULL), ('abc')) v (name)", ())?;
/// assert_eq!(longest, "abc");
/// # Ok::<(), cairndb::Error>(())
/// ```
pub trait AggregateFunction: Send {
    /// Takes one row's arguments, NULLs too.
    ///
    /// # Errors
    ///
    /// What the statement fails with.
    fn step(&mut self, arguments: &Arguments<'_>) -> Result<()>;

    /// The group's answer, asked for once.
    ///
    /// # Errors
    ///
    /// What the statement fails with.
    fn finish(&mut self) -> Result<Value>;
}

impl UsersFunctions {
    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.aggregates.is_empty()
    }

    pub(crate) fn overloads(&self, name: &str) -> &[Arc<Function>] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn aggregate_overloads(&self, name: &str) -> &[Arc<Aggregate>] {
        self.aggregates.get(name).map_or(&[], Vec::as_slice)
    }

    /// Adds a function; one of the same name and argument types is replaced.
    pub(crate) fn add(&mut self, function: Function) -> Result<()> {
        let name = &*function.name;
        // (What its columns are was looked at when it was made.)
        check(name, &function.args, (!function.returns_rows()).then_some(function.returns))?;
        let is_aggregate = !aggregate_overloads(name).is_empty() || self.aggregates.contains_key(name);
        let is_aggregate = is_aggregate || !window_overloads(name).is_empty();
        if is_aggregate || exact_overload(name, &function.args).is_some() {
            return Err(taken(name, &function.args));
        }
        let list = self.functions.entry(name.to_owned()).or_default();
        list.retain(|other| other.args != function.args);
        list.push(Arc::new(function));
        Ok(())
    }

    /// As [`UsersFunctions::add`].
    pub(crate) fn add_aggregate(&mut self, aggregate: Aggregate) -> Result<()> {
        let name = &*aggregate.name;
        check(name, &aggregate.args, Some(aggregate.returns))?;
        let is_function = !overloads(name).is_empty() || self.functions.contains_key(name);
        let is_function = is_function || !window_overloads(name).is_empty();
        let built_in = aggregate_overloads(name).iter().filter_map(|other| other.resolve(&aggregate.args));
        if is_function || built_in.into_iter().any(|other| other.args == aggregate.args) {
            return Err(taken(name, &aggregate.args));
        }
        let list = self.aggregates.entry(name.to_owned()).or_default();
        list.retain(|other| other.args != aggregate.args);
        list.push(Arc::new(aggregate));
        Ok(())
    }

    /// Takes out a function or an aggregate; whether there was one.
    pub(crate) fn remove(&mut self, name: &str, args: &[DataType]) -> bool {
        fn taken_out<T>(list: Option<&mut Vec<T>>, is_it: impl Fn(&T) -> bool) -> bool {
            let Some(list) = list else { return false };
            let before = list.len();
            list.retain(|entry| !is_it(entry));
            list.len() < before
        }
        let args: Vec<DataType> = args.iter().map(|arg| arg.base()).collect();
        let function = taken_out(self.functions.get_mut(name), |function| *function.args == *args);
        let aggregate = taken_out(self.aggregates.get_mut(name), |aggregate| *aggregate.args == *args);
        self.functions.retain(|_, list| !list.is_empty());
        self.aggregates.retain(|_, list| !list.is_empty());
        function || aggregate
    }
}

fn check(name: &str, args: &[DataType], returns: Option<DataType>) -> Result<()> {
    let refuse = |message: String| Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
    // (What binding makes something of it makes of all calls of the name.)
    if name.is_empty() || overloads(name).iter().any(|function| function.special().is_some()) {
        return refuse(format!("a function cannot be called \"{name}\""));
    }
    if args.contains(&DataType::Unknown) || returns == Some(DataType::Unknown) {
        return refuse(format!("function \"{name}\" takes or returns a type that is not known"));
    }
    Ok(())
}

fn taken(name: &str, args: &[DataType]) -> Error {
    let types: Vec<&str> = args.iter().map(|arg| arg.type_name()).collect();
    let message = format!("function {name}({}) already exists", types.join(", "));
    Error::new(SqlState::DUPLICATE_FUNCTION, message).with_hint("It is built in. Choose another name.")
}

/// A function over a closure.
pub(crate) fn function<R: Into<Value>>(
    name: &str,
    args: &[DataType],
    returns: DataType,
    options: FunctionOptions,
    eval: impl Fn(&Arguments<'_>) -> Result<R> + Send + Sync + 'static,
) -> Function {
    let returns = returns.base();
    let called = name.to_owned();
    let guarded = move |args: &[Value]| {
        let value = guard(&called, || eval(&Arguments(args)).map(Into::into))?;
        of_type(&called, value, returns)
    };
    let args: Box<[DataType]> = args.iter().map(|arg| arg.base()).collect();
    Function {
        strict: options.strict,
        volatility: options.volatility,
        parallel: Parallel::Unsafe,
        folds: options.volatility == Volatility::Immutable,
        ..Function::new(name.to_owned(), args, returns, Kernel::Closure(Arc::new(guarded)))
    }
}

/// An aggregate over a closure that makes the state of a group.
pub(crate) fn aggregate<A: AggregateFunction + 'static>(
    name: &str,
    args: &[DataType],
    returns: DataType,
    start: impl Fn() -> A + Send + Sync + 'static,
) -> Aggregate {
    let returns = returns.base();
    let called: Arc<str> = name.into();
    let start = move || {
        let state = guard(&called, || Ok(start()));
        Box::new(Guarded { name: called.clone(), returns, state }) as Box<dyn Accumulator>
    };
    Aggregate {
        name: Cow::Owned(name.to_owned()),
        args: args.iter().map(|arg| arg.base()).collect(),
        returns,
        polymorphic: None,
        entry: next_entry(),
        kind: AggregateKind::Other,
        direct: None,
        volatility: Volatility::Immutable,
        start: Start::Closure(Arc::new(start)),
    }
}

/// A user's aggregate, or why there is none.
struct Guarded<A> {
    name: Arc<str>,
    returns: DataType,
    state: Result<A>,
}

impl<A: AggregateFunction> Accumulator for Guarded<A> {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        guard(&self.name, || state.step(&Arguments(args)))
    }

    fn finish(&mut self) -> Result<Value> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        let value = guard(&self.name, || state.finish())?;
        of_type(&self.name, value, self.returns)
    }

    fn goes_on(&self) -> bool {
        false
    }
}

/// Runs a user's code; a panic is an error. (What it left behind is the user's own: the engine looks at nothing of it but
/// by calling it again, which it does not within the statement.)
pub(super) fn guard<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let told = payload.downcast_ref::<&str>().copied();
        let told = told.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = format!("function {name} panicked: {}", told.unwrap_or("no message"));
        Err(Error::new(SqlState::EXTERNAL_ROUTINE_EXCEPTION, message))
    })
}

/// The value, of the type that is declared: integers of another width that fit are taken.
pub(super) fn of_type(name: &str, value: Value, returns: DataType) -> Result<Value> {
    let given = ValueRef::from(&value);
    let string = matches!(given, ValueRef::Text(_)) && returns.is_string();
    let array = given.data_type().is_some_and(|data_type| data_type.is_array() && data_type.base() == returns);
    match given.fit(returns) {
        _ if string || array => Ok(value),
        Some(fitted) => Ok(fitted.to_value()),
        None => {
            let of = given.data_type().map_or("unknown", DataType::type_name);
            let message =
                format!("function {name} returned {of}, but it is declared to return {}", returns.type_name());
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}
