//! The database of rows that may or may not be live: a table for each table that has some, without its constraints, with
//! columns that say why a row is there and in which page it was found.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use cairn_storage::{Doubt, PageRef, TreeId, Uncertain};

use super::report::UncertainFile;
use super::run::Place;
use super::words::quoted;
use crate::api::{Connection, Database};
use crate::catalog::{Catalog, Table, TableLayout, decode_table_entry};
use crate::{Result, Value};

/// Rows per transaction.
const STEP: u64 = 1000;

/// The table of uncertain entries that belong to no table that is known: as bytes.
const UNKNOWN: &str = "salvage_unknown";

/// Rows that are kept apart. The file is made with the first.
pub(super) struct UncertainRows<'a> {
    path: PathBuf,
    place: &'a Place,
    open: Option<Open>,
}

struct Open {
    database: Database,
    connection: Connection,
    tables: HashMap<TreeId, KnownTable>,
    counts: BTreeMap<String, u64>,
    in_step: u64,
}

struct KnownTable {
    name: String,
    layout: TableLayout,
    insert: String,
}

impl<'a> UncertainRows<'a> {
    pub(super) fn new(path: PathBuf, place: &'a Place) -> UncertainRows<'a> {
        UncertainRows { path, place, open: None }
    }

    fn open(&mut self) -> Result<&mut Open> {
        if self.open.is_none() {
            let database = self.place.open(&self.path)?;
            let connection = database.connect()?;
            let open = Open { database, connection, tables: HashMap::new(), counts: BTreeMap::new(), in_step: 0 };
            self.open = Some(open);
        }
        self.open.as_mut().ok_or_else(|| crate::Error::internal("the file was opened"))
    }

    /// Adds a row of a table.
    pub(super) fn push(
        &mut self,
        table: &Table,
        key: &[u8],
        value: &[u8],
        why: &str,
        page: Option<PageRef>,
    ) -> Result<()> {
        self.open()?.push(table, key, value, why, page)
    }

    /// Adds an entry that belongs to no table that is known, or does not decode.
    pub(super) fn push_unknown(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        why: &str,
        page: Option<PageRef>,
    ) -> Result<()> {
        self.open()?.push_unknown(tree, key, value, why, page)
    }

    /// Closes the file, if there is one.
    pub(super) fn finish(self) -> Result<Option<UncertainFile>> {
        let Some(mut open) = self.open else { return Ok(None) };
        open.end_step()?;
        let Open { database, connection, counts, .. } = open;
        drop(connection);
        database.close()?;
        Ok(Some(UncertainFile { path: self.path, tables: counts.into_iter().collect() }))
    }
}

impl Open {
    fn push(&mut self, table: &Table, key: &[u8], value: &[u8], why: &str, page: Option<PageRef>) -> Result<()> {
        if !self.tables.contains_key(&table.tree) {
            self.end_step()?;
            let known = self.create(table)?;
            self.tables.insert(table.tree, known);
        }
        let Some(known) = self.tables.get(&table.tree) else { return Ok(()) };
        let Ok(mut row) = known.layout.decode(key, value) else {
            return self.push_unknown(table.tree, key, value, why, page);
        };
        row.extend(reasons(why, page));
        let (insert, name) = (known.insert.clone(), known.name.clone());
        self.insert(&insert, name, row)
    }

    fn push_unknown(&mut self, tree: TreeId, key: &[u8], value: &[u8], why: &str, page: Option<PageRef>) -> Result<()> {
        if !self.counts.contains_key(UNKNOWN) {
            self.end_step()?;
            self.connection.execute_script(&format!(
                "CREATE TABLE {UNKNOWN} (tree bigint, key bytea, value bytea, salvage_why text, salvage_page bigint, salvage_birth bigint)"
            ))?;
        }
        let mut row = vec![Value::BigInt(tree.number().into()), Value::Bytea(key.into()), Value::Bytea(value.into())];
        row.extend(reasons(why, page));
        self.insert(&format!("INSERT INTO {UNKNOWN} VALUES ($1, $2, $3, $4, $5, $6)"), UNKNOWN.into(), row)
    }

    /// Makes a table of the same name and columns.
    fn create(&mut self, table: &Table) -> Result<KnownTable> {
        let mut columns: Vec<String> =
            table.columns.iter().map(|column| format!("{} {}", quoted(&column.name), column.data_type)).collect();
        for (name, data_type) in [("salvage_why", "text"), ("salvage_page", "bigint"), ("salvage_birth", "bigint")] {
            let mut name = name.to_string();
            while table.column_position(&name).is_some() {
                name.push('_');
            }
            columns.push(format!("{} {data_type}", quoted(&name)));
        }
        let name = quoted(&table.name);
        self.connection.execute_script(&format!("CREATE TABLE {name} ({})", columns.join(", ")))?;
        let values = (1..=columns.len()).map(|at| format!("${at}")).collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO {name} VALUES ({values})");
        Ok(KnownTable { name: table.name.clone(), layout: TableLayout::new(table), insert })
    }

    fn insert(&mut self, statement: &str, table: String, row: Vec<Value>) -> Result<()> {
        if self.in_step == 0 {
            self.connection.execute_script("BEGIN")?;
        }
        self.connection.execute(statement, row.as_slice())?;
        *self.counts.entry(table).or_default() += 1;
        self.in_step += 1;
        if self.in_step >= STEP { self.end_step() } else { Ok(()) }
    }

    fn end_step(&mut self) -> Result<()> {
        match std::mem::take(&mut self.in_step) {
            0 => Ok(()),
            _ => self.connection.execute_script("COMMIT"),
        }
    }
}

fn reasons(why: &str, page: Option<PageRef>) -> [Value; 3] {
    let number = |n: Option<u64>| n.and_then(|n| i64::try_from(n).ok()).map_or(Value::Null, Value::BigInt);
    [Value::text(why), number(page.map(|page| page.id.into())), number(page.map(|page| page.birth))]
}

fn words(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::Unreferenced => {
            "found in a page of the table that nothing refers to, without the free map: it may have been changed or deleted since, or never committed"
        }
        Doubt::WrittenLater => "written by a commit behind the damaged part of the log",
        Doubt::ChangedLater => {
            "changed by a commit behind the damaged part of the log; its other columns are as before the damage"
        }
        Doubt::DeletedLater => "deleted by a commit behind the damaged part of the log; the saved table has it",
    }
}

/// Adds what the storage engine handed over. Tables that the saved catalog does not have are read by definitions that are
/// uncertain themselves, the newest of each.
pub(super) fn take(entries: &mut Uncertain, catalog: &Catalog, apart: &mut UncertainRows<'_>) -> Result<()> {
    let mut tables: HashMap<TreeId, (u64, Table)> = HashMap::new();
    let types = catalog.types().cloned().collect();
    entries.for_each(|entry| {
        let table =
            (entry.tree == TreeId::CATALOG).then(|| decode_table_entry(&entry.key, &entry.value, &types)).flatten();
        if let Some(table) = table
            && tables.get(&table.tree).is_none_or(|(birth, _)| *birth < entry.page.birth)
        {
            tables.insert(table.tree, (entry.page.birth, table));
        }
        Ok::<(), crate::Error>(())
    })?;
    tables.retain(|tree, _| catalog.tables().all(|table| table.tree != *tree));
    entries.for_each(|entry| {
        let page = (entry.page.id != 0).then_some(entry.page);
        let known = catalog.tables().find(|table| table.tree == entry.tree).map(|table| &**table);
        match known.or_else(|| tables.get(&entry.tree).map(|(_, table)| table)) {
            Some(table) => apart.push(table, &entry.key, &entry.value, words(entry.doubt), page),
            None => apart.push_unknown(entry.tree, &entry.key, &entry.value, words(entry.doubt), page),
        }
    })
}
