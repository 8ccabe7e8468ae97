//! The functions that are for windows only: what they are called, take and give. `exec::window` computes them.

use std::sync::{Arc, LazyLock};

use super::catalogue::{declared_result, resolve};
use super::{ANY, Declared};
use crate::types::DataType;

/// A window function, resolved for exact argument types.
#[derive(Clone)]
pub struct WindowFunction {
    /// Lower case.
    pub name: &'static str,
    /// As [`Function`](super::Function)'s.
    pub args: Box<[DataType]>,
    /// A base type, once resolved.
    pub returns: DataType,
    polymorphic: Option<Box<[Declared]>>,
    /// Which one this is.
    pub kind: WindowKind,
}

/// What a window function computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    /// The row's number within its partition.
    RowNumber,
    /// The number of the first of its peers.
    Rank,
    /// The number of its group of peers.
    DenseRank,
    /// The share of the other rows before its peers.
    PercentRank,
    /// The share of the rows up to its peers.
    CumeDist,
    /// The number of its part, of so many that are as equal as can be.
    Ntile,
    /// The value some rows before.
    Lag,
    /// The value some rows behind.
    Lead,
    /// The value at the frame's first row.
    FirstValue,
    /// At its last.
    LastValue,
    /// At its nth.
    NthValue,
}

impl std::fmt::Debug for WindowFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", self.name, self.args)
    }
}

impl WindowFunction {
    fn new(name: &'static str, kind: WindowKind, args: &[Declared], returns: Declared) -> Arc<WindowFunction> {
        let is_fixed = args.iter().chain([&returns]).all(|declared| declared.fixed().is_some());
        Arc::new(WindowFunction {
            name,
            args: args.iter().map(|arg| arg.fixed().unwrap_or(ANY)).collect(),
            returns: returns.fixed().unwrap_or(ANY),
            polymorphic: (!is_fixed).then(|| args.iter().copied().chain([returns]).collect()),
            kind,
        })
    }

    /// As [`Function::declared`](super::Function::declared).
    pub fn declared(&self, index: usize) -> Option<Declared> {
        let data_type = *self.args.get(index)?;
        Some(self.polymorphic.as_ref().map_or(Declared::Type(data_type), |declared| declared[index]))
    }

    /// The type of its answer, as declared.
    pub(crate) fn declared_result(&self) -> Declared {
        declared_result(self.polymorphic.as_deref(), self.returns)
    }

    /// As [`Function::is_polymorphic`](super::Function::is_polymorphic).
    pub(crate) fn is_polymorphic(&self) -> bool {
        self.polymorphic.is_some()
    }

    /// As [`Function::resolve`](super::Function::resolve).
    pub fn resolve(self: &Arc<WindowFunction>, args: &[DataType]) -> Option<Arc<WindowFunction>> {
        let Some(declared) = &self.polymorphic else { return Some(self.clone()) };
        let (args, returns) = resolve(declared, self.args.len(), args, None)?;
        Some(Arc::new(WindowFunction { args, returns, polymorphic: None, ..WindowFunction::clone(self) }))
    }
}

static WINDOW_FUNCTIONS: LazyLock<Vec<Arc<WindowFunction>>> = LazyLock::new(|| {
    use Declared::{Compatible, Element, Type};
    use WindowKind::{
        CumeDist, DenseRank, FirstValue, Lag, LastValue, Lead, NthValue, Ntile, PercentRank, Rank, RowNumber,
    };
    const INTEGER: Declared = Type(DataType::Integer);
    const BIGINT: Declared = Type(DataType::BigInt);
    const DOUBLE: Declared = Type(DataType::Double);
    let new = WindowFunction::new;
    let mut all = vec![
        new("row_number", RowNumber, &[], BIGINT),
        new("rank", Rank, &[], BIGINT),
        new("dense_rank", DenseRank, &[], BIGINT),
        new("percent_rank", PercentRank, &[], DOUBLE),
        new("cume_dist", CumeDist, &[], DOUBLE),
        new("ntile", Ntile, &[INTEGER], INTEGER),
        new("first_value", FirstValue, &[Element], Element),
        new("last_value", LastValue, &[Element], Element),
        new("nth_value", NthValue, &[Element, INTEGER], Element),
    ];
    for (name, kind) in [("lag", Lag), ("lead", Lead)] {
        all.push(new(name, kind, &[Element], Element));
        all.push(new(name, kind, &[Element, INTEGER], Element));
        all.push(new(name, kind, &[Compatible, INTEGER, Compatible], Compatible));
    }
    all
});

/// Their names, each once.
pub fn window_names() -> impl Iterator<Item = &'static str> {
    WINDOW_FUNCTIONS.chunk_by(|one, next| one.name == next.name).filter_map(|group| Some(group.first()?.name))
}

/// All overloads of the window function `name` (lower case); empty: no such function.
pub fn window_overloads(name: &str) -> &'static [Arc<WindowFunction>] {
    let all = WINDOW_FUNCTIONS.as_slice();
    let first = all.iter().position(|function| function.name == name).unwrap_or(all.len());
    let count = all[first..].iter().take_while(|function| function.name == name).count();
    &all[first..first + count]
}
