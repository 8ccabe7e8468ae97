//! The catalogue: every scalar function, operator and aggregate by name, with one entry per argument type list.
//!
//! How binding chooses: compare the arguments' [`base`](DataType::base) types with `args`; [`ANY`] takes every type
//! as it is. There is no polymorphism otherwise: `greatest`, `nullif`'s comparison, `min` have an entry per type.
//! The result never has modifiers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use super::Operator;
use super::aggregate::AGGREGATES;
use crate::Result;
use crate::types::{DataType, EvalContext, Value};

/// An argument of any type, taken without conversion (PostgreSQL's `"any"`). An untyped literal becomes `text`.
pub const ANY: DataType = DataType::Unknown;

/// A scalar function or operator, resolved for exact argument types (PostgreSQL's `pg_proc` row).
/// Operators are functions named by their symbol: `+`, `||`, `=`, `<=`, `~~` (LIKE), `~~*` (ILIKE), unary minus `-`.
pub struct Function {
    /// Lower case, or the operator's symbol.
    pub name: &'static str,
    /// Base types, or [`ANY`].
    pub args: &'static [DataType],
    /// The last argument type repeats, once or more (`concat`; `coalesce` is not a function but an `Expr`).
    pub variadic: bool,
    /// A base type.
    pub returns: DataType,
    /// NULL in, NULL out, without a call.
    pub strict: bool,
    /// May be folded at plan time (same arguments, same answer).
    pub immutable: bool,
    /// Every call may answer anew (`random()`): never folded, never hoisted. Functions that are neither immutable nor
    /// volatile (`now()`) have one answer within a statement.
    pub volatile: bool,
    /// What operator this is, for typed kernels and the optimizer; operand types are `args`.
    pub op: Option<Operator>,
    /// The answer for one row's arguments. A strict function is never called with NULL.
    pub eval: fn(&[Value], &EvalContext) -> Result<Value>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

/// An aggregate, resolved for exact argument types.
pub struct Aggregate {
    /// Lower case.
    pub name: &'static str,
    /// Base types, or [`ANY`]; empty for `count(*)`.
    pub args: &'static [DataType],
    /// A base type.
    pub returns: DataType,
    /// Which one this is, for kernels over typed vectors.
    pub kind: AggregateKind,
    /// A fresh accumulator.
    pub start: fn() -> Box<dyn Accumulator>,
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
    /// The group's answer.
    fn finish(&mut self) -> Result<Value>;
}

/// All overloads of `name` (lower case), in no particular order; empty: no such function.
pub fn overloads(name: &str) -> &'static [Function] {
    FUNCTIONS.by_name.get(name).map_or(&[], Vec::as_slice)
}

/// All overloads of the aggregate `name` (lower case).
pub fn aggregate_overloads(name: &str) -> &'static [Aggregate] {
    AGGREGATES.get(name)
}

/// The overload with exactly these argument types (modifiers do not matter).
pub fn exact_overload(name: &str, args: &[DataType]) -> Option<&'static Function> {
    overloads(name).iter().find(|function| function.accepts(args))
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
}

/// Collects the entries of all modules.
#[derive(Default)]
pub(super) struct Catalogue {
    by_name: HashMap<&'static str, Vec<Function>, BuildHasherDefault<NameHasher>>,
}

/// FNV-1a: the names are the engine's own, so nobody can choose them to collide.
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3));
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
        let function = Function {
            name,
            args,
            variadic: false,
            returns,
            strict: true,
            immutable: true,
            volatile: false,
            op: None,
            eval,
        };
        let list = self.by_name.entry(name).or_default();
        list.push(function);
        let last = list.len() - 1;
        &mut list[last]
    }
}

impl Function {
    pub(super) fn op(&mut self, op: Operator) -> &mut Function {
        self.op = Some(op);
        self
    }
    pub(super) fn variadic(&mut self) -> &mut Function {
        self.variadic = true;
        self
    }
    pub(super) fn called_on_null(&mut self) -> &mut Function {
        self.strict = false;
        self
    }
    pub(super) fn stable(&mut self) -> &mut Function {
        self.immutable = false;
        self
    }
    pub(super) fn volatile(&mut self) -> &mut Function {
        self.immutable = false;
        self.volatile = true;
        self
    }
}

static FUNCTIONS: LazyLock<Catalogue> = LazyLock::new(|| {
    let mut catalogue = Catalogue::default();
    super::register_all(&mut catalogue);
    catalogue
});
