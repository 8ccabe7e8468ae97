//! Ordered-set aggregates (`percentile_cont`, `percentile_disc`, `mode`) and hypothetical-set aggregates (`rank` and its like).
//!
//! Their arguments are the direct ones, then what WITHIN GROUP sorts by; who feeds them has sorted the rows.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use super::catalogue::AggregateCatalogue;
use crate::functions::catalogue::{Start, next_entry};
use crate::functions::support::{no_array_type, wrong_arguments};
use crate::functions::temporal::{add_intervals, scale, subtract_intervals};
use crate::functions::{Accumulator, Aggregate, AggregateKind, Declared, Volatility, WindowKind};
use crate::types::{DataType, Value};
use crate::{Error, Result, SqlState};

pub(super) fn register(catalogue: &mut AggregateCatalogue) {
    use Declared::{Element, Type};
    let fractions = DataType::Double.array().map_or(Declared::Any, Type);
    for of in [DataType::Double, DataType::INTERVAL] {
        let several = of.array().map_or(Declared::Any, Type);
        let one = catalogue.add_polymorphic("percentile_cont", &[Type(DataType::Double), Type(of)], Type(of), between);
        one.direct = Some(1);
        let more = catalogue.add_polymorphic("percentile_cont", &[fractions, Type(of)], several, between);
        more.direct = Some(1);
    }
    let discrete = |aggregate: &Aggregate| percentile(aggregate, false);
    let one = [Type(DataType::Double), Element];
    catalogue.add_polymorphic("percentile_disc", &one, Element, discrete).direct = Some(1);
    let more = [fractions, Element];
    catalogue.add_polymorphic("percentile_disc", &more, Declared::Array, discrete).direct = Some(1);
    catalogue.add_polymorphic("mode", &[Element], Element, |_| Box::new(Mode::default())).direct = Some(0);
}

fn between(aggregate: &Aggregate) -> Box<dyn Accumulator> {
    percentile(aggregate, true)
}

fn percentile(aggregate: &Aggregate, interpolated: bool) -> Box<dyn Accumulator> {
    let element = aggregate.args.last().copied().unwrap_or(DataType::Unknown);
    Box::new(Percentile { interpolated, element, fractions: None, values: vec![] })
}

/// The values so far, in order.
#[derive(Clone)]
struct Percentile {
    interpolated: bool,
    element: DataType,
    /// `None`: no row yet.
    fractions: Option<Value>,
    values: Vec<Value>,
}

impl Accumulator for Percentile {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let [fractions, value] = args else { return Err(wrong_arguments(args)) };
        if self.element.is_array() && matches!(fractions, Value::Array(_)) {
            return Err(no_array_type(self.element));
        }
        if self.fractions.is_none() {
            self.fractions = Some(fractions.clone());
        }
        if !value.is_null() {
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        match &self.fractions {
            None | Some(Value::Null) => Ok(Value::Null),
            Some(Value::Array(fractions)) => {
                for fraction in fractions.values() {
                    check_fraction(fraction)?;
                }
                match self.values.is_empty() {
                    true => Ok(Value::Null),
                    false => Ok(fractions.map(self.element, |fraction| self.at(fraction))?.into()),
                }
            }
            Some(fraction) => {
                check_fraction(fraction)?;
                self.at(fraction)
            }
        }
    }
}

fn check_fraction(fraction: &Value) -> Result<()> {
    match fraction {
        Value::Double(fraction) if !(0.0..=1.0).contains(fraction) => {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
        _ => Ok(()),
    }
}

impl Percentile {
    fn at(&self, fraction: &Value) -> Result<Value> {
        let (Value::Double(fraction), [_, ..]) = (fraction, self.values.as_slice()) else { return Ok(Value::Null) };
        let last = self.values.len() - 1;
        if !self.interpolated {
            let row = (fraction * self.values.len() as f64).ceil() as usize;
            return Ok(self.values[row.saturating_sub(1).min(last)].clone());
        }
        let place = fraction * last as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        let (low, high) = (&self.values[below.min(last)], &self.values[above.min(last)]);
        if below == above {
            return Ok(low.clone());
        }
        let share = place - below as f64;
        match (low, high) {
            (Value::Double(low), Value::Double(high)) => Ok(Value::Double(low + share * (high - low))),
            (Value::Interval(low), Value::Interval(high)) => {
                let distance = scale(subtract_intervals(*high, *low)?, |field| field * share)?;
                add_intervals(distance, *low).map(Value::Interval)
            }
            _ => Err(Error::internal("percentile_cont of other types")),
        }
    }
}

/// The value that is there most often; the first of several.
#[derive(Clone, Default)]
struct Mode {
    current: Option<(Value, u64)>,
    best: Option<(Value, u64)>,
}

impl Mode {
    fn settle(&mut self) {
        let count = self.best.as_ref().map_or(0, |(_, count)| *count);
        if let Some(run) = self.current.take().filter(|(_, more)| *more > count) {
            self.best = Some(run);
        }
    }
}

impl Accumulator for Mode {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        match (args, &mut self.current) {
            ([Value::Null], _) => {}
            ([value], Some((of, count))) if of.compare(value) == Ordering::Equal => *count += 1,
            ([value], _) => {
                self.settle();
                self.current = Some((value.clone(), 1));
            }
            _ => return Err(wrong_arguments(args)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        self.settle();
        Ok(self.best.take().map_or(Value::Null, |(value, _)| value))
    }
}

/// Which hypothetical-set aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hypothetical {
    /// The number of the first of its peers.
    Rank,
    /// The number of its group of peers.
    DenseRank,
    /// The share of the rows before it.
    PercentRank,
    /// The share of the rows up to its peers, itself among them.
    CumeDist,
}

/// A key by which a row is placed.
#[derive(Clone, Copy)]
pub struct PlacedBy {
    /// Its type.
    pub data_type: DataType,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

/// Where a row that is not there would stand among those that are.
#[derive(Clone)]
pub struct Placed {
    which: Hypothetical,
    keys: Arc<[PlacedBy]>,
}

impl Hypothetical {
    /// What a window function is as an aggregate WITHIN GROUP.
    pub(crate) fn of_window(kind: WindowKind) -> Option<Hypothetical> {
        Some(match kind {
            WindowKind::Rank => Hypothetical::Rank,
            WindowKind::DenseRank => Hypothetical::DenseRank,
            WindowKind::PercentRank => Hypothetical::PercentRank,
            WindowKind::CumeDist => Hypothetical::CumeDist,
            _ => return None,
        })
    }

    fn returns(self) -> DataType {
        match self {
            Hypothetical::Rank | Hypothetical::DenseRank => DataType::BigInt,
            Hypothetical::PercentRank | Hypothetical::CumeDist => DataType::Double,
        }
    }

    /// The aggregate for these keys.
    pub fn aggregate(self, name: &str, keys: Vec<PlacedBy>) -> Arc<Aggregate> {
        static ENTRIES: LazyLock<[u64; 4]> = LazyLock::new(|| std::array::from_fn(|_| next_entry()));
        Arc::new(Aggregate {
            name: Cow::Owned(name.to_owned()),
            args: keys.iter().chain(&keys).map(|key| key.data_type.base()).collect(),
            returns: self.returns(),
            polymorphic: None,
            entry: ENTRIES[self as usize],
            kind: AggregateKind::Other,
            direct: Some(keys.len()),
            volatility: Volatility::Immutable,
            start: Start::Placed(Placed { which: self, keys: keys.into() }),
        })
    }
}

impl Placed {
    pub(in crate::functions) fn start(&self) -> Box<dyn Accumulator> {
        Box::new(Place { of: self.clone(), before: 0, groups: 0, all: 0, last: None })
    }
}

/// The rows so far, in order.
struct Place {
    of: Placed,
    /// Those before the row, or its peers too.
    before: i64,
    /// Different ones before the row.
    groups: i64,
    all: i64,
    /// The last one before it.
    last: Option<Vec<Value>>,
}

impl Accumulator for Place {
    fn update(&mut self, args: &[Value]) -> Result<()> {
        let keys = self.of.keys.len();
        let Some((placed, row)) = args.split_at_checked(keys) else { return Err(wrong_arguments(args)) };
        self.all += 1;
        let order = self.of.compare(row, placed);
        let is_before = match self.of.which {
            Hypothetical::CumeDist => order != Ordering::Greater,
            _ => order == Ordering::Less,
        };
        if !is_before {
            return Ok(());
        }
        self.before += 1;
        if self.of.which == Hypothetical::DenseRank {
            let is_other = self.last.as_ref().is_none_or(|last| self.of.compare(last, row) != Ordering::Equal);
            if is_other {
                self.groups += 1;
                self.last = Some(row.to_vec());
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value> {
        Ok(match self.of.which {
            Hypothetical::Rank => Value::BigInt(self.before + 1),
            Hypothetical::DenseRank => Value::BigInt(self.groups + 1),
            Hypothetical::PercentRank if self.all == 0 => Value::Double(0.0),
            Hypothetical::PercentRank => Value::Double(self.before as f64 / self.all as f64),
            Hypothetical::CumeDist => Value::Double((self.before + 1) as f64 / (self.all + 1) as f64),
        })
    }
}

impl Placed {
    fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        let rows = left.iter().zip(right).zip(self.keys.iter());
        let mut orders = rows.map(|((left, right), key)| match (left.is_null(), right.is_null()) {
            (false, false) if key.descending => right.compare_as(left, key.data_type),
            (false, false) => left.compare_as(right, key.data_type),
            (true, true) => Ordering::Equal,
            (left_is_null, _) if left_is_null == key.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}
