//! The catalog tree: one entry per object under (kind, id), and the trees beside it.
//!
//! - Object ids come from a counter in the tree and are never reused.
//! - Statistics and sequence values live in trees of their own, so that changing them does not change the catalog's
//!   stamp, on which cached plans rest.
//! - Names are unique because every DDL statement reads the whole catalog range: two that run at once conflict.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::{Reader, Store, Transaction, TreeId};

use super::codec::{self, Fields, Writer, corrupt};
use super::entries;
use super::objects::{Catalog, Commentable, Objects};
use super::schema::{ObjectId, Sequence, Table, TableStatistics, View};
use super::statistics;
use crate::Result;

/// What an entry is about; the first byte of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EntryKind {
    System = 0,
    Table = 1,
    View = 2,
    Sequence = 3,
    Schema = 4,
    /// A relation's name in its schema. What it means changes when the relation does: see `Rests`.
    Name = 5,
    /// What was said by COMMENT ON, under the object and the part of it.
    Comment = 6,
}

/// The key of an object's entry.
pub(crate) fn entry_key(kind: EntryKind, id: ObjectId) -> [u8; 5] {
    let [a, b, c, d] = id.0.to_be_bytes();
    [kind as u8, a, b, c, d]
}

/// Appends the key of a relation's name in a schema.
pub(super) fn push_name_key(schema: ObjectId, name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&entry_key(EntryKind::Name, schema));
    out.extend_from_slice(name.as_bytes());
}

fn name_key(schema: ObjectId, name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    push_name_key(schema, name, &mut key);
    key
}

/// The key of a number that is new whenever a schema comes, goes or gets another name.
pub(super) fn schemas_key() -> [u8; 5] {
    entry_key(EntryKind::System, ObjectId(2))
}

fn comment_key(on: Commentable) -> [u8; 9] {
    let mut key = [0; 9];
    key[..5].copy_from_slice(&entry_key(EntryKind::Comment, on.id));
    key[5..].copy_from_slice(&on.part.to_be_bytes());
    key
}

/// What a comment's key says it is about.
fn commented(key: &[u8]) -> Result<Commentable> {
    match key {
        [_, a, b, c, d, rest @ ..] => {
            let part = rest.try_into().map(u32::from_be_bytes).map_err(|_| corrupt("key"))?;
            Ok(Commentable { id: ObjectId(u32::from_be_bytes([*a, *b, *c, *d])), part })
        }
        _ => Err(corrupt("key")),
    }
}

fn counter_key() -> [u8; 5] {
    entry_key(EntryKind::System, ObjectId(0))
}

fn trees_key() -> [u8; 5] {
    entry_key(EntryKind::System, ObjectId(1))
}

/// Trees that hold what changes without changing the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemTrees {
    pub(crate) statistics: TreeId,
    pub(crate) sequences: TreeId,
}

/// Makes the system trees of a new database; does nothing to others.
pub(crate) fn bootstrap(store: &Store) -> Result<()> {
    if system_trees(store.snapshot()?.reader())?.is_some() {
        return Ok(());
    }
    let tx = store.begin()?;
    let trees = SystemTrees { statistics: tx.create_tree()?, sequences: tx.create_tree()? };
    put_trees(&tx, trees)?;
    CatalogStore::new(&tx)?.put_schema(ObjectId::PUBLIC, "public")?;
    Ok(tx.commit(None)?)
}

fn put_trees(tx: &Transaction, trees: SystemTrees) -> Result<()> {
    let mut w = Writer::entry();
    w.number(1, trees.statistics.0.into());
    w.number(2, trees.sequences.0.into());
    Ok(tx.put(TreeId::CATALOG, &trees_key(), &w.finish())?)
}

/// Whether the catalog was written, or brought up to date, by a library of this version. Its list of trees says so.
pub(crate) fn is_up_to_date(reader: &Reader) -> Result<bool> {
    Ok(reader.get(TreeId::CATALOG, &trees_key())?.is_none_or(|bytes| codec::is_of_now(&bytes)))
}

/// The system trees; `None` in a database that was never written.
pub(crate) fn system_trees(reader: &Reader) -> Result<Option<SystemTrees>> {
    let Some(bytes) = reader.get(TreeId::CATALOG, &trees_key())? else { return Ok(None) };
    let mut trees = SystemTrees { statistics: TreeId(0), sequences: TreeId(0) };
    let mut fields = Fields::entry(&bytes)?;
    while let Some((tag, value)) = fields.next()? {
        match tag {
            1 => trees.statistics = TreeId(codec::number(value)?),
            2 => trees.sequences = TreeId(codec::number(value)?),
            _ => {}
        }
    }
    Ok(Some(trees))
}

/// Reads the whole catalog, with what the reader's transaction changed of it.
pub(crate) fn load(reader: &Reader) -> Result<Catalog> {
    load_objects(reader).map(Catalog::of)
}

/// As [`load`], in a state without anybody's own changes.
pub(super) fn load_committed(reader: &Reader) -> Result<Catalog> {
    let mut objects = load_objects(reader)?;
    objects.set_committed();
    Ok(Catalog::of(objects))
}

fn load_objects(reader: &Reader) -> Result<Objects> {
    let mut objects = Objects::default();
    let mut tables = Vec::new();
    let mut cursor = reader.cursor(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        let (kind, id) = parse_key(key)?;
        match kind {
            1 => tables.push(entries::decode_table(id, value)?),
            2 => objects.add_view(Arc::new(entries::decode_view(id, value)?)),
            3 => objects.add_sequence(Arc::new(entries::decode_sequence(id, value)?)),
            4 => objects.add_schema(id, entries::decode_text(value)?),
            6 => objects.add_comment(commented(key)?, entries::decode_text(value)?),
            _ => {}
        }
    }
    if !is_up_to_date(reader)? {
        objects.add_schema(ObjectId::PUBLIC, "public".to_owned());
    }
    link_references(&mut tables)?;
    attach_statistics(reader, &mut tables)?;
    tables.into_iter().for_each(|table| objects.add_table(Arc::new(table)));
    Ok(objects)
}

fn parse_key(key: &[u8]) -> Result<(u8, ObjectId)> {
    match key {
        [kind @ (5 | 6), a, b, c, d, ..] | [kind, a, b, c, d] => {
            Ok((*kind, ObjectId(u32::from_be_bytes([*a, *b, *c, *d]))))
        }
        _ => Err(corrupt("key")),
    }
}

/// Whether an entry can be read, by itself.
pub(crate) fn check_entry(key: &[u8], value: &[u8]) -> Result<()> {
    match parse_key(key)? {
        (1, id) => entries::decode_table(id, value).map(drop),
        (2, id) => entries::decode_view(id, value).map(drop),
        (3, id) => entries::decode_sequence(id, value).map(drop),
        (4, _) => entries::decode_text(value).map(drop),
        (6, _) => commented(key).and_then(|_| entries::decode_text(value)).map(drop),
        _ => Ok(()),
    }
}

/// The table of an entry, if it is one and can be read.
pub(crate) fn decode_table_entry(key: &[u8], value: &[u8]) -> Option<Table> {
    let (kind, id) = parse_key(key).ok()?;
    (kind == EntryKind::Table as u8).then(|| entries::decode_table(id, value).ok()).flatten()
}

/// Fills `referenced_by`, and checks that every foreign key points at columns that exist.
fn link_references(tables: &mut [Table]) -> Result<()> {
    let places: HashMap<ObjectId, usize> = tables.iter().enumerate().map(|(at, table)| (table.id, at)).collect();
    let mut links = Vec::new();
    for table in tables.iter() {
        for (at, key) in table.foreign_keys.iter().enumerate() {
            links.push((table.id, at, key.referenced_table, key.referenced_columns.clone(), key.columns.len()));
        }
    }
    for (from, at, to, columns, count) in links {
        let target = places.get(&to).map(|at| &mut tables[*at]).ok_or_else(|| corrupt("foreign key"))?;
        if columns.len() != count || columns.iter().any(|&column| column >= target.columns.len()) {
            return Err(corrupt("foreign key columns"));
        }
        target.referenced_by.push((from, at));
    }
    Ok(())
}

fn attach_statistics(reader: &Reader, tables: &mut [Table]) -> Result<()> {
    let Some(trees) = system_trees(reader)? else { return Ok(()) };
    for table in tables {
        if let Some(bytes) = reader.get(trees.statistics, &table.id.0.to_be_bytes())? {
            let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
            table.statistics = Some(Arc::new(statistics::decode(&bytes, &types)?));
            table.analyzed = digest(&bytes);
        }
    }
    Ok(())
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Writes the catalog in a transaction.
pub(crate) struct CatalogStore<'a> {
    tx: &'a Transaction,
}

impl<'a> CatalogStore<'a> {
    /// Marks the whole catalog as read: see the module's invariants.
    pub(crate) fn new(tx: &'a Transaction) -> Result<CatalogStore<'a>> {
        tx.reader().note_read(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded)?;
        Ok(CatalogStore { tx })
    }

    /// A number that was never given out before, for ids and change marks.
    fn next_number(&self) -> Result<u32> {
        let current = match self.tx.reader().get(TreeId::CATALOG, &counter_key())? {
            Some(bytes) => u32::from_le_bytes(bytes.as_slice().try_into().map_err(|_| corrupt("counter"))?),
            None => 0,
        };
        let next = current.checked_add(1).ok_or_else(|| crate::Error::internal("object ids are exhausted"))?;
        self.tx.put(TreeId::CATALOG, &counter_key(), &next.to_le_bytes())?;
        Ok(next)
    }

    pub(crate) fn allocate_id(&self) -> Result<ObjectId> {
        self.next_number().map(ObjectId)
    }

    fn put(&self, kind: EntryKind, id: ObjectId, encode: impl FnOnce(u64) -> Vec<u8>) -> Result<()> {
        let change = self.next_number()?.into();
        Ok(self.tx.put(TreeId::CATALOG, &entry_key(kind, id), &encode(change))?)
    }

    pub(crate) fn put_table(&self, table: &Table) -> Result<()> {
        self.put(EntryKind::Table, table.id, |change| entries::encode_table(table, change))?;
        self.put_name(table.schema, &table.name, table.id)
    }

    pub(crate) fn put_view(&self, view: &View) -> Result<()> {
        self.put(EntryKind::View, view.id, |change| entries::encode_view(view, change))?;
        self.put_name(view.schema, &view.name, view.id)
    }

    pub(crate) fn put_sequence(&self, sequence: &Sequence) -> Result<()> {
        self.put(EntryKind::Sequence, sequence.id, |change| entries::encode_sequence(sequence, change))?;
        self.put_name(sequence.schema, &sequence.name, sequence.id)
    }

    /// The name means something new, be it the same relation as it is now: who changes its rows has to notice.
    pub(crate) fn put_name(&self, schema: ObjectId, name: &str, id: ObjectId) -> Result<()> {
        let change = self.next_number()?;
        let value = [id.0.to_be_bytes(), change.to_be_bytes()].concat();
        Ok(self.tx.put(TreeId::CATALOG, &name_key(schema, name), &value)?)
    }

    /// The name means nothing any more.
    pub(crate) fn forget_name(&self, schema: ObjectId, name: &str) -> Result<()> {
        self.tx.delete(TreeId::CATALOG, &name_key(schema, name))?;
        Ok(())
    }

    pub(crate) fn put_schema(&self, id: ObjectId, name: &str) -> Result<()> {
        self.put(EntryKind::Schema, id, |change| entries::encode_text(name, change))?;
        self.put_schemas()
    }

    pub(crate) fn delete_schema(&self, id: ObjectId) -> Result<()> {
        self.delete(EntryKind::Schema, id)?;
        self.put_schemas()
    }

    fn put_schemas(&self) -> Result<()> {
        let change = self.next_number()?;
        Ok(self.tx.put(TreeId::CATALOG, &schemas_key(), &change.to_le_bytes())?)
    }

    /// None: no comment.
    pub(crate) fn put_comment(&self, on: Commentable, text: Option<&str>) -> Result<()> {
        let key = comment_key(on);
        match text {
            Some(text) => {
                let change = self.next_number()?.into();
                self.tx.put(TreeId::CATALOG, &key, &entries::encode_text(text, change))?;
            }
            None => drop(self.tx.delete(TreeId::CATALOG, &key)?),
        }
        Ok(())
    }

    /// From here on the catalog is one of this version.
    pub(crate) fn put_version(&self) -> Result<()> {
        let trees = system_trees(self.tx.reader())?.ok_or_else(|| corrupt("list of trees"))?;
        put_trees(self.tx, trees)
    }

    pub(crate) fn delete(&self, kind: EntryKind, id: ObjectId) -> Result<()> {
        self.tx.delete(TreeId::CATALOG, &entry_key(kind, id))?;
        Ok(())
    }
}

/// Stores what ANALYZE found; the catalog's stamp stays, the statistics' changes.
pub(crate) fn put_statistics(
    tx: &Transaction,
    trees: SystemTrees,
    table: &Table,
    statistics: &TableStatistics,
) -> Result<()> {
    let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
    Ok(tx.put(trees.statistics, &table.id.0.to_be_bytes(), &statistics::encode(statistics, &types))?)
}

/// Forgets a dropped or restructured table's statistics.
pub(crate) fn delete_statistics(tx: &Transaction, trees: SystemTrees, table: ObjectId) -> Result<()> {
    tx.delete(trees.statistics, &table.0.to_be_bytes())?;
    Ok(())
}
