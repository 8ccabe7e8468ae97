//! Rows against the constraints of their tables: NOT NULL, domains, generated columns, CHECK, foreign keys, and UNIQUE and PRIMARY
//! KEY that may wait. (Other keys are unique in a tree, so that uniqueness is what [`super::verify`] shows: every row's entry is
//! in its index, and no other.)
//!
//! No statement leaves a row that violates one. A file that was damaged and salvaged may have some, and so may one that an
//! older version wrote, in which a condition meant something else.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::Reader;

use super::references::{DanglingReferences, dangling_references};
use crate::bind::DomainRules;
use crate::catalog::{Catalog, Index, Table, TableLayout, load};
use crate::dml::row::settle;
use crate::dml::{Target, key_detail};
use crate::exec::{ExecContext, eval_row};
use crate::plan::Datum;
use crate::session::{Handle, Session};
use crate::types::EvalContext;
use crate::{Error, Result, Value};

/// How long functions may run for each table.
const FUNCTIONS_TIME: Duration = Duration::from_secs(600);
/// How many of the rows that violate a constraint are told.
const EXAMPLES: usize = 5;

/// A constraint that rows violate.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (a int CHECK (a > 0)); INSERT INTO t VALUES (1)")?;
/// for violation in db.verify_constraints()? {
///     println!("{}: {} rows, such as {}", violation.table, violation.rows, violation.examples.join(", "));
/// }
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The table.
    pub table: String,
    /// What its rows violate.
    pub what: Violated,
    /// How many do.
    pub rows: u64,
    /// Some of them by their keys, as `Key (id)=(1)`; of a foreign key, some of the values that are missing.
    pub examples: Vec<String>,
}

/// What a row violates.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// use cairndb::Violated;
///
/// let names = db.verify_constraints()?.into_iter().map(|violation| match violation.what {
///     Violated::Check(name) | Violated::Unique(name) | Violated::ForeignKey(name, _) => name,
///     Violated::NotNull(column) | Violated::Generated(column) | Violated::Domain(column, _) => column,
///     other => format!("{other:?}"),
/// });
/// assert_eq!(names.count(), 0);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violated {
    /// A column that is not to be NULL.
    NotNull(String),
    /// A CHECK, by its name; a condition that fails is violated too.
    Check(String),
    /// What a domain asks for, by the column's name and the domain's.
    Domain(String, String),
    /// UNIQUE or a PRIMARY KEY, by its name: of rows with the same key the first is none of these.
    Unique(String),
    /// A generated column, by its name: it has not what it is computed to be.
    Generated(String),
    /// A foreign key, by its name, and the table in which the rows are missing.
    ForeignKey(String, String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { table, what, rows, examples } = self;
        match what {
            Violated::NotNull(column) => write!(f, "{table}: {rows} rows have NULL in {column}, which is NOT NULL: ")?,
            Violated::Check(name) => write!(f, "{table}: {rows} rows violate the check constraint {name}: ")?,
            Violated::Domain(column, domain) => {
                write!(f, "{table}: {rows} rows have in {column} what is no value of the domain {domain}: ")?;
            }
            Violated::Unique(name) => write!(f, "{table}: {rows} rows are not the first of their key in {name}: ")?,
            Violated::Generated(column) => {
                write!(f, "{table}: {rows} rows have in {column} what is not computed from the others: ")?;
            }
            Violated::ForeignKey(name, referenced) => {
                write!(f, "{table}: {rows} rows refer by {name} to rows of {referenced} that are missing: ")?;
            }
        }
        f.write_str(&examples.join(", "))?;
        if (examples.len() as u64) < *rows { f.write_str(", ...") } else { Ok(()) }
    }
}

impl From<DanglingReferences> for Violation {
    fn from(found: DanglingReferences) -> Violation {
        let DanglingReferences { table, constraint, referenced, rows, examples } = found;
        Violation { table, what: Violated::ForeignKey(constraint, referenced), rows, examples }
    }
}

/// Every constraint that rows of the newest state violate.
pub(crate) fn verify_constraints(handle: &Handle) -> Result<Vec<Violation>> {
    let snapshot = handle.store.snapshot()?;
    let (session, catalog) = (Session::new(handle.clone())?, load(snapshot.reader())?);
    let catalog = Arc::new(catalog);
    let mut found = Vec::new();
    for table in catalog.tables().filter(|table| !table.is_kept_by_commits()) {
        let context = session.looking(&snapshot.reader().into(), &catalog, FUNCTIONS_TIME)?;
        found.extend(verify_rows((snapshot.reader(), &context), table, &catalog)?);
        for index in table.indexes.iter().filter(|index| index.is_deferrable()) {
            found.extend(verify_key(snapshot.reader(), table, index)?);
        }
    }
    found.extend(dangling_references(&session, &catalog)?.into_iter().map(Violation::from));
    Ok(found)
}

fn verify_rows(
    (reader, context): (&Reader, &ExecContext),
    table: &Arc<Table>,
    catalog: &Catalog,
) -> Result<Vec<Violation>> {
    let target = Target::of(table, catalog)?;
    let not_null = (0..table.columns.len()).filter(|&column| table.columns[column].not_null);
    let mut nulls: Vec<(usize, Violation)> = not_null
        .map(|column| (column, none_yet(table, Violated::NotNull(table.columns[column].name.clone()))))
        .collect();
    let checks = table.checks.iter().map(|check| none_yet(table, Violated::Check(check.name.clone())));
    let mut checks: Vec<Violation> = checks.collect();
    let computed = target.bound.generated.iter().map(|generated| {
        let name = &table.columns[generated.column].name;
        none_yet(table, Violated::Generated(name.clone()))
    });
    let mut computed: Vec<Violation> = computed.collect();
    let mut domains = Vec::new();
    for (column, described) in table.columns.iter().enumerate() {
        let Some(domain) = described.domain.and_then(|id| catalog.type_by_id(id)) else { continue };
        let rules = DomainRules::known(domain, column, catalog)?;
        let violated = Violated::Domain(described.name.clone(), rules.name.clone());
        domains.push((column, rules, none_yet(table, violated)));
    }
    // What is ended because of it violates nothing.
    let in_time = || {
        context.check().map_err(|error| {
            let message = format!("table \"{}\" could not be checked: its functions take too long", table.name);
            Error::new(error.sqlstate(), message)
        })
    };
    let layout = TableLayout::new(table);
    let mut cursor = reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        in_time()?;
        let mut row = layout.decode(key, value)?;
        // Where that fails the column is as if it were NULL.
        let _ = target.bound.virtuals.fill(&mut row, context);
        for (column, rules, violation) in &mut domains {
            if rules.check(*column, &row, &context.eval).is_err() {
                violation.add(table, &row, context);
            }
        }
        for (column, violation) in &mut nulls {
            if row[*column].is_null() {
                violation.add(table, &row, context);
            }
        }
        for (generated, violation) in target.bound.generated.iter().zip(&mut computed) {
            let data_type = table.columns[generated.column].data_type;
            let value = eval_row(&generated.value, &row, context);
            let value = value.and_then(|value| settle(Datum::Own(value), data_type, &context.eval));
            if !value.is_ok_and(|value| value.compare_as(&row[generated.column], data_type).is_eq()) {
                violation.add(table, &row, context);
            }
        }
        for ((check, condition), violation) in table.checks.iter().zip(&target.bound.checks).zip(&mut checks) {
            if check.valid && matches!(eval_row(condition, &row, context), Ok(Value::Boolean(false)) | Err(_)) {
                violation.add(table, &row, context);
            }
        }
    }
    in_time()?;
    let all = nulls.into_iter().map(|(_, violation)| violation);
    let all = all.chain(domains.into_iter().map(|(.., violation)| violation)).chain(computed).chain(checks);
    Ok(all.filter(|found| found.rows > 0).collect())
}

/// The rows that have the key of another, which comes before them in the index of a constraint that may wait.
fn verify_key(reader: &Reader, table: &Table, index: &Index) -> Result<Option<Violation>> {
    let context = ExecContext::new(reader.into(), Arc::new(EvalContext::now()));
    let (layout, mut last) = (TableLayout::new(table), Vec::new());
    let mut violation = none_yet(table, Violated::Unique(index.name.clone()));
    let mut cursor = reader.cursor(index.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        let row_key = index.row_key(table, key, value)?;
        let columns = &key[..key.len() - row_key.len()];
        if last != columns {
            last.clear();
            last.extend_from_slice(columns);
            continue;
        }
        let Some(row) = reader.get(table.tree, row_key)? else { continue };
        let row = layout.decode(row_key, &row)?;
        if index.nulls_equal || index.columns.iter().all(|part| !row[part.column].is_null()) {
            violation.add(table, &row, &context);
        }
    }
    Ok((violation.rows > 0).then_some(violation))
}

fn none_yet(table: &Table, what: Violated) -> Violation {
    Violation { table: table.name.clone(), what, rows: 0, examples: Vec::new() }
}

impl Violation {
    fn add(&mut self, table: &Table, row: &[Value], context: &ExecContext) {
        self.rows += 1;
        if self.examples.len() < EXAMPLES {
            let columns: Vec<usize> = match table.row_key() {
                [] => (0..row.len()).collect(),
                key => key.iter().map(|part| part.column).collect(),
            };
            self.examples.push(key_detail(table, &columns, columns.iter().map(|&column| &row[column]), &context.eval));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;
    use crate::types::DataType;

    const SCHEMA: &str = "
        CREATE TABLE p (id int PRIMARY KEY);
        CREATE TABLE c (id int PRIMARY KEY, n int NOT NULL, CHECK (10 / n > 1), p int REFERENCES p);
        CREATE TABLE g (id int PRIMARY KEY, n int, share int GENERATED ALWAYS AS (10 / n) STORED);
        CREATE DOMAIN few AS int CHECK (VALUE < 10);
        CREATE TABLE d (id int PRIMARY KEY, n few, more int UNIQUE DEFERRABLE);
        INSERT INTO d VALUES (1, 1, NULL), (2, NULL, NULL);
        ALTER DOMAIN few ADD CONSTRAINT odd CHECK (VALUE % 2 = 1) NOT VALID;
        INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1, 1, 1), (2, 2, 2), (3, 3, NULL);
        INSERT INTO g VALUES (1, 1), (2, NULL);";

    /// Rows that no statement would write, put where statements write them.
    fn put(database: &Database, table: &str, rows: &[[Value; 3]]) {
        let catalog = database.connect().unwrap().session.catalog().unwrap();
        let table = catalog.table(table).unwrap();
        let layout = TableLayout::new(table);
        let transaction = database.shared.store.begin().unwrap();
        for row in rows {
            let (mut key, mut value) = (vec![], vec![]);
            layout.encode_key(row, &mut key);
            layout.encode_row(row, &mut value);
            transaction.put(table.tree, &key, &value).unwrap();
        }
        transaction.commit(None).unwrap();
    }

    #[test]
    fn rows_that_keep_every_constraint_violate_none() {
        let database = Database::open_in_memory().unwrap();
        database.connect().unwrap().execute_script(SCHEMA).unwrap();
        assert_eq!(database.verify_constraints().unwrap(), []);
    }

    #[test]
    fn rows_of_one_key_are_told_but_for_the_first() {
        let database = Database::open_in_memory().unwrap();
        let conn = database.connect().unwrap();
        conn.execute_script(
            "CREATE TABLE t (a int UNIQUE, b int UNIQUE DEFERRABLE); INSERT INTO t VALUES (1, 5), (2, NULL), (3, NULL)",
        )
        .unwrap();
        assert_eq!(database.verify_constraints().unwrap(), []);
        // A statement would not leave this entry: that of a second row.
        let catalog = conn.catalog().unwrap();
        let table = catalog.table("t").unwrap();
        let index = table.indexes.iter().find(|index| index.is_deferrable()).unwrap();
        let (mut entry, layout) = (Vec::new(), TableLayout::new(table));
        let row = [Value::Integer(4), Value::Integer(5)];
        let (key, mut value) = (crate::state::row_number_key(77), Vec::new());
        layout.encode_row(&row, &mut value);
        let apart = index.encode_entry_with(&key, &mut entry, |part, out| {
            crate::types::key::encode_value(&row[part.column], DataType::Integer, false, false, out);
            Ok::<_, crate::Error>(false)
        });
        assert!(matches!(apart, Ok(crate::catalog::Apart::Later(_))));
        let transaction = database.shared.store.begin().unwrap();
        transaction.put(table.tree, &key, &value).unwrap();
        transaction.put(index.tree, &entry, &[]).unwrap();
        transaction.commit(None).unwrap();
        let told: Vec<String> = database.verify_constraints().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(told, ["t: 1 rows are not the first of their key in t_b_key: Key (a, b)=(4, 5)"]);
    }

    #[test]
    fn every_kind_of_violation_is_told_with_its_rows() {
        let database = Database::open_in_memory().unwrap();
        database.connect().unwrap().execute_script(SCHEMA).unwrap();
        let int = Value::Integer;
        let wrong = (10..20).map(|id| [int(id), int(9), int(id)]);
        let wrong: Vec<[Value; 3]> =
            wrong.chain([[int(30), Value::Null, Value::Null], [int(31), int(0), int(1)]]).collect();
        put(&database, "c", &wrong);
        let values = |id: i32, n: i32| [int(id), int(n), Value::Null];
        put(&database, "d", &[values(3, 10), values(4, 3), values(5, 12)]);
        put(&database, "g", &[[int(3), int(5), int(3)], [int(4), int(5), Value::Null], [int(5), int(0), int(1)]]);
        let told: Vec<String> = database.verify_constraints().unwrap().iter().map(ToString::to_string).collect();
        let keys = "Key (id)=(10), Key (id)=(11), Key (id)=(12), Key (id)=(13), Key (id)=(14), ...";
        let expected = [
            "c: 1 rows have NULL in n, which is NOT NULL: Key (id)=(30)".to_string(),
            format!("c: 11 rows violate the check constraint c_n_check: {keys}"),
            "d: 2 rows have in n what is no value of the domain few: Key (id)=(3), Key (id)=(5)".to_string(),
            "g: 3 rows have in share what is not computed from the others: Key (id)=(3), Key (id)=(4), Key (id)=(5)"
                .to_string(),
            "c: 10 rows refer by c_p_fkey to rows of p that are missing: (10), (11), (12), (13), (14), ...".to_string(),
        ];
        assert_eq!(told, expected);
    }
}
