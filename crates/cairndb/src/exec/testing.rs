//! Tests' tools: tables in a store in memory, plans by hand, and running them with every batch size.

use std::sync::Arc;

use cairn_storage::{Options, Store, TreeId};

use super::hesitant::hesitantly;
use super::{BatchSizes, ExecContext, execute};
use crate::catalog::{Apart, Column, Index, IndexColumn, ObjectId, Table, TableLayout};
use crate::functions::{Aggregate, Function, aggregate_overloads, exact_overload};
use crate::plan::{
    AggregateCall, Expr, Field, KeyRange, PhysicalNode as N, PhysicalPlan, SortKey, Subplan, SubqueryKind,
};
use crate::types::{EvalContext, key};
use crate::{DataType, Result, Value};

pub(super) const INT: DataType = DataType::Integer;
pub(super) const BIG: DataType = DataType::BigInt;
pub(super) const TEXT: DataType = DataType::Text;
pub(super) const BOOL: DataType = DataType::Boolean;

/// A store and the tables in it.
pub(super) struct Fixture {
    pub(super) store: Store,
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        Fixture::with(Options::default())
    }

    pub(super) fn with(options: Options) -> Fixture {
        Fixture { store: Store::open_in_memory(options).unwrap() }
    }

    /// A table with its rows. Without a primary key rows are numbered from 1. Indexes: (columns, unique, descending).
    pub(super) fn table(
        &self,
        types: &[DataType],
        primary_key: &[usize],
        indexes: &[(&[usize], bool, bool)],
        rows: &[Vec<Value>],
    ) -> Arc<Table> {
        let transaction = self.store.begin().unwrap();
        let mut table = Table::new(ObjectId(1), "t", transaction.create_tree().unwrap());
        table.columns = types.iter().enumerate().map(|(i, &data_type)| column(i, data_type)).collect();
        table.primary =
            (!primary_key.is_empty()).then(|| Arc::new(Index::primary(table.tree, primary_key.iter().copied())));
        for &(columns, unique, descending) in indexes {
            table.indexes.push(Arc::new(index(transaction.create_tree().unwrap(), columns, unique, descending)));
        }
        let layout = TableLayout::new(&table);
        for (number, row) in (1_u64..).zip(rows) {
            let (mut key, mut value) = (vec![], vec![]);
            if layout.has_row_numbers() {
                key = number.to_be_bytes().to_vec();
            } else {
                layout.encode_key(row, &mut key);
            }
            layout.encode_row(row, &mut value);
            transaction.put(table.tree, &key, &value).unwrap();
            for index in &table.indexes {
                let mut entry = vec![];
                let apart = index.encode_entry_with(&key, &mut entry, |part, out| {
                    let (value, data_type) = (&row[part.column], table.columns[part.column].data_type);
                    key::encode_value(value, data_type, part.descending, part.nulls_first, out);
                    Ok::<_, std::convert::Infallible>(value.is_null())
                });
                let value = if apart == Ok(Apart::AtOnce) { &*key } else { &[] };
                transaction.put(index.tree, &entry, value).unwrap();
            }
        }
        transaction.commit(None).unwrap();
        Arc::new(table)
    }

    pub(super) fn context(&self) -> ExecContext {
        ExecContext::new(self.store.snapshot().unwrap().reader().into(), Arc::new(EvalContext::now()))
    }

    /// The plan's rows; the same with every batch size, and where operators say "not yet".
    pub(super) fn rows(&self, plan: &PhysicalPlan) -> Result<Vec<Vec<Value>>> {
        self.rows_in(plan, &self.context())
    }

    pub(super) fn rows_in(&self, plan: &PhysicalPlan, context: &ExecContext) -> Result<Vec<Vec<Value>>> {
        let sizes = [(1, 1), (2, 2), (1, 3), (16, 1024), (1024, 1024)];
        let context = |(first, max)| ExecContext { batch_sizes: BatchSizes { first, max }, ..context.clone() };
        let mut results = sizes.map(|sizes| run(plan, context(sizes)));
        for which in [1, 3] {
            let hesitant = hesitantly(which as u64, || run(plan, context(sizes[which])));
            assert_eq!(format!("{hesitant:?}"), format!("{:?}", results[which]), "operators that stop differ");
        }
        for other in 1..results.len() {
            match (&results[0], &results[other]) {
                (Ok(a), Ok(b)) => assert_eq!(a, b, "batch sizes {:?} and {:?} differ", sizes[0], sizes[other]),
                (Err(a), Err(b)) => assert_eq!(a.sqlstate(), b.sqlstate()),
                (a, b) => panic!("one batch size fails: {a:?} {b:?}"),
            }
        }
        std::mem::replace(&mut results[0], Ok(vec![]))
    }
}

fn column(position: usize, data_type: DataType) -> Column {
    Column::new(0, format!("c{position}"), data_type)
}

fn index(tree: TreeId, columns: &[usize], unique: bool, descending: bool) -> Index {
    let part = |&column: &usize| IndexColumn { column, descending, nulls_first: descending };
    let columns = columns.iter().map(part).collect();
    Index { id: ObjectId(2), name: "i".into(), columns, unique, ..Index::new(tree, []) }
}

/// Runs a plan once.
pub(super) fn run(plan: &PhysicalPlan, context: ExecContext) -> Result<Vec<Vec<Value>>> {
    let mut stream = execute(Arc::new(plan.clone()), context)?;
    let mut rows = vec![];
    while let Some(batch) = stream.next_batch()? {
        assert!(!batch.is_empty(), "an empty batch");
        assert_eq!(batch.columns().len(), plan.fields.len());
        rows.extend((0..batch.len()).map(|row| batch.row(row)));
    }
    Ok(rows)
}

pub(super) fn int(value: i32) -> Value {
    Value::Integer(value)
}

pub(super) fn text(value: &str) -> Value {
    Value::text(value)
}

/// `None` is NULL.
pub(super) fn ints(values: &[Option<i32>]) -> Vec<Value> {
    values.iter().map(|value| value.map_or(Value::Null, Value::Integer)).collect()
}

pub(super) fn literal(value: Value, data_type: DataType) -> Expr {
    Expr::Literal { value, data_type }
}

pub(super) fn int_literal(value: i32) -> Expr {
    literal(Value::Integer(value), INT)
}

pub(super) fn col(index: usize, data_type: DataType) -> Expr {
    Expr::Column { index, data_type }
}

pub(super) fn outer(level: usize, index: usize, data_type: DataType) -> Expr {
    Expr::Outer { level, index, data_type }
}

pub(super) fn function(name: &str, args: &[DataType]) -> Arc<Function> {
    exact_overload(name, args).unwrap_or_else(|| panic!("no {name}{args:?}"))
}

pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<DataType> = args.iter().map(Expr::data_type).collect();
    Expr::Call { function: function(name, &types), args }
}

pub(super) fn plan(types: &[DataType], node: N) -> PhysicalPlan {
    let field = |(i, &data_type): (usize, &DataType)| Field { name: format!("c{i}"), data_type };
    PhysicalPlan {
        id: 0,
        fields: types.iter().enumerate().map(field).collect(),
        estimate: Default::default(),
        node,
        alias: None,
    }
}

fn types_of(plan: &PhysicalPlan) -> Vec<DataType> {
    plan.fields.iter().map(|field| field.data_type).collect()
}

pub(super) fn values(types: &[DataType], rows: &[Vec<Value>]) -> PhysicalPlan {
    let row = |row: &Vec<Value>| row.iter().zip(types).map(|(value, &t)| literal(value.clone(), t)).collect();
    plan(types, N::Values { rows: rows.iter().map(row).collect() })
}

pub(super) fn scan(table: &Arc<Table>) -> PhysicalPlan {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    scan_columns(table, &columns, vec![KeyRange::default()])
}

pub(super) fn scan_columns(table: &Arc<Table>, columns: &[usize], ranges: Vec<KeyRange>) -> PhysicalPlan {
    let data_type = |&c: &usize| table.columns.get(c).map_or(BIG, |column| column.data_type);
    let types: Vec<DataType> = columns.iter().map(data_type).collect();
    let (table, columns) = (table.clone(), columns.to_vec());
    plan(&types, N::TableScan { table, columns, fields: vec![], ranges, filter: None, reverse: false })
}

pub(super) fn filter(input: PhysicalPlan, predicate: Expr) -> PhysicalPlan {
    plan(&types_of(&input), N::Filter { input: Arc::new(input), predicate })
}

pub(super) fn project(input: PhysicalPlan, exprs: Vec<Expr>) -> PhysicalPlan {
    let types: Vec<DataType> = exprs.iter().map(Expr::data_type).collect();
    plan(&types, N::Project { input: Arc::new(input), exprs })
}

pub(super) fn aggregate_of(name: &str, arg: Option<DataType>) -> Arc<Aggregate> {
    let fits = |a: &&Arc<Aggregate>| match arg {
        Some(arg) => a.args.len() == 1 && (a.args[0] == arg.base() || a.args[0] == DataType::Unknown),
        None => a.args.is_empty(),
    };
    aggregate_overloads(name).iter().find(fits).cloned().unwrap_or_else(|| panic!("no {name}({arg:?})"))
}

pub(super) fn aggregate_call(name: &str, arg: Option<Expr>) -> AggregateCall {
    AggregateCall {
        aggregate: aggregate_of(name, arg.as_ref().map(Expr::data_type)),
        args: arg.into_iter().collect(),
        distinct: false,
        filter: None,
        order_by: vec![],
    }
}

pub(super) fn aggregate(input: PhysicalPlan, group_by: Vec<Expr>, aggregates: Vec<AggregateCall>) -> PhysicalPlan {
    let returns = aggregates.iter().map(|call| call.aggregate.returns);
    let types: Vec<DataType> = group_by.iter().map(Expr::data_type).chain(returns).collect();
    plan(&types, N::Aggregate { input: Arc::new(input), group_by, aggregates, sorted: false })
}

pub(super) fn sort_key(expr: Expr, descending: bool, nulls_first: bool) -> SortKey {
    SortKey { expr, descending, nulls_first }
}

pub(super) fn sort(input: PhysicalPlan, keys: Vec<SortKey>) -> PhysicalPlan {
    plan(&types_of(&input), N::Sort { input: Arc::new(input), keys, presorted: 0 })
}

pub(super) fn subplan(kind: SubqueryKind, plan: PhysicalPlan, depends_on: Vec<(usize, usize)>) -> Expr {
    Expr::Subplan(Box::new(Subplan { id: 0, kind, plan: Arc::new(plan), depends_on }))
}

/// Numbers that look random and are the same in each run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// An integer below the bound, or, one time in five, NULL.
    pub(super) fn int_or_null(&mut self, bound: u64) -> Value {
        if self.below(5) == 0 { Value::Null } else { Value::Integer(self.below(bound) as i32) }
    }

    pub(super) fn int_rows(&mut self, count: usize, columns: usize, bound: u64) -> Vec<Vec<Value>> {
        (0..count).map(|_| (0..columns).map(|_| self.int_or_null(bound)).collect()).collect()
    }
}
