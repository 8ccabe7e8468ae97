//! Queries whose groups commits can keep: counts, sums and means over the rows of one table.
//!
//! A row changes the counters of its group by numbers that follow from the row alone, so whoever changes rows adds these
//! numbers, reads nothing for it, and is in nobody's way (`dml::row::Addition`, by the storage's operation *add*). What is kept of
//! such a query are rows of another table:
//!
//! ```text
//! group keys                 the table's key, in the order of GROUP BY; one of 0 where there is no GROUP BY
//! counters bytea             16 bytes each: rows, then those of each aggregate (`functions::Tally`) in the query's order
//! ```
//! `count(*)` without FILTER is the first of them, and has none of its own. Where there is no GROUP BY the row is there even if
//! no other is: it counts for one.
//!
//! The bytes are part of the file format; so is the order. A query is read by the same rules for as long as its view is there.

use std::sync::Arc;

use cairn_storage::COUNTERS_MAX;

use crate::catalog::{Column, Index, Table, TableKind};
use crate::functions::{ANY, AggregateKind, Tally, aggregate_overloads, exact_overload};
use crate::plan::expressions::expr::{AggregateCall, Expr};
use crate::plan::expressions::facts::is_immutable;
use crate::plan::expressions::held::Held;
use crate::plan::expressions::refs::{conjunction, substitute};
use crate::plan::expressions::walk;
use crate::plan::logical::{Field, LogicalPlan};
use crate::plan::scans::indexes::BoundIndexes;
use crate::types::{DataType, Numeric};
use crate::{Error, Result, Value};

/// Sums of so many digits fit into a counter, for ten thousand million rows.
const DIGITS_MAX: u16 = 28;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// The table whose rows are counted.
    pub(crate) table: Arc<Table>,
    /// What the table's indexes rest on.
    indexes: Option<Arc<BoundIndexes>>,
    /// WHERE, over the table's columns.
    pub(crate) filter: Option<Expr>,
    /// GROUP BY, over the same.
    pub(crate) keys: Vec<Expr>,
    /// The aggregates that have counters of their own.
    pub(crate) parts: Vec<Part>,
    /// The query; its `Aggregate` is where the groups are read.
    query: LogicalPlan,
}

/// An aggregate's counters.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) tally: Tally,
    /// Which is its first.
    pub(crate) at: usize,
    /// What is counted or summed, over the table's columns; `None`: rows.
    pub(crate) argument: Option<Expr>,
    pub(crate) filter: Option<Expr>,
    /// Digits behind the point that a sum of decimals is kept with.
    pub(crate) scale: u16,
}

/// What in a query is in the way.
pub(crate) type InTheWay = String;

impl Groups {
    /// The groups of a query as it was bound; `Err`: what of it commits can not keep.
    pub(crate) fn of(plan: &LogicalPlan) -> Result<Groups, InTheWay> {
        let mut query = plan.clone();
        let LogicalPlan::Aggregate { input, group_by, aggregates, .. } = groups_of(&mut query)? else {
            return Err("a query without groups".to_owned());
        };
        let source = Source::of(input)?;
        let over = |expr: &Expr| {
            let expr = source.over(expr);
            steady(&expr).map(|()| expr)
        };
        let keys: Vec<Expr> = group_by.iter().map(over).collect::<Result<_, _>>()?;
        keys.iter().try_for_each(|key| can_be_key(key.data_type()))?;
        let mut at = 1;
        let mut parts = Vec::new();
        for call in aggregates.iter() {
            let part = Part::of(call, at, over)?;
            at += part.as_ref().map_or(0, |part| part.tally.width());
            parts.extend(part);
        }
        if at > COUNTERS_MAX {
            return Err(format!("so many aggregates (they need {at} counters of {COUNTERS_MAX})"));
        }
        source.filters.iter().try_for_each(steady)?;
        let Source { table, indexes, filters, .. } = source;
        Ok(Groups { table, indexes, filter: conjunction(filters), keys, parts, query })
    }

    /// How many counters a group has.
    pub(crate) fn counters(&self) -> usize {
        1 + self.parts.iter().map(|part| part.tally.width()).sum::<usize>()
    }

    /// Whether there is one group, of all rows.
    pub(crate) fn is_of_all(&self) -> bool {
        self.keys.is_empty()
    }

    /// The columns of the table that `view`'s groups are kept in.
    pub(crate) fn state(&self, view: &Table) -> Table {
        let names = match &self.aggregate() {
            LogicalPlan::Aggregate { fields, .. } => fields.iter().map(|field| field.name.clone()).collect(),
            _ => Vec::new(),
        };
        let key = |(at, key): (usize, &Expr)| (names.get(at).cloned().unwrap_or_default(), key.data_type());
        let mut columns: Vec<(String, DataType)> = self.keys.iter().enumerate().map(key).collect();
        if columns.is_empty() {
            columns.push(("all".to_owned(), DataType::SmallInt));
        }
        let primary = Some(Arc::new(Index::primary(view.tree, 0..columns.len())));
        columns.push(("counters".to_owned(), DataType::Bytea));
        let columns = (1..).zip(columns).map(|(number, (name, data_type))| Column::new(number, name, data_type));
        Table {
            columns: columns.collect(),
            primary,
            live: view.live.clone(),
            schema: view.schema,
            kind: view.materialized().cloned().map_or(TableKind::Table, TableKind::Groups),
            ..Table::new(view.id, view.name.clone(), view.tree)
        }
    }

    fn aggregate(&self) -> &LogicalPlan {
        let mut plan = &self.query;
        while let LogicalPlan::Project { input, .. } | LogicalPlan::Filter { input, .. } = plan {
            plan = input;
        }
        plan
    }

    /// The query's result, out of the groups that are kept in `state`.
    pub(crate) fn rows(&self, state: &Arc<Table>, alias: Option<Arc<str>>) -> Result<LogicalPlan, Error> {
        let mut plan = self.query.clone();
        let at = groups_of(&mut plan).map_err(Error::internal)?;
        let LogicalPlan::Aggregate { aggregates, fields, .. } = at else {
            return Err(Error::internal("a query without groups"));
        };
        let column = |index: usize| Expr::Column { index, data_type: state.columns[index].data_type };
        let counters = column(state.columns.len() - 1);
        let mut exprs: Vec<Expr> = (0..self.keys.len()).map(column).collect();
        let mut parts = self.parts.iter();
        for call in aggregates.iter() {
            exprs.push(match is_count_of_all(call) {
                true => answer(Tally::Count, &counters, 0, i32::from(self.is_of_all())),
                false => {
                    let part = parts.next().ok_or_else(|| Error::internal("an aggregate without counters"))?;
                    answer(part.tally, &counters, part.at, part.scale.into())
                }
            });
        }
        let columns = (0..state.columns.len()).collect();
        let scan = LogicalPlan::Scan { table: state.clone(), columns, indexes: None, alias };
        *at = LogicalPlan::Project { input: Box::new(scan), exprs, fields: std::mem::take(fields) };
        Ok(plan)
    }

    /// All groups as they are now: the keys, and the counters one by one, a `bigint` or `numeric` each.
    pub(crate) fn states(&self) -> Result<LogicalPlan, Error> {
        let columns = (0..self.table.columns.len()).collect();
        let (table, indexes) = (self.table.clone(), self.indexes.clone());
        let mut input = LogicalPlan::Scan { table, columns, indexes, alias: None };
        if let Some(predicate) = self.filter.clone() {
            input = LogicalPlan::Filter { input: Box::new(input), predicate };
        }
        let mut aggregates = vec![call("count", &[], None, None)?];
        for part in &self.parts {
            part.add_states(&mut aggregates)?;
        }
        let types = self.keys.iter().map(Expr::data_type).chain(aggregates.iter().map(|call| call.aggregate.returns));
        let fields = types.map(|data_type| Field { name: String::new(), data_type }).collect();
        Ok(LogicalPlan::Aggregate { input: Box::new(input), group_by: self.keys.clone(), aggregates, fields })
    }
}

impl Part {
    fn of(
        call: &AggregateCall,
        at: usize,
        over: impl Fn(&Expr) -> Result<Expr, InTheWay>,
    ) -> Result<Option<Part>, InTheWay> {
        let name = &call.aggregate.name;
        if call.distinct {
            return Err(format!("{name}(DISTINCT ...)"));
        }
        if is_count_of_all(call) {
            return Ok(None);
        }
        let argument = call.args.first().map(&over).transpose()?;
        let filter = call.filter.as_ref().map(&over).transpose()?;
        let of = argument.as_ref().map(Expr::data_type);
        let refused = || Err(format!("{name}({})", of.map_or_else(String::new, |of| of.to_string())));
        let is_sum = call.aggregate.kind == AggregateKind::Sum;
        let (tally, scale) = match (call.aggregate.kind, of) {
            (AggregateKind::CountRows | AggregateKind::Count, _) => (Tally::Count, 0),
            (AggregateKind::Sum, Some(DataType::SmallInt | DataType::Integer)) => (Tally::IntegerSum, 0),
            (AggregateKind::Sum, Some(DataType::BigInt)) => (Tally::BigIntSum, 0),
            (AggregateKind::Avg, Some(DataType::SmallInt | DataType::Integer | DataType::BigInt)) => {
                (Tally::IntegerMean, 0)
            }
            (AggregateKind::Sum | AggregateKind::Avg, Some(DataType::Numeric(Some((precision, scale)))))
                if precision <= DIGITS_MAX && (0..=28).contains(&scale) =>
            {
                (if is_sum { Tally::DecimalSum } else { Tally::DecimalMean }, scale.unsigned_abs())
            }
            _ => return refused(),
        };
        Ok(Some(Part { tally, at, argument, filter, scale }))
    }

    /// The aggregates that its counters are the answers of.
    fn add_states(&self, to: &mut Vec<AggregateCall>) -> Result<(), Error> {
        let filter = self.filter.clone();
        let Some(argument) = self.argument.clone() else {
            to.push(call("count", &[], None, filter)?);
            return Ok(());
        };
        to.push(call("count", &[argument.data_type()], Some(argument.clone()), filter.clone())?);
        let decimal = DataType::Numeric(None);
        let as_decimal = Expr::Cast { input: Box::new(argument.clone()), to: decimal };
        match self.tally {
            Tally::Count => {}
            Tally::IntegerSum | Tally::BigIntSum | Tally::IntegerMean => {
                to.push(call("sum", &[decimal], Some(as_decimal), filter)?);
            }
            Tally::DecimalSum | Tally::DecimalMean => {
                let equal = exact_overload("=", &[decimal, decimal]);
                let function = equal.ok_or_else(|| Error::internal("no equality of numbers"))?;
                let nan = Expr::Literal { value: Value::Numeric(Numeric::NAN), data_type: decimal };
                let is_nan = Expr::Call { function, args: vec![argument, nan] };
                let and = |condition: Expr| conjunction(filter.clone().into_iter().chain([condition]).collect());
                to.push(call("count", &[], None, and(is_nan.clone()))?);
                to.push(call("sum", &[decimal], Some(as_decimal), and(Expr::Not(Box::new(is_nan))))?);
            }
        }
        Ok(())
    }
}

/// The rows that are grouped: a table's, and what is computed of them.
struct Source {
    table: Arc<Table>,
    indexes: Option<Arc<BoundIndexes>>,
    /// Over the table's columns.
    columns: Vec<Expr>,
    filters: Vec<Expr>,
}

impl Source {
    fn of(plan: &LogicalPlan) -> Result<Source, InTheWay> {
        match plan {
            LogicalPlan::Scan { table, .. } if table.is_temporary() => Err("a temporary table".to_owned()),
            LogicalPlan::Scan { table, .. } if table.is_materialized() => {
                Err(format!("the materialized view \"{}\", which is not a table", table.name))
            }
            LogicalPlan::Scan { table, columns, indexes, .. } => {
                let column = |&index: &usize| match table.columns.get(index) {
                    Some(column) => Ok(Expr::Column { index, data_type: column.data_type }),
                    None => Err("the number of a row".to_owned()),
                };
                let columns = columns.iter().map(column).collect::<Result<_, _>>()?;
                Ok(Source { table: table.clone(), indexes: indexes.clone(), columns, filters: Vec::new() })
            }
            LogicalPlan::Filter { input, predicate } => {
                let mut source = Source::of(input)?;
                source.filters.push(source.over(predicate));
                Ok(source)
            }
            LogicalPlan::Project { input, exprs, .. } => {
                let source = Source::of(input)?;
                let columns = exprs.iter().map(|expr| source.over(expr)).collect();
                Ok(Source { columns, ..source })
            }
            other => Err(format!("{} under its groups", name_of(other))),
        }
    }

    /// An expression of its rows, over the table's columns.
    fn over(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        substitute(&mut expr, &self.columns);
        expr
    }
}

/// Where a query's groups are made: under what is computed of them, and HAVING.
fn groups_of(plan: &mut LogicalPlan) -> Result<&mut LogicalPlan, InTheWay> {
    match plan {
        LogicalPlan::Aggregate { .. } => Ok(plan),
        LogicalPlan::Project { input, exprs, .. } => {
            exprs.iter().try_for_each(steady)?;
            groups_of(input)
        }
        LogicalPlan::Filter { input, predicate } => {
            steady(predicate)?;
            groups_of(input)
        }
        LogicalPlan::Scan { .. } => Err("a query without groups".to_owned()),
        other => Err(name_of(other).to_owned()),
    }
}

/// What it is called in a statement.
fn name_of(plan: &LogicalPlan) -> &'static str {
    match plan {
        LogicalPlan::Values { .. } => "VALUES",
        LogicalPlan::Join { .. } => "a join",
        LogicalPlan::Window { .. } => "a window function",
        LogicalPlan::Sort { .. } => "ORDER BY",
        LogicalPlan::Limit { .. } => "LIMIT",
        LogicalPlan::Distinct { .. } => "DISTINCT",
        LogicalPlan::SetOperation { .. } => "UNION, INTERSECT or EXCEPT",
        LogicalPlan::With { .. } | LogicalPlan::RecursiveWith { .. } | LogicalPlan::CteScan { .. } => "WITH",
        LogicalPlan::SystemScan { .. } => "a system relation",
        LogicalPlan::TableFunction { .. } => "a function in FROM",
        LogicalPlan::Aggregate { .. } => "grouping",
        LogicalPlan::Scan { .. }
        | LogicalPlan::Filter { .. }
        | LogicalPlan::Project { .. }
        | LogicalPlan::Modify { .. } => "a query",
    }
}

/// Whoever changes a row evaluates it, and must come to the same whenever the row is changed.
fn steady(expr: &Expr) -> Result<(), InTheWay> {
    if !Held::Transaction.allows(expr) {
        return Err("a subquery, or a function of the schema's".to_owned());
    }
    let mut asks_domain = false;
    walk::walk(expr, 0, &mut |expr, _| {
        asks_domain |= matches!(expr, Expr::Call { function, .. } if function.asks_domain());
    });
    if asks_domain {
        return Err("a cast to a domain, which may be altered".to_owned());
    }
    match is_immutable(expr) {
        true => Ok(()),
        false => Err("a function that is not immutable".to_owned()),
    }
}

/// Values that are the same look the same, and can be read from a key.
fn can_be_key(data_type: DataType) -> Result<(), InTheWay> {
    match data_type {
        DataType::Boolean
        | DataType::SmallInt
        | DataType::Integer
        | DataType::BigInt
        | DataType::Text
        | DataType::Varchar(_)
        | DataType::Bytea
        | DataType::Date
        | DataType::Time(_)
        | DataType::TimeTz(_)
        | DataType::Timestamp(_)
        | DataType::TimestampTz(_)
        | DataType::Uuid
        | DataType::Inet
        | DataType::Cidr
        | DataType::Macaddr
        | DataType::Macaddr8
        | DataType::Enum(_)
        | DataType::Numeric(Some(_)) => Ok(()),
        DataType::Char(length) if length > 0 => Ok(()),
        other => Err(format!("a group of type {other}")),
    }
}

fn is_count_of_all(call: &AggregateCall) -> bool {
    call.aggregate.kind == AggregateKind::CountRows && call.filter.is_none()
}

fn answer(tally: Tally, counters: &Expr, at: usize, last: i32) -> Expr {
    let number = |value: i32| Expr::Literal { value: Value::Integer(value), data_type: DataType::Integer };
    let at = i32::try_from(at).unwrap_or(i32::MAX);
    Expr::Call { function: tally.function(), args: vec![counters.clone(), number(at), number(last)] }
}

/// The call of an aggregate of these types.
fn call(name: &str, types: &[DataType], argument: Option<Expr>, filter: Option<Expr>) -> Result<AggregateCall, Error> {
    let all = aggregate_overloads(name);
    let takes = |of: &DataType, given: &DataType| *of == ANY || *of == given.base();
    let found = all.iter().find(|aggregate| {
        aggregate.args.len() == types.len() && aggregate.args.iter().zip(types).all(|(of, given)| takes(of, given))
    });
    let aggregate = found.cloned().ok_or_else(|| Error::internal(format!("no aggregate {name}")))?;
    Ok(AggregateCall { aggregate, args: argument.into_iter().collect(), distinct: false, filter, order_by: Vec::new() })
}
