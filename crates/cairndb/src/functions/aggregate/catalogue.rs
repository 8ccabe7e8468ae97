//! The aggregates by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{basic, statistics};
use crate::functions::{Accumulator, Aggregate, AggregateKind};
use crate::types::DataType;

/// Collects the entries of all modules.
#[derive(Default)]
pub(in crate::functions) struct AggregateCatalogue {
    by_name: HashMap<&'static str, Vec<Aggregate>>,
}

impl AggregateCatalogue {
    pub(super) fn add(
        &mut self,
        name: &'static str,
        args: &'static [DataType],
        returns: DataType,
        kind: AggregateKind,
        start: fn() -> Box<dyn Accumulator>,
    ) {
        self.by_name.entry(name).or_default().push(Aggregate { name, args, returns, kind, start });
    }

    pub(in crate::functions) fn get(&self, name: &str) -> &[Aggregate] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub(in crate::functions) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.by_name.keys().copied()
    }
}

pub(in crate::functions) static AGGREGATES: LazyLock<AggregateCatalogue> = LazyLock::new(|| {
    let mut catalogue = AggregateCatalogue::default();
    basic::register(&mut catalogue);
    statistics::register(&mut catalogue);
    catalogue
});
