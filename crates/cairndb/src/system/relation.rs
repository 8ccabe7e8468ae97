//! A relation that the system makes, and how its rows are made: when they are scanned, those of one object where only these are asked
//! for, and of each only the columns that are wanted.

use std::collections::HashMap;
use std::sync::Arc;

use super::oid_of;
use super::{Answers, BoundViews};
use crate::Value;
use crate::catalog::{Catalog, ObjectId, Relation, RelationKind, Table, UserType, View};
use crate::plan::{Expr, Field, SystemRows};
use crate::types::{CompositeType, DataType, EvalContext, RegValue, SessionServices, Uses};

/// A relation that the system makes.
#[derive(Debug)]
pub(crate) struct SystemRelation {
    /// `pg_catalog` or `information_schema`.
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    /// PostgreSQL's, where others refer to it.
    pub(super) oid: Option<i64>,
    pub(crate) kind: RelationKind,
    pub(super) columns: Vec<(&'static str, DataType)>,
    pub(super) made: Made,
}

#[derive(Debug)]
struct UnderCatalog {
    relation: &'static SystemRelation,
    catalog: Catalog,
    views: &'static dyn BoundViews,
}

impl SystemRows for UnderCatalog {
    fn name(&self) -> &'static str {
        self.relation.name
    }

    fn column(&self, position: usize) -> &'static str {
        self.relation.columns.get(position).map_or("", |(name, _)| name)
    }

    fn is_key(&self, position: usize) -> bool {
        self.relation.key(position).is_some()
    }

    fn changes_unseen(&self) -> bool {
        matches!(self.relation.made, Made::Counted(_))
    }

    fn estimate(&self) -> f64 {
        self.catalog.relations().count() as f64 * 4.0 + 100.0
    }

    fn rows(&self, wanted: &[usize], asked: Option<(usize, &Value)>, context: &EvalContext) -> Vec<Vec<Value>> {
        let only = asked.and_then(|(column, value)| Some(self.relation.key(column)?.only(value)));
        let session = context.channels.clone();
        self.relation.rows((&self.catalog, self.views), wanted, only.unwrap_or_default(), session)
    }
}

/// What gives its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Made {
    /// There is nothing of these things here.
    Nothing,
    /// The catalog.
    Rows(fn(&Catalog, &mut Rows)),
    /// The catalog, and what the database has counted: that changes without a commit.
    Counted(fn(&Catalog, &mut Rows)),
    /// The catalog says expressions, which are computed when the statement runs.
    Expressions(fn(&Catalog) -> Vec<Vec<Expr>>),
    /// A function, as in PostgreSQL: what it gives changes by the moment.
    Function(&'static Answers),
    /// A function that asks the server, where a client asks.
    Served(&'static Answers),
}

/// What a column's value says of the rows that have it: they are of the relation with this oid, or of those of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Oid,
    Name,
}

/// Columns by which rows can be asked for.
const KEYS: &[(&str, &str, Key)] = &[
    ("pg_class", "oid", Key::Oid),
    ("pg_class", "relname", Key::Name),
    ("pg_attribute", "attrelid", Key::Oid),
    ("pg_attrdef", "adrelid", Key::Oid),
    ("pg_index", "indexrelid", Key::Oid),
    ("pg_index", "indrelid", Key::Oid),
    ("pg_constraint", "oid", Key::Oid),
    ("pg_constraint", "conrelid", Key::Oid),
    ("pg_indexes", "tablename", Key::Name),
    ("pg_indexes", "indexname", Key::Name),
    ("pg_tables", "tablename", Key::Name),
    ("pg_stat_user_tables", "relid", Key::Oid),
    ("pg_stat_user_tables", "relname", Key::Name),
    ("pg_stats", "tablename", Key::Name),
    ("tables", "table_name", Key::Name),
    ("columns", "table_name", Key::Name),
    ("views", "table_name", Key::Name),
    ("table_constraints", "table_name", Key::Name),
    ("key_column_usage", "table_name", Key::Name),
];

/// Whose rows are asked for. Others may be there, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Only {
    #[default]
    All,
    /// Of the relation with this id, or that the index, the constraint, or the trigger with it belongs to.
    Object(ObjectId),
    /// Of the relations of this name, or that the index of it belongs to.
    Named(String),
    /// Of what is none of the schema's: the system's own objects have no rows here.
    Nothing,
}

impl Key {
    /// Those whose column has this value, which is not NULL.
    fn only(self, value: &Value) -> Only {
        match (self, value) {
            (Key::Oid, Value::BigInt(oid)) => object(*oid).map_or(Only::Nothing, Only::Object),
            (Key::Name, Value::Text(name)) => Only::Named(name.to_string()),
            _ => Only::All,
        }
    }
}

/// The object with an oid, if it is none of the system's own.
pub(super) fn object(oid: i64) -> Option<ObjectId> {
    u32::try_from(oid.checked_sub(oid_of(ObjectId(0)))?).ok().map(ObjectId)
}

impl SystemRelation {
    /// The name of its schema.
    pub(crate) fn schema(&self) -> &'static str {
        self.schema
    }

    /// What its rows say in `tableoid`; `None`: it is a view.
    pub(crate) fn table_oid(&self) -> Option<i64> {
        self.oid.filter(|_| self.kind == RelationKind::Table)
    }

    pub(crate) fn made(&self) -> &Made {
        &self.made
    }

    pub(crate) fn fields(&self) -> Vec<Field> {
        let field = |&(name, data_type): &(&str, DataType)| Field { name: name.to_owned(), data_type };
        self.columns.iter().map(field).collect()
    }

    /// What the value of the column at a position says of rows, if they can be asked for by it.
    fn key(&self, column: usize) -> Option<Key> {
        let (column, _) = self.columns.get(column)?;
        KEYS.iter().find(|(of, key, _)| of == &self.name && key == column).map(|(.., key)| *key)
    }

    /// The relation under a catalog.
    pub(crate) fn under(&'static self, catalog: &Catalog, views: &'static dyn BoundViews) -> Arc<dyn SystemRows> {
        Arc::new(UnderCatalog { relation: self, catalog: catalog.clone(), views })
    }

    fn rows(
        &'static self,
        (catalog, views): (&Catalog, &'static dyn BoundViews),
        wanted: &[usize],
        only: Only,
        session: Option<Arc<dyn SessionServices>>,
    ) -> Vec<Vec<Value>> {
        let (Made::Rows(make) | Made::Counted(make)) = self.made else { return Vec::new() };
        let mut places = vec![None; self.columns.len()];
        let mut blank = Vec::with_capacity(wanted.len());
        for (place, &column) in wanted.iter().enumerate() {
            if let (Some(known), Some((_, data_type))) = (places.get_mut(column), self.columns.get(column)) {
                *known = Some(place);
                blank.push(unsaid(*data_type));
            }
        }
        let mut rows = Rows { rows: Vec::new(), columns: &self.columns, places, blank, only, bound: views, session };
        make(catalog, &mut rows);
        rows.rows
    }
}

/// The rows so far.
pub(crate) struct Rows {
    rows: Vec<Vec<Value>>,
    columns: &'static [(&'static str, DataType)],
    /// Of each column: where it is in a row, if it is wanted.
    places: Vec<Option<usize>>,
    /// A row that says nothing.
    blank: Vec<Value>,
    only: Only,
    /// What views' queries say.
    pub(super) bound: &'static dyn BoundViews,
    /// Who asks.
    session: Option<Arc<dyn SessionServices>>,
}

impl Rows {
    /// A row by its columns' names: the last value of a name counts, and what is not named is 0, false or NULL.
    pub(super) fn put(&mut self, named: Vec<(&'static str, Value)>) {
        self.put_over(self.blank.clone(), named);
    }

    /// A row of what is known: the last value of a name counts, what is not named is NULL.
    pub(super) fn put_known(&mut self, named: Vec<(&'static str, Value)>) {
        self.put_over(vec![Value::Null; self.blank.len()], named);
    }

    fn put_over(&mut self, mut row: Vec<Value>, named: Vec<(&'static str, Value)>) {
        let mut after = 0;
        for (name, value) in named {
            if let Some(place) = self.place(name, &mut after) {
                row[place] = value;
            }
        }
        self.rows.push(row);
    }

    /// As [`Rows::put`], where there are many rows: what nobody wants is not made.
    pub(super) fn put_wanted(&mut self, named: &[(&'static str, &dyn Fn() -> Value)]) {
        let (mut row, mut after) = (self.blank.clone(), 0);
        for (name, value) in named {
            if let Some(place) = self.place(name, &mut after) {
                row[place] = value();
            }
        }
        self.rows.push(row);
    }

    /// Where the column of this name is in a row, if it is wanted. `after`: behind the column that was named before, for they are named in
    /// the order in which they are there, most of them.
    fn place(&self, name: &'static str, after: &mut usize) -> Option<usize> {
        let is_it = |at: &usize| self.columns[*at].0 == name;
        let found = (*after..self.columns.len()).find(is_it).or_else(|| (0..*after).find(is_it));
        debug_assert!(found.is_some(), "{name}");
        *after = found? + 1;
        self.places[found?]
    }

    /// How often tables and indexes were used; `None` where no session asks, or nobody wants to know.
    pub(super) fn uses(&self) -> Option<HashMap<ObjectId, Uses>> {
        let wanted = self.wants(&["seq_scan", "seq_tup_read", "idx_scan", "idx_tup_read", "idx_tup_fetch"]);
        self.session.as_ref().filter(|_| wanted)?.uses().ok()
    }

    /// Whether one of these columns is wanted.
    pub(super) fn wants(&self, names: &[&str]) -> bool {
        let wanted = self.columns.iter().zip(&self.places).filter(|(_, place)| place.is_some());
        wanted.into_iter().any(|((name, _), _)| names.contains(name))
    }

    /// The relations whose rows are asked for: the schema, the name, what it is.
    pub(super) fn relations<'c>(&self, catalog: &'c Catalog) -> Vec<(ObjectId, &'c str, &'c Relation)> {
        match &self.only {
            Only::All => {
                let in_schema = |(_, schema)| catalog.relations_in(schema).map(move |(name, of)| (schema, name, of));
                catalog.schemas().flat_map(in_schema).collect()
            }
            Only::Object(id) => catalog.relation_of(*id).into_iter().collect(),
            Only::Named(name) => catalog.schemas().filter_map(|(_, schema)| catalog.named_in(schema, name)).collect(),
            Only::Nothing => Vec::new(),
        }
    }

    /// The tables whose rows, or rows of whose indexes and constraints, are asked for, materialized views among them.
    pub(super) fn tables<'c>(&self, catalog: &'c Catalog) -> Vec<&'c Table> {
        let table = |relation: &'c Relation| match relation {
            Relation::Table(table) => Some(&**table),
            Relation::Index(table, _) if self.only != Only::All => Some(&**table),
            _ => None,
        };
        self.relations(catalog).into_iter().filter_map(|(.., relation)| table(relation)).collect()
    }

    /// The composite types that are asked for, each a relation of its own name and id in `pg_class`.
    pub(super) fn composite_types<'c>(&self, catalog: &'c Catalog) -> Vec<(&'c UserType, CompositeType)> {
        let asked = |of: &&'c Arc<UserType>| match &self.only {
            Only::All => true,
            Only::Object(id) => of.id == *id,
            Only::Named(name) => of.name == *name,
            Only::Nothing => false,
        };
        let composite = |of: &'c Arc<UserType>| match of.data_type {
            DataType::Composite(composite) => Some((&**of, composite)),
            _ => None,
        };
        catalog.types().filter(asked).filter_map(composite).collect()
    }

    /// As [`Rows::tables`], views.
    pub(super) fn views<'c>(&self, catalog: &'c Catalog) -> Vec<&'c Arc<View>> {
        self.relations(catalog).into_iter().filter_map(|(.., relation)| relation.view()).collect()
    }
}

/// What a row has where it says nothing.
fn unsaid(data_type: DataType) -> Value {
    match data_type {
        DataType::BigInt | DataType::Oid => Value::BigInt(0),
        DataType::Integer => Value::Integer(0),
        DataType::SmallInt => Value::SmallInt(0),
        DataType::Real => Value::Real(0.0),
        DataType::Boolean => Value::Boolean(false),
        DataType::Reg(of) => Value::Reg(RegValue { of, oid: 0 }),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Connection, Database};

    /// Names that are in two schemas, of a table and an index, constraints that share their names with relations, and what is temporary.
    const SCHEMA: &str = "
        CREATE TYPE mood AS ENUM ('sad', 'ok');
        CREATE TYPE place AS (x int, y int);
        CREATE DOMAIN positive AS int CONSTRAINT positive CHECK (VALUE > 0) CONSTRAINT b CHECK (VALUE < 100);
        CREATE TABLE a (id int PRIMARY KEY, n positive DEFAULT 7, m mood, CONSTRAINT b CHECK (n < 50));
        CREATE TABLE b (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int REFERENCES a, t text UNIQUE, CONSTRAINT a CHECK (a > 0));
        CREATE INDEX c ON a (n, m);
        CREATE INDEX ON b (lower(t)) WHERE a > 3;
        CREATE VIEW v AS SELECT id, n + 1 AS more FROM a;
        ALTER VIEW v ALTER COLUMN id SET DEFAULT 3;
        CREATE MATERIALIZED VIEW w AS SELECT count(*) FROM a;
        CREATE SEQUENCE s;
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        CREATE TRIGGER c BEFORE INSERT ON b FOR EACH ROW EXECUTE FUNCTION f();
        CREATE SCHEMA other;
        CREATE TABLE other.a (k text PRIMARY KEY, CONSTRAINT c CHECK (k <> ''));
        CREATE TABLE other.c (k text REFERENCES other.a);
        CREATE VIEW other.b AS SELECT 1 AS one;
        CREATE TEMPORARY TABLE c (a int UNIQUE);
        INSERT INTO a VALUES (1, 2, 'ok'); ANALYZE;
        COMMENT ON CONSTRAINT b ON a IS 'of a table'; COMMENT ON INDEX public.c IS 'an index'; COMMENT ON TRIGGER c ON b IS 'a trigger'";

    fn texts(conn: &Connection, sql: &str) -> Vec<Vec<String>> {
        let row = |row: crate::Row<'_>| Ok(row.values().iter().map(|value| format!("{value:?}")).collect());
        conn.query_map(sql, (), row)
            .unwrap()
            .collect::<crate::Result<_>>()
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// What a key finds is what a scan of everything finds, for each value that is there; and it is asked for.
    #[test]
    fn who_asks_for_one_object_is_given_all_of_its_rows() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute_script(SCHEMA).unwrap();
        for (relation, column, key) in KEYS {
            let schema = if relation.starts_with("pg_") { "pg_catalog" } else { "information_schema" };
            let (of, text) = (format!("{schema}.{relation}"), if *key == Key::Oid { "oid" } else { "name" });
            let values =
                texts(&conn, &format!("SELECT {column}::text FROM {of} WHERE {column} IS NOT NULL GROUP BY 1"));
            assert!(values.len() > 1, "{of}.{column}: {values:?}");
            for value in values {
                let value = value[0].trim_start_matches("Text(\"").trim_end_matches("\")");
                let asked = format!("SELECT * FROM {of} WHERE {column} = '{value}'::{text} ORDER BY 1, 2, 3");
                let plan = texts(&conn, &format!("EXPLAIN {asked}"));
                assert!(plan.iter().any(|line| line[0].contains("Asked For")), "{plan:?}");
                let all = format!("SELECT * FROM {of} WHERE {column}::text || '' = '{value}' ORDER BY 1, 2, 3");
                let whole = texts(&conn, &format!("EXPLAIN {all}"));
                assert!(!whole.iter().any(|line| line[0].contains("Asked For")), "{whole:?}");
                assert_eq!(texts(&conn, &asked), texts(&conn, &all), "{asked}");
            }
        }
    }

    #[test]
    fn nothing_is_found_under_null_and_ids_that_are_not_there() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute_script(SCHEMA).unwrap();
        for value in ["NULL", "0", "16383", "4294967295", "(SELECT NULL::oid)"] {
            let sql = format!("SELECT attname FROM pg_attribute WHERE attrelid = {value}");
            assert!(texts(&conn, &sql).is_empty(), "{sql}");
        }
        let each =
            "SELECT relname, (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid) FROM pg_class c ORDER BY 1, 2";
        let joined = "SELECT relname, count(attnum) FROM pg_class c LEFT JOIN pg_attribute ON attrelid = c.oid
             GROUP BY c.oid, relname ORDER BY 1, 2";
        assert_eq!(texts(&conn, each), texts(&conn, joined));
    }

    #[test]
    fn a_join_asks_for_the_rows_of_each_relation() {
        let conn = Database::open_in_memory().unwrap().connect().unwrap();
        conn.execute_script(SCHEMA).unwrap();
        let queries = [
            "SELECT relname, attname FROM pg_class c JOIN pg_attribute a ON KEY AND attnum > 0 WHERE relname = 'b'",
            "SELECT relname, attname FROM pg_class c LEFT JOIN pg_attribute a ON KEY AND attname < relname WHERE relname = 'c'",
            "SELECT relname FROM pg_class c WHERE relname IN ('a', 'v', 's') AND EXISTS (SELECT FROM pg_attribute a WHERE KEY AND attnotnull)",
            "SELECT relname FROM pg_class c WHERE relname IN ('a', 'v', 's') AND NOT EXISTS (SELECT FROM pg_attribute a WHERE KEY AND attnotnull)",
            "SELECT n, (SELECT count(*) FROM pg_class c JOIN (SELECT * FROM pg_attribute WHERE attnum < n) a ON KEY WHERE relname = 'a')
                 FROM generate_series(1, 4) n",
        ];
        for query in queries {
            let sql = |key: &str| format!("{} ORDER BY 1", query.replace("KEY", key));
            let (asked, whole) = (sql("a.attrelid = c.oid"), sql("a.attrelid::text || '' = c.oid::text"));
            let plan = texts(&conn, &format!("EXPLAIN {asked}"));
            assert!(plan.iter().any(|line| line[0].contains("Asked For: (")), "{asked}: {plan:?}");
            let [mut found, mut all] = [texts(&conn, &asked), texts(&conn, &whole)];
            found.sort_unstable();
            all.sort_unstable();
            assert!(!all.is_empty(), "{asked}");
            assert_eq!(found, all, "{asked}");
        }
    }
}
