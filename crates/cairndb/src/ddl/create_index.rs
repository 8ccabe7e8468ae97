//! CREATE INDEX.

use std::sync::Arc;

use cairn_storage::TreeId;

use super::constraints::{check_key, refuse_virtual};
use super::context::Ddl;
use super::create_table::check_collated;
use super::names::Chosen;
use crate::bind::{resolve_key, resolve_predicate};
use crate::catalog::{Catalog, EXPRESSIONS, Index, IndexColumn, Inverted, KeyExpression, Table};
use crate::command::{CreateIndex, IndexKey, IndexPart};
use crate::functions::extensions::{has_class, is_class};
use crate::inverted::ItemClass;
use crate::types::{DataType, EvalContext, TYPES};
use crate::{Error, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        let table = self.table_or_materialized(&create.table)?;
        let (mut index, named_by) = described(create, &table, (&self.catalog, self.maker()))?;
        let Some(name) = self.free_index_name(create, &table, &named_by)? else { return Ok("CREATE INDEX") };
        (index.name, index.tree) = (name, self.dml.tx.create_derived_tree(table.schema)?);
        self.build_index(&table, &index)?;
        self.put_index(&table, index)
    }

    /// The table has the index, which is built, from now on.
    fn put_index(&self, table: &Table, mut index: Index) -> Result<&'static str> {
        index.id = self.store.allocate_id(table.schema)?;
        let mut table = table.clone();
        table.indexes.push(Arc::new(index));
        self.store.put_table(&table)?;
        Ok("CREATE INDEX")
    }

    /// As [`put_index`](Ddl::put_index), of an index that was built while others went on working. They wait now.
    pub(super) fn put_index_built(
        &mut self,
        create: &CreateIndex,
        (mut index, named_by): (Index, Vec<String>),
    ) -> Result<&'static str> {
        let table = self.table_or_materialized(&create.table)?;
        match self.free_index_name(create, &table, &named_by)? {
            Some(name) => {
                index.name = name;
                self.put_index(&table, index)
            }
            None => {
                self.dml.tx.drop_tree(index.tree)?;
                Ok("CREATE INDEX")
            }
        }
    }

    /// `None`: there is one of this name, and IF NOT EXISTS was said.
    fn free_index_name(&mut self, create: &CreateIndex, table: &Table, named_by: &[String]) -> Result<Option<String>> {
        if let Some(method) = &create.method {
            let message = format!("access method \"{method}\" is not there: \"btree\" takes its place");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
        if create.has_storage_options {
            self.notice(SqlState::SUCCESSFUL_COMPLETION, "storage parameters do nothing".to_owned());
        }
        let Some(name) = &create.name else {
            return Ok(Some(Chosen::default().relation(&self.catalog, table, &named_by.join("_"), "idx")));
        };
        Ok(self.is_free(table.schema, name, create.if_not_exists)?.then(|| name.clone()))
    }
}

/// The index as it was asked for, without an id and a tree; and what its name is made of, where none is given.
pub(super) fn described(
    create: &CreateIndex,
    table: &Table,
    bound_in: (&Catalog, Option<&EvalContext>),
) -> Result<(Index, Vec<String>)> {
    refuse_kept(table)?;
    if table.is_follower() && create.unique {
        let message = format!("a unique index of \"{}\", which follows its query", table.name);
        return Err(Error::unsupported(message).with_hint("Leave UNIQUE out: whatever the query gives is put there."));
    }
    let mut index = Index {
        name: create.name.clone().unwrap_or_default(),
        unique: create.unique,
        nulls_equal: create.unique && create.nulls_equal,
        included: create.included.iter().map(|name| position(table, name)).collect::<Result<_>>()?,
        predicate: create.filter.as_ref().map(|text| resolve_predicate(text, table, bound_in)).transpose()?,
        inverted: create.is_inverted.then(Inverted::default),
        ..Index::new(TreeId::CATALOG, [])
    };
    index.included.iter().try_for_each(|&column| refuse_virtual(table, column, "indexes"))?;
    let mut named_by: Vec<String> = Vec::with_capacity(create.columns.len());
    let mut next = table.indexes.iter().flat_map(|index| &index.expressions).map(|key| key.column + 1).max();
    for IndexPart { key, descending, nulls_first, is_collated, class } in &create.columns {
        let (column, data_type, name) = match key {
            IndexKey::Column(name) => {
                let column = position(table, name)?;
                refuse_virtual(table, column, "indexes")?;
                (column, table.columns[column].data_type, name.clone())
            }
            IndexKey::Expression(text) => {
                let (expression, data_type, name) = resolve_key(text, table, bound_in)?;
                let column = next.unwrap_or(EXPRESSIONS);
                next = Some(column + 1);
                index.expressions.push(KeyExpression { column, data_type, expression });
                (column, data_type, name)
            }
        };
        if *is_collated {
            check_collated(data_type)?;
        }
        match &mut index.inverted {
            Some(inverted) => inverted.classes.push(item_class(class.as_deref(), data_type)?),
            None => {
                check_key(data_type)?;
                class.as_ref().map_or(Ok(()), |class| check_class(class, data_type))?;
            }
        }
        index.columns.push(IndexColumn { column, descending: *descending, nulls_first: *nulls_first });
        named_by.push(other_than(&named_by, name));
    }
    let of_expressions = index.expressions.iter().map(|key| &key.expression).chain(&index.predicate);
    for number in of_expressions.flat_map(|expression| &expression.columns) {
        table.position_of_number(*number).map_or(Ok(()), |column| refuse_virtual(table, column, "indexes"))?;
    }
    for name in &create.included {
        named_by.push(other_than(&named_by, name.clone()));
    }
    Ok((index, named_by))
}

/// Texts are ordered by their bytes, as `text_pattern_ops` and its like want it; the other classes are the types' own.
/// SQLSTATE 42704, 42804.
fn check_class(class: &str, data_type: DataType) -> Result<()> {
    const OF_TEXT: [&str; 6] =
        ["text_ops", "varchar_ops", "bpchar_ops", "text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops"];
    const OF_NETWORK: [&str; 2] = ["inet_ops", "cidr_ops"];
    let own = |base: DataType| match base.is_reg() {
        true => "oid_ops".to_owned(),
        false => format!("{}_ops", base.catalog_name()),
    };
    let of_extension = data_type.of_extension().is_some_and(|of| has_class(of.definition().kind, class));
    let fits = match data_type.is_array() {
        true => class == "array_ops",
        false => {
            let of_text = OF_TEXT.contains(&class) && data_type.is_string();
            let of_network = OF_NETWORK.contains(&class) && matches!(data_type, DataType::Inet | DataType::Cidr);
            of_text || of_network || own(data_type) == class || of_extension
        }
    };
    if fits {
        return Ok(());
    }
    let is_known = OF_TEXT.contains(&class)
        || class == "array_ops"
        || is_class(class)
        || TYPES.iter().any(|info| own(info.base) == class);
    Err(match is_known {
        true => {
            let message = format!("operator class \"{class}\" does not accept data type {data_type}");
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        }
        false => {
            let message = format!("operator class \"{class}\" does not exist for access method \"btree\"");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        }
    })
}

/// What the items of an inverted index's column are. SQLSTATE 42704, 42804.
pub(super) fn item_class(class: Option<&str>, data_type: DataType) -> Result<ItemClass> {
    let found = match class {
        Some("gin_trgm_ops") => {
            let hint = "There are no indexes of trigrams yet: without the index, patterns and likeness are looked for in every row.";
            return Err(Error::unsupported("operator class gin_trgm_ops").with_hint(hint));
        }
        // (Which finds what `array_ops` does, and a query of integers besides.)
        Some("gin__int_ops") if data_type.element() == Some(DataType::Integer) => ItemClass::Array,
        Some("gin_hstore_ops") => return Err(no_items_of_hstore()),
        None if matches!(data_type, DataType::Hstore(_)) => return Err(no_items_of_hstore()),
        Some(name) => {
            let class = ItemClass::named(name).ok_or_else(|| {
                let message = format!("operator class \"{name}\" does not exist for access method \"gin\"");
                Error::new(SqlState::UNDEFINED_OBJECT, message)
            })?;
            if !class.accepts(data_type) {
                let message = format!("operator class \"{name}\" does not accept data type {}", data_type.type_name());
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            class
        }
        None => ItemClass::default_of(data_type).ok_or_else(|| {
            let message =
                format!("data type {} has no default operator class for access method \"gin\"", data_type.type_name());
            let hint = "There are classes for jsonb (jsonb_ops, jsonb_path_ops) and for arrays (array_ops).";
            Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint)
        })?,
    };
    if found == ItemClass::Array {
        check_key(data_type.element().unwrap_or(data_type))?;
    }
    Ok(found)
}

/// SQLSTATE 0A000.
fn no_items_of_hstore() -> Error {
    let hint = "Index a key that is asked for, USING btree ((column -> 'key')), or the document, USING gin (hstore_to_jsonb(column)), \
                which finds hstore_to_jsonb(column) @> '{\"key\": \"value\"}' and ? 'key'.";
    Error::unsupported("an index of the pairs of an hstore").with_hint(hint)
}

/// As PostgreSQL names the columns of an index: `expr`, `expr1`.
fn other_than(taken: &[String], name: String) -> String {
    let numbered = (1..).map(|number| format!("{name}{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name)
}

fn position(table: &Table, name: &str) -> Result<usize> {
    table.column_position(name).ok_or_else(|| Error::undefined_column(name))
}

/// SQLSTATE 0A000 for a view whose rows are made of groups where they are read.
fn refuse_kept(table: &Table) -> Result<()> {
    match table.is_kept_by_commits() {
        false => Ok(()),
        true => Err(Error::unsupported(format!("an index of \"{}\", which commits keep current", table.name))
            .with_hint("Its groups are found by their key already.")),
    }
}
