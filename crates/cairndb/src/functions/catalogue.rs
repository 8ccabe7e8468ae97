//! The catalogue: every scalar function, operator and aggregate by name, with one entry per argument type list.
//!
//! How binding chooses: compare the arguments' [`base`](DataType::base) types with `args`; [`ANY`] takes every type
//! as it is. Entries with pseudo-types ([`Declared`]) are made into functions for the types of a call. The result never
//! has modifiers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use super::Operator;
use super::aggregate::{AGGREGATES, Placed, StoredAggregate};
use super::arrays::Quantifier;
use super::beginning::PatternKind;
use super::cost::Cost;
use super::matching::Matching;
use super::of_catalog::Asks;
use super::routine::{Returns, Routine};
use super::rows::Rows;
use super::signature::{Declared, decide};
use super::special::Special;
use super::volatility::{Parallel, Volatility};
use crate::types::{Composite, DataType, EvalContext, ExtensionTypeKind, Value, fnv};
use crate::{Error, Result};

/// An argument of any type, taken without conversion (PostgreSQL's `"any"`). An untyped literal becomes `text`.
pub const ANY: DataType = DataType::Unknown;

/// A parameter's name, and its default as it is written.
pub(crate) type Parameter = (&'static str, Option<&'static str>);

/// As [`Eval`], of a call that was resolved.
pub(super) type Typed = fn(&Function, &[Value], &EvalContext) -> Result<Value>;
/// A user's function.
pub(super) type UsersFunction = dyn Fn(&[Value]) -> Result<Value> + Send + Sync;
/// Makes accumulators of a user's aggregate.
pub(super) type UsersStart = dyn Fn() -> Box<dyn Accumulator> + Send + Sync;

/// What runs a function.
#[derive(Clone)]
pub enum Kernel {
    /// The answer for one row's arguments.
    Plain(Eval),
    /// As `Plain`, where the answer depends on the types that the call was resolved for too.
    Typed(Typed),
    /// An operator over the elements of an array.
    Quantified(Quantifier),
    /// A user's closure.
    Closure(Arc<UsersFunction>),
    /// A function of the schema's.
    Stored(Arc<Routine>),
    /// It asks the catalog.
    Asked(Arc<dyn Asks>),
    /// Whether a value is of a domain.
    Checked { check: Arc<Check>, calls: bool },
    /// What answers with rows.
    Rows(Rows),
    /// What binding makes something else of.
    Special(Special),
    /// One with a last argument that repeats, which is given as an array.
    Spread(Arc<Function>),
}

/// The value, if it is of a domain; an error otherwise.
pub(crate) type Check = dyn Fn(&Value, &EvalContext) -> Result<Value> + Send + Sync;

/// Set in the entries of domains.
pub(crate) const OF_DOMAIN: u64 = 1 << 63;

/// What makes a value one of a domain.
pub(crate) struct Checked {
    pub(crate) name: Cow<'static, str>,
    /// The domain's base type.
    pub(crate) data_type: DataType,
    pub(crate) immutable: bool,
    /// What its conditions take.
    pub(crate) cost: Cost,
    /// It calls functions of the schema's.
    pub(crate) calls: bool,
    /// Tells it from others, and is the same for the same domain.
    pub(crate) entry: u64,
    pub(crate) check: Arc<Check>,
}

/// A scalar function or operator, resolved for exact argument types (PostgreSQL's `pg_proc` row).
/// Operators are functions named by their symbol: `+`, `||`, `=`, `<=`, `~~` (LIKE), `~~*` (ILIKE), unary minus `-`.
///
/// Shared by count: built-in ones by the catalogue, users' by their connection, polymorphic ones are made for the types of
/// a call ([`Function::resolve`]), and all by the plans that call them.
#[derive(Clone)]
pub struct Function {
    /// Lower case, or the operator's symbol.
    pub name: Cow<'static, str>,
    /// Base types, or [`ANY`]: also where the type is not decided yet.
    pub args: Box<[DataType]>,
    /// What its arguments are called, where calls say it, or `pg_proc` does; of several entries of one function the longest has them.
    pub(crate) parameters: &'static [Parameter],
    /// The last argument type repeats, once or more (`concat`; `coalesce` is not a function but an `Expr`).
    pub variadic: bool,
    /// A base type, once resolved.
    pub returns: DataType,
    /// The argument types as declared, where one of them is not a type; the result's last.
    pub(super) polymorphic: Option<Box<[Declared]>>,
    /// Which entry of a catalogue it is, or was made from.
    pub(super) entry: u64,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    /// How much its answer rests on beside its arguments.
    pub(crate) volatility: Volatility,
    /// Nothing tells of its arguments but its answer: no error, no notice.
    pub(crate) leakproof: bool,
    /// Where PostgreSQL would call it in a query that several processes work on.
    pub(crate) parallel: Parallel,
    /// PostgreSQL reads a call as a syntax of its own, and has no function of the name.
    pub(crate) syntax: bool,
    /// May be called while a statement is planned: the answer is the same for as long as the plan is right. That is another
    /// question than its volatility: a plan rests on the schema, so it may hold what the catalog says; and a function of the schema's,
    /// though IMMUTABLE, is only run where somebody runs it.
    pub folds: bool,
    /// What a call takes at most.
    pub(crate) cost: Cost,
    /// What it answers follows the clock (`now()`).
    pub(crate) clock: bool,
    /// A call may wait for another connection: nothing that others need is held meanwhile.
    pub(crate) waits: bool,
    /// A call does something when its transaction commits (`pg_notify()`): there has to be one.
    pub(crate) acts: bool,
    /// See [`Function::without_array`].
    pub(super) is_without_array: bool,
    /// What operator this is, for typed kernels and the optimizer; operand types are `args`.
    pub op: Option<Operator>,
    /// It tells whether its first argument, a text, matches its second, a pattern of this kind.
    pub(crate) pattern: Option<PatternKind>,
    /// It tells whether its first argument matches its second, or not: how that is told without calling it.
    pub(crate) matching: Option<Matching>,
    /// It takes characters of its first argument, a text, which the others number: see [`substring_bounds`](super::substring_bounds).
    pub(crate) takes_characters: bool,
    /// Gives the answers. A strict function's is never called with NULL: see [`Function::call`].
    pub(super) kernel: Kernel,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

/// An aggregate, resolved for exact argument types; shared as a [`Function`] is.
#[derive(Clone)]
pub struct Aggregate {
    /// Lower case.
    pub name: Cow<'static, str>,
    /// Base types, or [`ANY`]; empty for `count(*)`.
    pub args: Box<[DataType]>,
    /// A base type, once resolved.
    pub returns: DataType,
    /// As [`Function`]'s.
    pub(super) polymorphic: Option<Box<[Declared]>>,
    /// As [`Function`]'s.
    pub(super) entry: u64,
    /// Which one this is, for kernels over typed vectors.
    pub kind: AggregateKind,
    /// How much its answer rests on beside its rows.
    pub(crate) volatility: Volatility,
    /// Of an ordered-set aggregate: how many of its arguments stand before WITHIN GROUP.
    pub(crate) direct: Option<usize>,
    /// Makes accumulators: see [`Aggregate::start`].
    pub(super) start: Start,
}

/// What makes an aggregate's accumulators.
#[derive(Clone)]
pub enum Start {
    /// For any argument types.
    Plain(fn() -> Box<dyn Accumulator>),
    /// For those that the call was resolved for.
    Typed(fn(&Aggregate) -> Box<dyn Accumulator>),
    /// A hypothetical-set aggregate.
    Placed(Placed),
    /// A user's closure.
    Closure(Arc<UsersStart>),
    /// Functions that the schema's aggregate names.
    Stored(Arc<StoredAggregate>),
}

/// The aggregates that an executor may want to compute itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// `count(*)`
    CountRows,
    /// `count(x)`
    Count,
    /// `sum(x)`
    Sum,
    /// `avg(x)`
    Avg,
    /// `min(x)`
    Min,
    /// `max(x)`
    Max,
    /// `bool_and(x)`, `every(x)`
    BoolAnd,
    /// `bool_or(x)`
    BoolOr,
    /// Any other: only its accumulator knows.
    Other,
}

impl std::fmt::Debug for Aggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

/// Folds the rows of one group. (`exec` has kernels of its own for common aggregates over typed vectors.)
pub trait Accumulator: Send {
    /// One row's arguments; aggregates skip NULLs themselves where SQL says so.
    fn update(&mut self, args: &[Value]) -> Result<()>;
    /// The group's answer, asked for once.
    fn finish(&mut self) -> Result<Value>;
    /// The answer so far, where it [goes on](Accumulator::goes_on).
    fn answer(&mut self) -> Result<Value> {
        self.finish()
    }
    /// Whether more rows may follow an answer.
    fn goes_on(&self) -> bool {
        true
    }
    /// Whether rows can be taken back (PostgreSQL's inverse transitions).
    fn can_retract(&self) -> bool {
        false
    }
    /// Takes back the arguments of a row; false: this one cannot be, and the accumulator is of no more use.
    fn retract(&mut self, _args: &[Value]) -> Result<bool> {
        Ok(false)
    }
}

/// All overloads of `name` (lower case), in no particular order; empty: no such function.
pub fn overloads(name: &str) -> &'static [Arc<Function>] {
    FUNCTIONS.by_name.get(name).map_or(&[], Vec::as_slice)
}

/// The name under which the entries of a function of the information schema are, with the schema: [`overloads`] finds them.
pub(crate) fn of_information_schema(name: &str) -> Option<&'static str> {
    let name = format!("information_schema.{name}");
    FUNCTIONS.by_name.get_key_value(name.as_str()).map(|(name, _)| *name)
}

/// All overloads of the aggregate `name` (lower case).
pub fn aggregate_overloads(name: &str) -> &'static [Arc<Aggregate>] {
    AGGREGATES.get(name)
}

/// The overload with exactly these argument types (modifiers do not matter).
pub fn exact_overload(name: &str, args: &[DataType]) -> Option<Arc<Function>> {
    let known = overloads(name);
    let exact = known.iter().find(|function| function.polymorphic.is_none() && function.accepts(args));
    exact
        .cloned()
        .or_else(|| known.iter().find_map(|function| function.resolve(args).filter(|found| found.accepts(args))))
}

/// All function and operator names, for hints and completion.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.by_name.keys().copied().chain(AGGREGATES.names())
}

impl Function {
    /// A call with arguments of these types needs no conversion.
    pub fn accepts(&self, args: &[DataType]) -> bool {
        let enough = if self.variadic { args.len() >= self.args.len() } else { args.len() == self.args.len() };
        enough && args.iter().enumerate().all(|(i, arg)| self.arg(i).is_some_and(|a| a == ANY || a == arg.base()))
    }

    /// The type of argument `index`, counting a variadic's repetitions.
    pub fn arg(&self, index: usize) -> Option<DataType> {
        let last = self.args.last().filter(|_| self.variadic);
        self.args.get(index).or(last).copied()
    }

    /// As [`Function::arg`], as declared.
    pub fn declared(&self, index: usize) -> Option<Declared> {
        let data_type = self.arg(index)?;
        Some(match &self.polymorphic {
            Some(declared) => declared[index.min(self.args.len() - 1)],
            None if data_type == ANY => Declared::Any,
            None => Declared::Type(data_type),
        })
    }

    /// The type of its answer, as declared.
    pub(crate) fn declared_result(&self) -> Declared {
        declared_result(self.polymorphic.as_deref(), self.returns)
    }

    /// The extension whose type it takes or gives.
    pub(crate) fn extension(&self) -> Option<ExtensionTypeKind> {
        self.polymorphic.iter().flatten().find_map(|declared| match declared {
            Declared::Extension(kind) => Some(*kind),
            _ => None,
        })
    }

    /// Whether some argument's type follows from the call.
    pub(crate) fn is_polymorphic(&self) -> bool {
        self.polymorphic.is_some()
    }

    /// Calls it as SQL does: a strict one is not called with NULL.
    pub fn call(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        if self.strict && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        self.run(args, context)
    }

    pub(super) fn run(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        match &self.kernel {
            Kernel::Plain(eval) => eval(args, context),
            Kernel::Typed(eval) => eval(self, args, context),
            Kernel::Quantified(quantifier) => quantifier.run(args, context),
            Kernel::Closure(eval) => eval(args),
            Kernel::Stored(routine) => match self.returns {
                // What gives any record gives one that says what it is.
                _ if routine.returns == Returns::Record => context.caller()?.value(routine, args, context),
                DataType::Composite(of) if !routine.is_output() || routine.returns == Returns::Row => {
                    let row = context.caller()?.row(routine, args, context)?;
                    Ok(row.map_or(Value::Null, |row| Composite::new(of, row).into()))
                }
                _ => context.caller()?.value(routine, args, context),
            },
            Kernel::Asked(asks) => asks.ask(args, context),
            Kernel::Checked { check, .. } => match args {
                [value] => check(value, context),
                _ => Err(super::support::wrong_arguments(args)),
            },
            Kernel::Rows(_) => Err(Error::internal(format!("{} returns rows, which are no value", self.name))),
            Kernel::Special(_) => Err(Error::internal(format!("{} is called, but bound as no call", self.name))),
            Kernel::Spread(function) => function.run_spread(args, context),
        }
    }

    /// The last of the arguments is an array of those that follow.
    fn run_spread(&self, args: &[Value], context: &EvalContext) -> Result<Value> {
        let Some((last, first)) = args.split_last() else { return Err(super::support::wrong_arguments(args)) };
        let rest = match last {
            Value::Null if self.is_without_array => &[],
            Value::Null => return Ok(Value::Null),
            array => array.as_array().ok_or_else(|| super::support::wrong_arguments(args))?.values(),
        };
        self.call(&[first, rest].concat(), context)
    }

    /// A strict, immutable function that is no operator, and an entry of its own.
    pub(super) fn new(
        name: impl Into<Cow<'static, str>>,
        args: impl Into<Box<[DataType]>>,
        returns: DataType,
        kernel: Kernel,
    ) -> Function {
        Function {
            name: name.into(),
            args: args.into(),
            parameters: &[],
            variadic: false,
            returns,
            polymorphic: None,
            entry: next_entry(),
            strict: true,
            volatility: Volatility::Immutable,
            leakproof: false,
            parallel: Parallel::Safe,
            syntax: false,
            folds: true,
            cost: Cost::Unknown,
            clock: false,
            waits: false,
            acts: false,
            is_without_array: false,
            op: None,
            pattern: None,
            matching: None,
            takes_characters: false,
            kernel,
        }
    }

    /// The function that lets through what is of a domain.
    pub(crate) fn checked(checked: Checked) -> Function {
        let kernel = Kernel::Checked { check: checked.check, calls: checked.calls };
        Function {
            entry: checked.entry,
            strict: false,
            volatility: if checked.immutable { Volatility::Immutable } else { Volatility::Stable },
            folds: checked.immutable && !checked.calls,
            cost: checked.cost,
            ..Function::new(checked.name, [checked.data_type], checked.data_type, kernel)
        }
    }

    /// The same, of an array of this type in the place of the arguments that repeat.
    pub(crate) fn spread(function: &Arc<Function>, array: DataType) -> Function {
        let mut args = function.args.to_vec();
        args.pop();
        args.push(array);
        Function {
            // Built-in functions have small numbers.
            entry: function.entry | 1 << 62,
            args: args.into(),
            variadic: false,
            strict: false,
            kernel: Kernel::Spread(function.clone()),
            ..Function::clone(function)
        }
    }

    /// A user's own: it is not stored in the file, and runs code that is not the engine's.
    pub fn is_users(&self) -> bool {
        matches!(self.kernel, Kernel::Closure(_)) || self.gives_own_rows()
    }

    /// The engine's own, and neither made for a type nor wrapped.
    pub(crate) fn is_built_in(&self) -> bool {
        matches!(self.kernel, Kernel::Plain(_) | Kernel::Typed(_))
    }

    /// The function of the schema's that it is.
    pub(crate) fn routine(&self) -> Option<&Arc<Routine>> {
        if let Kernel::Stored(routine) = &self.kernel { Some(routine) } else { None }
    }

    /// The same arguments give the same answer for ever: what indexes and generated columns may rest on.
    pub(crate) fn is_immutable(&self) -> bool {
        self.volatility == Volatility::Immutable
    }

    /// Every call may answer anew (`random()`): never folded, never hoisted. Functions that are neither immutable nor
    /// volatile (`now()`) have one answer within a statement.
    pub(crate) fn is_volatile(&self) -> bool {
        self.volatility == Volatility::Volatile
    }

    /// Whether it is a function of the schema's, or calls one.
    pub(crate) fn calls_routines(&self) -> bool {
        matches!(self.kernel, Kernel::Stored(_) | Kernel::Checked { calls: true, .. })
    }

    /// Whether it asks what a domain is of now, which may change.
    pub(crate) fn asks_domain(&self) -> bool {
        matches!(self.kernel, Kernel::Checked { .. })
    }

    /// Whether it gives its argument, if a domain has nothing against it.
    pub(crate) fn asks_only_domain(&self) -> bool {
        self.asks_domain() && self.entry & OF_DOMAIN != 0
    }

    /// A function of the schema's as it is in a call, which decides what its pseudo-types are.
    pub(crate) fn specialised(&self, routine: Routine) -> Function {
        let Function { args, returns, kernel, .. } = Function::stored(routine);
        Function { args, returns, kernel, polymorphic: None, ..self.clone() }
    }

    /// The same, for what it gives in a call.
    pub(crate) fn giving(&self, returns: DataType) -> Function {
        Function { returns, ..self.clone() }
    }

    /// A function of the schema's as others see it. What gives no value gives an empty text, as PostgreSQL shows it.
    pub(crate) fn stored(routine: Routine) -> Function {
        let (returns, declared) = match routine.returns {
            Returns::Type(data_type) => (data_type.base(), Declared::Type(data_type.base())),
            Returns::Any(declared) => (ANY, declared),
            Returns::Void => (DataType::Void, Declared::Type(DataType::Void)),
            _ => (DataType::Text, Declared::Type(DataType::Text)),
        };
        let arguments = routine.argument_types();
        let args: Vec<DataType> = arguments.iter().map(|argument| argument.fixed().unwrap_or(ANY)).collect();
        Function {
            polymorphic: pseudo_types(arguments, declared),
            strict: routine.strict,
            volatility: routine.volatility,
            parallel: Parallel::Unsafe,
            // Calls are not made beforehand: what stands in the body may be another one by then.
            folds: false,
            ..Function::new(routine.name.clone(), args, returns, Kernel::Stored(Arc::new(routine)))
        }
    }

    /// `= ANY (array)`: the array's elements are a list of what its left side may be.
    pub fn is_equal_to_any(&self) -> bool {
        matches!(&self.kernel, Kernel::Quantified(quantifier) if quantifier.is_equal_to_any())
    }

    /// Both are the same entry of a catalogue, for the same types.
    pub fn is_same(&self, other: &Function) -> bool {
        std::ptr::eq(self, other)
            || (self.entry, self.returns) == (other.entry, other.returns) && self.args == other.args
    }

    /// The function for arguments of these types; `None`: they do not fit it. A type that is not known yet fits
    /// everything.
    pub fn resolve(self: &Arc<Function>, args: &[DataType]) -> Option<Arc<Function>> {
        self.resolve_with(args, None)
    }

    /// The same, where an extension's type is meant, and no argument is of it.
    pub(crate) fn resolve_with(
        self: &Arc<Function>,
        args: &[DataType],
        made: Option<DataType>,
    ) -> Option<Arc<Function>> {
        let Some(declared) = &self.polymorphic else { return Some(self.clone()) };
        let (args, returns) = resolve(declared, self.args.len(), args, made)?;
        Some(Arc::new(Function { args, returns, polymorphic: None, ..Function::clone(self) }))
    }
}

impl Aggregate {
    /// A fresh accumulator.
    pub fn start(&self) -> Box<dyn Accumulator> {
        match &self.start {
            Start::Plain(start) => start(),
            Start::Typed(start) => start(self),
            Start::Placed(placed) => placed.start(),
            Start::Closure(start) => start(),
            Start::Stored(parts) => parts.begin_alone(),
        }
    }

    /// As [`Function::declared`].
    pub fn declared(&self, index: usize) -> Option<Declared> {
        let data_type = *self.args.get(index)?;
        Some(match &self.polymorphic {
            Some(declared) => declared[index],
            None if data_type == ANY => Declared::Any,
            None => Declared::Type(data_type),
        })
    }

    /// As [`Function::declared_result`].
    pub(crate) fn declared_result(&self) -> Declared {
        declared_result(self.polymorphic.as_deref(), self.returns)
    }

    /// As [`Function::is_polymorphic`].
    pub(crate) fn is_polymorphic(&self) -> bool {
        self.polymorphic.is_some()
    }

    /// As [`Function::is_users`].
    pub fn is_users(&self) -> bool {
        matches!(self.start, Start::Closure(_))
    }

    /// As [`Function::is_same`].
    pub fn is_same(&self, other: &Aggregate) -> bool {
        std::ptr::eq(self, other)
            || (self.entry, self.returns) == (other.entry, other.returns) && self.args == other.args
    }

    /// As [`Function::resolve`].
    pub fn resolve(self: &Arc<Aggregate>, args: &[DataType]) -> Option<Arc<Aggregate>> {
        let Some(declared) = &self.polymorphic else { return Some(self.clone()) };
        let (args, returns) = resolve(declared, self.args.len(), args, None)?;
        Some(Arc::new(Aggregate { args, returns, polymorphic: None, ..Aggregate::clone(self) }))
    }
}

/// What a function declares, where its arguments have pseudo-types.
pub(super) fn pseudo_types(arguments: Vec<Declared>, result: Declared) -> Option<Box<[Declared]>> {
    let has_any = arguments.iter().any(|argument| argument.fixed().is_none());
    has_any.then(|| arguments.into_iter().chain([result]).collect())
}

/// The last of what a polymorphic entry declares is its answer.
pub(super) fn declared_result(polymorphic: Option<&[Declared]>, returns: DataType) -> Declared {
    let fixed = if returns == ANY { Declared::Any } else { Declared::Type(returns) };
    polymorphic.and_then(|declared| declared.last().copied()).unwrap_or(fixed)
}

/// The argument types and the result's of a polymorphic entry in a call.
pub(super) fn resolve(
    declared: &[Declared],
    count: usize,
    given: &[DataType],
    made: Option<DataType>,
) -> Option<(Box<[DataType]>, DataType)> {
    if given.len() < count {
        return None;
    }
    let each = |(at, given): (usize, &DataType)| (declared[at.min(count - 1)], *given);
    let decided = decide(given.iter().enumerate().map(each))?.or_text().or_extension(made);
    let resolved = |declared: &Declared| match declared {
        Declared::Any | Declared::NonArray | Declared::Record => Some(ANY),
        declared => declared.resolved(decided),
    };
    let arg = |(declared, given): (&Declared, &DataType)| match declared {
        Declared::Record => Some(given.base()),
        Declared::Array => declared.resolved_argument(decided),
        declared => resolved(declared),
    };
    let args: Box<[DataType]> = declared[..count].iter().zip(given).map(arg).collect::<Option<_>>()?;
    // A row of the type of those given.
    let returns = match declared[count] {
        Declared::Record => {
            declared.iter().zip(&args).find(|(declared, _)| **declared == Declared::Record)?.1.to_owned()
        }
        ref declared => resolved(declared)?,
    };
    Some((args, returns))
}

/// Numbers the entries of all catalogues.
pub(super) fn next_entry() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Collects the entries of all modules.
#[derive(Default)]
pub(super) struct Catalogue {
    by_name: HashMap<&'static str, Vec<Arc<Function>>, BuildHasherDefault<NameHasher>>,
}

/// The names are the engine's own, so nobody can choose them to collide.
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(fnv::START)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = fnv::hash(self.0, bytes);
    }
}

/// How an entry's function behaves; see [`Function`]'s fields.
pub(super) type Eval = fn(&[Value], &EvalContext) -> Result<Value>;

impl Catalogue {
    /// A strict, immutable function.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        args: &'static [DataType],
        returns: DataType,
        eval: Eval,
    ) -> &mut Function {
        let function = Function::new(name, args, returns, Kernel::Plain(eval));
        let list = self.by_name.entry(name).or_default();
        list.push(Arc::new(function));
        let last = list.len() - 1;
        Arc::get_mut(&mut list[last]).unwrap_or_else(|| unreachable!("nobody else has it yet"))
    }

    /// A strict, immutable function of types that its arguments decide.
    pub(super) fn add_polymorphic(
        &mut self,
        name: &'static str,
        args: &[Declared],
        returns: Declared,
        eval: Typed,
    ) -> &mut Function {
        let function = self.add(name, &[], returns.fixed().unwrap_or(ANY), |_, _| Ok(Value::Null));
        function.args = args.iter().map(|arg| arg.fixed().unwrap_or(ANY)).collect();
        function.polymorphic = Some(args.iter().copied().chain([returns]).collect());
        function.kernel = Kernel::Typed(eval);
        function
    }

    /// The same one by several names.
    pub(super) fn add_names(&mut self, names: &[&'static str], args: &[Declared], returns: Declared, eval: Typed) {
        for name in names {
            self.add_polymorphic(name, args, returns, eval);
        }
    }
}

impl Function {
    pub(super) fn op(&mut self, op: Operator) -> &mut Function {
        self.op = Some(op);
        self
    }
    pub(super) fn pattern(&mut self, kind: PatternKind) -> &mut Function {
        self.pattern = Some(kind);
        self
    }
    pub(super) fn matching(&mut self, matching: Matching) -> &mut Function {
        self.matching = Some(matching);
        self
    }
    pub(super) fn parameters(&mut self, parameters: &'static [Parameter]) -> &mut Function {
        self.parameters = parameters;
        self
    }
    pub(super) fn taking_characters(&mut self) -> &mut Function {
        self.takes_characters = true;
        self
    }
    pub(super) fn variadic(&mut self) -> &mut Function {
        self.variadic = true;
        self
    }
    /// See [`Cost::Bounded`].
    pub(super) fn bounded(&mut self) -> &mut Function {
        self.cost(Cost::Bounded)
    }
    pub(super) fn cost(&mut self, cost: Cost) -> &mut Function {
        self.cost = cost;
        self
    }
    pub(super) fn called_on_null(&mut self) -> &mut Function {
        self.strict = false;
        self
    }
    pub(super) fn stable(&mut self) -> &mut Function {
        self.set_volatility(Volatility::Stable)
    }
    /// PostgreSQL has it as STABLE though nothing that it depends on ever changes here (locales, encodings, an enum's labels within a
    /// plan): it is folded, and nothing that is stored may rest on it.
    pub(super) fn stable_in_name(&mut self) -> &mut Function {
        self.volatility = Volatility::Stable;
        self
    }
    /// Its answer follows the clock.
    pub(super) fn of_the_clock(&mut self) -> &mut Function {
        self.clock = true;
        self.stable()
    }
    pub(super) fn leakproof(&mut self) -> &mut Function {
        self.leakproof = true;
        self
    }
    pub(super) fn restricted(&mut self) -> &mut Function {
        self.parallel = Parallel::Restricted;
        self
    }
    pub(super) fn parallel_unsafe(&mut self) -> &mut Function {
        self.parallel = Parallel::Unsafe;
        self
    }
    pub(super) fn syntax(&mut self) -> &mut Function {
        self.syntax = true;
        self
    }
    /// In the place of the array of what repeats NULL is no argument, rather than no answer.
    pub(super) fn without_array(&mut self) -> &mut Function {
        self.is_without_array = true;
        self
    }
    /// A call may take long, and asks meanwhile whether to go on: it is made while the statement runs, which can be stopped, and never
    /// while it is planned.
    pub(super) fn lengthy(&mut self) -> &mut Function {
        self.folds = false;
        self
    }
    pub(super) fn waiting(&mut self) -> &mut Function {
        self.waits = true;
        self
    }
    /// What it does is done when the transaction commits.
    pub(super) fn acting(&mut self) -> &mut Function {
        self.acts = true;
        self.volatile()
    }
    pub(super) fn volatile(&mut self) -> &mut Function {
        self.set_volatility(Volatility::Volatile)
    }
    /// What is not immutable is not called while a statement is planned.
    pub(crate) fn set_volatility(&mut self, volatility: Volatility) -> &mut Function {
        self.volatility = volatility;
        self.folds &= volatility == Volatility::Immutable;
        self
    }
}

static FUNCTIONS: LazyLock<Catalogue> = LazyLock::new(|| {
    let mut catalogue = Catalogue::default();
    super::register_all(&mut catalogue);
    catalogue
});
