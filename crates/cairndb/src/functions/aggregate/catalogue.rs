//! The aggregates by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::{basic, collect, json, ordered, statistics};
use crate::functions::catalogue::{Start, next_entry};
use crate::functions::{ANY, Accumulator, Aggregate, AggregateKind, Declared, Volatility};
use crate::types::DataType;

/// Collects the entries of all modules.
#[derive(Default)]
pub(in crate::functions) struct AggregateCatalogue {
    by_name: HashMap<&'static str, Vec<Arc<Aggregate>>>,
}

impl AggregateCatalogue {
    pub(super) fn add(
        &mut self,
        name: &'static str,
        args: &'static [DataType],
        returns: DataType,
        kind: AggregateKind,
        start: fn() -> Box<dyn Accumulator>,
    ) -> &mut Aggregate {
        self.push(
            name,
            Aggregate {
                name: Cow::Borrowed(name),
                args: args.into(),
                returns,
                polymorphic: None,
                entry: next_entry(),
                kind,
                direct: None,
                volatility: Volatility::Immutable,
                start: Start::Plain(start),
            },
        )
    }

    /// An aggregate of types that its arguments decide.
    pub(super) fn add_polymorphic(
        &mut self,
        name: &'static str,
        args: &[Declared],
        returns: Declared,
        start: fn(&Aggregate) -> Box<dyn Accumulator>,
    ) -> &mut Aggregate {
        self.push(
            name,
            Aggregate {
                name: Cow::Borrowed(name),
                args: args.iter().map(|arg| arg.fixed().unwrap_or(ANY)).collect(),
                returns: returns.fixed().unwrap_or(ANY),
                polymorphic: Some(args.iter().copied().chain([returns]).collect()),
                entry: next_entry(),
                kind: AggregateKind::Other,
                direct: None,
                volatility: Volatility::Immutable,
                start: Start::Typed(start),
            },
        )
    }

    fn push(&mut self, name: &'static str, aggregate: Aggregate) -> &mut Aggregate {
        let list = self.by_name.entry(name).or_default();
        list.push(Arc::new(aggregate));
        let last = list.len() - 1;
        Arc::get_mut(&mut list[last]).unwrap_or_else(|| unreachable!("nobody else has it yet"))
    }

    pub(in crate::functions) fn get(&self, name: &str) -> &[Arc<Aggregate>] {
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
    collect::register(&mut catalogue);
    json::register(&mut catalogue);
    ordered::register(&mut catalogue);
    catalogue
});
