//! Checking a database: the storage engine's pages, then every index against its table, both ways at once: the entries that
//! the rows ask for, sorted, beside those that the index has.
//!
//! What users' functions have to do with it keeps nothing from being checked: they run for so long and no longer, and what they
//! refuse, or what is wrong, is told when all the rest was looked at.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use cairn_storage::Reader;

use crate::bind::{BoundGroups, bind_generated, bind_index, bound_groups};
use crate::catalog::{Catalog, Column, Index, RowExpression, Table, TableLayout, load};
use crate::dml::Entries;
use crate::dml::row::{BatchRow, LentRow, group_entry};
use crate::exec::{self, EntrySorter, ExecContext};
use crate::inverted::Postings;
use crate::plan::{OptimizerOptions, mutable_part, optimize};
use crate::session::{Handle, Session};
use crate::{Error, Result, SqlState};

/// What a verification looked at.
///
/// ```
/// # let db = cairndb::Database::open_in_memory()?;
/// # let conn = db.connect()?;
/// conn.execute_script("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE INDEX ON t (b); INSERT INTO t VALUES (1, 2)")?;
/// let found = db.verify()?;
/// assert_eq!((found.indexes, found.index_entries), (1, 1));
/// assert!(found.trees > 1 && found.pages > 1 && found.entries > 1);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Trees, and the pages and entries in them.
    pub trees: u64,
    /// Pages of trees and long values.
    pub pages: u64,
    /// Entries of leaves.
    pub entries: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Indexes that were compared with their tables.
    pub indexes: u64,
    /// Entries of these.
    pub index_entries: u64,
    /// What is right, and need not stay so: indexes and columns that rest on functions that are not IMMUTABLE, each in a sentence.
    /// They can not be made any more; older versions made some.
    pub notes: Vec<String>,
}

/// How long functions may run for each index.
const FUNCTIONS_TIME: Duration = Duration::from_secs(60);

/// Checks the newest state.
pub(crate) fn verify(handle: &Handle) -> Result<Verified> {
    verify_within(handle, FUNCTIONS_TIME)
}

fn verify_within(handle: &Handle, time: Duration) -> Result<Verified> {
    let cairn_storage::Verified { trees, pages, entries, free_pages, .. } = handle.store.verify()?;
    let mut found = Verified { trees, pages, entries, free_pages, ..Verified::default() };
    let snapshot = handle.store.snapshot()?;
    let reader = snapshot.reader();
    let (session, catalog) = (Session::new(handle.clone())?, Arc::new(load(reader)?));
    let looking = || session.looking(&reader.into(), &catalog, time);
    let mut wrong = Wrong::default();
    for table in catalog.tables() {
        match table.is_kept_by_commits() {
            true => wrong.note(check_groups(table, &catalog, &looking()?)),
            false => wrong.note(check_rows(reader, table, &TableLayout::new(table))),
        };
        found.notes.extend(mutable_columns(table, &catalog));
        for index in &table.indexes {
            found.indexes += 1;
            found.notes.extend(mutable_index(table, index, &catalog));
            let checked = check_index((table, index), &catalog, &looking()?);
            found.index_entries += wrong.note(checked.map_err(|error| unchecked(error, (table, index)))).unwrap_or(0);
        }
    }
    wrong.told().map_or(Ok(found), Err)
}

/// All that is wrong.
#[derive(Default)]
struct Wrong(Vec<Error>);

impl Wrong {
    fn note<T>(&mut self, checked: Result<T>) -> Option<T> {
        checked.map_err(|error| self.0.push(error)).ok()
    }

    /// The worst of it, with the rest.
    fn told(mut self) -> Option<Error> {
        self.0.sort_by_key(|error| error.sqlstate() != SqlState::DATA_CORRUPTED);
        let mut all = self.0.into_iter();
        let first = all.next()?;
        let rest: Vec<String> = all.map(|error| error.message().to_owned()).collect();
        Some(if rest.is_empty() { first } else { first.with_detail(format!("Moreover: {}.", rest.join("; "))) })
    }
}

/// An index whose functions do not let it be checked is not wrong for that.
fn unchecked(error: Error, (table, index): (&Table, &Index)) -> Error {
    if error.sqlstate() == SqlState::DATA_CORRUPTED {
        return error;
    }
    let message = match error.sqlstate() {
        SqlState::QUERY_CANCELED => "its functions take too long".to_owned(),
        _ => error.message().to_owned(),
    };
    let message = format!("index \"{}\" of table \"{}\" could not be checked: {message}", index.name, table.name);
    Error::new(error.sqlstate(), message)
}

/// What of an index may be something else another time.
fn mutable_index(table: &Table, index: &Index, catalog: &Catalog) -> Option<String> {
    let bound = if index.is_plain() { None } else { bind_index(index, table, catalog).ok() }?;
    let part = bound.exprs().find_map(mutable_part)?;
    Some(format!("Index \"{}\" of table \"{}\" rests on what is not IMMUTABLE. {part}", index.name, table.name))
}

/// The same of stored columns that are computed.
fn mutable_columns(table: &Table, catalog: &Catalog) -> Vec<String> {
    let computed = table.columns.iter().filter_map(|column| Some((column, column.stored_expression()?)));
    let note = |(column, expression): (&Column, &RowExpression)| {
        let part = mutable_part(&bind_generated(expression, column, table, catalog).ok()?)?;
        let (column, table) = (&column.name, &table.name);
        Some(format!("Column \"{column}\" of table \"{table}\" is computed by what is not IMMUTABLE. {part}"))
    };
    computed.filter_map(note).collect()
}

/// Whether every row can be read, and lies under its own key.
fn check_rows(reader: &Reader, table: &Table, layout: &TableLayout) -> Result<()> {
    let mut expected = Vec::new();
    let mut cursor = reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        let row = layout.decode(key, value)?;
        expected.clear();
        layout.encode_key(&row, &mut expected);
        if !layout.has_row_numbers() && expected != key {
            return Err(corrupt(format!("a row of table \"{}\" lies under the key of another", table.name)));
        }
    }
    Ok(())
}

/// Whether a view that commits keep has the groups that its table's rows ask for.
fn check_groups(view: &Arc<Table>, catalog: &Catalog, context: &ExecContext) -> Result<()> {
    if view.refuse_unpopulated().is_err() {
        return Ok(());
    }
    let BoundGroups { groups, .. } = &*bound_groups(view, catalog)?;
    let other = || {
        let message = format!("the groups of materialized view \"{}\" are not those of its table's rows", view.name);
        corrupt(message).with_hint("Say REFRESH MATERIALIZED VIEW, which makes them anew.")
    };
    let (mut key, mut value, mut expected) = (Vec::new(), Vec::new(), 0);
    let plan = Arc::new(optimize(groups.states()?, &OptimizerOptions::default())?);
    let mut stream = exec::execute(plan, context.clone())?;
    while let Some(batch) = stream.next_batch()? {
        for row in 0..batch.len() {
            let row = BatchRow { columns: batch.columns(), row };
            group_entry(groups, |at| row.copy(at), &mut key, &mut value);
            if !context.reader.get_with(view.tree, &key, |found| found == value)?.unwrap_or(false) {
                return Err(other());
            }
            expected += 1;
        }
    }
    let mut found = 0u64;
    let mut cursor = context.reader.cursor(view.tree, Bound::Unbounded, Bound::Unbounded)?;
    while cursor.next()?.is_some() {
        found += 1;
    }
    if found == expected { Ok(()) } else { Err(other()) }
}

/// How many entries the index has, if they are those that its table's rows ask for.
fn check_index((table, index): (&Table, &Index), catalog: &Catalog, context: &ExecContext) -> Result<u64> {
    if index.is_inverted() {
        return check_inverted((table, index), catalog, context);
    }
    let mut entries = 0;
    let mut cursor = context.reader.cursor(index.tree, Bound::Unbounded, Bound::Unbounded)?;
    expected((table, index), catalog, context)?.for_each(|entry, row_key| {
        entries += 1;
        let order = cursor.next()?.map(|(key, value)| key.cmp(entry).then_with(|| value.cmp(row_key)));
        match order {
            Some(Ordering::Equal) => Ok(()),
            Some(Ordering::Less) => Err(too_many(table, index)),
            Some(Ordering::Greater) | None => Err(too_few(table, index)),
        }
        .map_err(|error| repairable(error, index))
    })?;
    match cursor.next()? {
        Some(_) => Err(repairable(too_many(table, index), index)),
        None => Ok(entries),
    }
}

/// As `check_index`, of an inverted one: pairs of an item and a row.
fn check_inverted((table, index): (&Table, &Index), catalog: &Catalog, context: &ExecContext) -> Result<u64> {
    let mut entries = 0;
    let mut found = Postings::all(&context.reader, index.tree)?;
    let mut place = Vec::new();
    expected((table, index), catalog, context)?.for_each(|item, row_key| {
        entries += 1;
        place.clear();
        place.extend_from_slice(item);
        place.extend_from_slice(row_key);
        match found.next()?.then(|| found.place().cmp(&place)) {
            Some(Ordering::Equal) => Ok(()),
            Some(Ordering::Less) => Err(repairable(too_many(table, index), index)),
            Some(Ordering::Greater) | None => Err(repairable(too_few(table, index), index)),
        }
    })?;
    match found.next()? {
        true => Err(repairable(too_many(table, index), index)),
        false => Ok(entries),
    }
}

/// The entries that an index should have, by the rows of its table.
pub(crate) fn expected(
    (table, index): (&Table, &Index),
    catalog: &Catalog,
    context: &ExecContext,
) -> Result<EntrySorter> {
    let mut entries = Entries::kept(table, index, catalog)?;
    let mut sorter = EntrySorter::new(context);
    let mut cursor = context.reader.cursor(table.tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        entries.each_of_row(key, value, context, |entry, row_key| sorter.add(entry, row_key))?;
    }
    Ok(sorter)
}

fn corrupt(message: String) -> Error {
    Error::damaged(message)
}

fn too_few(table: &Table, index: &Index) -> Error {
    corrupt(format!("index \"{}\" lacks the entry of a row of table \"{}\"", index.name, table.name))
}

fn too_many(table: &Table, index: &Index) -> Error {
    corrupt(format!("index \"{}\" has an entry that no row of table \"{}\" asks for", index.name, table.name))
}

fn repairable(error: Error, index: &Index) -> Error {
    let what = if index.constraint { "the constraint" } else { "the index" };
    error.with_hint(format!("Drop {what} and create it again."))
}

#[cfg(test)]
mod tests {
    use crate::Database;
    use crate::catalog::Index;

    fn database() -> (Database, Index) {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute_script(
                "CREATE TABLE t (a int PRIMARY KEY, b text); CREATE INDEX i ON t (b);
                 INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 100) g",
            )
            .unwrap();
        let index = Index::clone(&connection.session.catalog().unwrap().table("t").unwrap().indexes[0]);
        (database, index)
    }

    #[test]
    fn an_index_that_agrees_with_its_table_is_right() {
        let (database, _) = database();
        let found = database.verify().unwrap();
        assert_eq!((found.indexes, found.index_entries), (1, 100));
    }

    #[test]
    fn entries_that_are_missing_or_too_many_are_told() {
        for is_missing in [true, false] {
            let (database, index) = database();
            let store = &database.shared.store;
            let transaction = store.begin().unwrap();
            let mut cursor = transaction
                .reader()
                .cursor(index.tree, std::ops::Bound::Unbounded, std::ops::Bound::Unbounded)
                .unwrap();
            let (key, value) = cursor.next().unwrap().map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap();
            drop(cursor);
            match is_missing {
                true => assert!(transaction.delete(index.tree, &key).unwrap()),
                false => transaction.put(index.tree, &[&key[..], b"x"].concat(), &value).unwrap(),
            }
            transaction.commit(None).unwrap();
            let message = database.verify().unwrap_err().to_string();
            let expected = match is_missing {
                true => "index \"i\" lacks the entry of a row of table \"t\"",
                false => "index \"i\" has an entry that no row of table \"t\" asks for",
            };
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn functions_are_run_for_so_long_and_keep_nothing_from_being_checked() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute_script(
                "CREATE FUNCTION ends(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 % 10; END $$;
                 CREATE FUNCTION raises(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
                     $$ BEGIN IF now() > '2020-01-01' AND $1 = 7 THEN INSERT INTO t VALUES (0, 0); END IF; RETURN 1; END $$;
                 CREATE TABLE t (a int PRIMARY KEY, b int); CREATE INDEX first ON t (ends(a));
                 CREATE INDEX wrong ON t (raises(a)); CREATE INDEX last ON t (ends(b));
                 INSERT INTO t SELECT g, g FROM generate_series(1, 5) g",
            )
            .unwrap();
        assert_eq!(database.verify().unwrap().index_entries, 15);
        // What no statement does: the row is written beside the indexes.
        let catalog = connection.session.catalog().unwrap();
        let table = catalog.table("t").unwrap();
        let (mut key, mut row) = (Vec::new(), Vec::new());
        let layout = crate::catalog::TableLayout::new(table);
        layout.encode_key(&[7.into(), 7.into()], &mut key);
        layout.encode_row(&[7.into(), 7.into()], &mut row);
        let transaction = database.shared.store.begin().unwrap();
        transaction.put(table.tree, &key, &row).unwrap();
        transaction.commit(None).unwrap();
        let error = database.verify().unwrap_err();
        assert_eq!(error.message(), "index \"first\" lacks the entry of a row of table \"t\"");
        let detail = error.detail().unwrap_or_default();
        assert!(
            detail.contains("index \"wrong\" of table \"t\" could not be checked: INSERT is not allowed"),
            "{detail}"
        );
        assert!(detail.contains("index \"last\" lacks the entry"), "{detail}");
        assert_eq!(connection.query_row_as::<i64>("SELECT count(*) FROM t", ()).unwrap(), 6, "nothing is written");
    }

    #[test]
    fn a_function_that_does_not_end_is_ended() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute_script(
                "CREATE FUNCTION f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
                     $$ BEGIN WHILE to_regclass('stop') IS NOT NULL LOOP END LOOP; RETURN 1; END $$;
                 CREATE TABLE t (a int PRIMARY KEY); CREATE INDEX i ON t (f(a)); INSERT INTO t VALUES (1);
                 CREATE TABLE stop (a int)",
            )
            .unwrap();
        let error = super::verify_within(&database.shared, std::time::Duration::from_millis(200)).unwrap_err();
        let message = "index \"i\" of table \"t\" could not be checked: its functions take too long";
        assert_eq!((error.sqlstate().0, error.message()), ("57014", message));
    }
}
