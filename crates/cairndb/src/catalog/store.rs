//! The catalog tree: one entry per object under (kind, id), and the trees beside it.
//!
//! - Object ids come from a counter in the tree and are never reused.
//! - Statistics and sequence values live in trees of their own, so that changing them does not change the catalog's
//!   stamp, on which cached plans rest.
//! - Names are unique because every DDL statement reads the whole catalog range: two that run at once conflict.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::{Reader, Store, TreeId};

use super::Definition;
use super::codec::{self, Fields, Writer, corrupt};
use super::dependencies::note_all;
use super::entries;
use super::feed::put_description;
use super::objects::{Catalog, Commentable, MadeExtension, Objects, Relation, TemporaryObjects};
use super::routine::{decode_routine, encode_routine};
use super::schema::{ObjectId, Sequence, Table, TableStatistics, View};
use super::statistics;
use super::user_types::{Types, UserType, decode_user_type, encode_user_type};
use super::version::Version;
use crate::Result;
use crate::functions::{Function, Routine};
use crate::state::{TemporaryTrees, Transaction};
use crate::types::DataType;

/// What an entry is about; the first byte of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EntryKind {
    System = 0,
    Table = 1,
    View = 2,
    Sequence = 3,
    Schema = 4,
    /// A relation's name in its schema. What it means changes when the relation does: see `PlanDependencies`.
    Name = 5,
    /// What was said by COMMENT ON, under the object and the part of it.
    Comment = 6,
    Routine = 7,
    /// A function's name in its schema. What it means changes when one of the functions does that have it.
    RoutineName = 8,
    /// A type that a user made.
    Type = 9,
    /// An extension that was made, and where.
    Extension = 10,
}

/// The key of an object's entry.
pub(crate) fn entry_key(kind: EntryKind, id: ObjectId) -> [u8; 5] {
    let [a, b, c, d] = id.0.to_be_bytes();
    [kind as u8, a, b, c, d]
}

/// Appends the key of a relation's name in a schema, or of functions'.
pub(super) fn push_name_key(kind: EntryKind, schema: ObjectId, name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&entry_key(kind, schema));
    out.extend_from_slice(name.as_bytes());
}

fn name_key(kind: EntryKind, schema: ObjectId, name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    push_name_key(kind, schema, name, &mut key);
    key
}

/// The name under which a type's key stands beside those of relations, which it may share its name with.
pub(super) fn type_name_key(name: &str) -> String {
    format!("\0{name}")
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

impl SystemTrees {
    const TEMPORARY: SystemTrees =
        SystemTrees { statistics: TemporaryTrees::STATISTICS, sequences: TemporaryTrees::SEQUENCES };

    /// Those for an object of this id.
    pub(crate) fn of(self, id: ObjectId) -> SystemTrees {
        if id.is_temporary() { SystemTrees::TEMPORARY } else { self }
    }
}

/// The catalog tree that has the entry of an object.
fn catalog_of(id: ObjectId) -> TreeId {
    if id.is_temporary() { TemporaryTrees::CATALOG } else { TreeId::CATALOG }
}

/// Makes the system trees of a new database; does nothing to others.
pub(crate) fn bootstrap(store: &Store) -> Result<()> {
    if system_trees(store.snapshot()?.reader())?.is_some() {
        return Ok(());
    }
    let tx = Transaction::new(store.begin()?, None)?;
    let create = || tx.create_tree(ObjectId::PUBLIC);
    let trees = SystemTrees { statistics: create()?, sequences: create()? };
    put_trees(&tx, trees)?;
    CatalogStore::new(&tx).put_schema(ObjectId::PUBLIC, "public")?;
    Ok(tx.commit()?)
}

fn put_trees(tx: &Transaction, trees: SystemTrees) -> Result<()> {
    let mut w = Writer::entry(Version::Plain);
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

/// What was made of entries, with their bytes: who reads the catalog next takes over what is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    entries: HashMap<(u8, ObjectId), KnownEntry>,
    /// The types that tables were read with.
    types: Types,
}

impl Known {
    /// What was made of an entry of these bytes, with these types.
    fn get(&self, kind: u8, id: ObjectId, bytes: &[u8], has_types: bool) -> Option<&KnownEntry> {
        let has_types = |known: &KnownEntry| match &known.object {
            _ if has_types => true,
            Object::Relation(relation) => relation.table().is_none_or(|table| !table.has_user_types()),
            Object::Routine(function) => function.routine().is_none_or(|of| of.user_types().next().is_none()),
        };
        self.entries.get(&(kind, id)).filter(|known| *known.bytes == *bytes && has_types(known))
    }
}

#[derive(Clone, Debug)]
struct KnownEntry {
    bytes: Arc<[u8]>,
    object: Object,
}

#[derive(Clone, Debug)]
enum Object {
    Relation(Relation),
    Routine(Arc<Function>),
}

/// Reads the whole catalog, with what the reader's transaction changed of it. Of the database: nothing is temporary.
pub(crate) fn load(reader: &Reader) -> Result<Catalog> {
    load_database(reader, None).map(Catalog::of)
}

/// As [`load`], for less the more of it is as it was in another version.
pub(crate) fn load_after(reader: &Reader, before: &Catalog) -> Result<Catalog> {
    load_database(reader, Some(before.known())).map(|objects| Catalog::of(objects).called(before.name()))
}

/// As [`load_after`], in a state without anybody's own changes.
pub(super) fn load_committed(reader: &Reader, before: Option<&Catalog>) -> Result<Catalog> {
    let mut objects = load_database(reader, before.map(Catalog::known))?;
    objects.set_committed();
    Ok(Catalog::of(objects))
}

/// What distinguishes the state of the temporary objects from others of the same session.
pub(crate) fn temporary_stamp(reader: &Reader) -> Result<u64> {
    Ok(reader.tree_stamp(TemporaryTrees::CATALOG)?.rotate_left(32) ^ reader.tree_stamp(TemporaryTrees::STATISTICS)?)
}

/// Reads the session's temporary objects.
pub(crate) fn load_temporary(reader: &Reader) -> Result<TemporaryObjects> {
    let objects = load_objects(reader, TemporaryTrees::CATALOG, Some(SystemTrees::TEMPORARY), None)?;
    Ok(TemporaryObjects { stamp: temporary_stamp(reader)?, objects })
}

fn load_database(reader: &Reader, known: Option<&Known>) -> Result<Objects> {
    let mut objects = load_objects(reader, TreeId::CATALOG, system_trees(reader)?, known)?;
    if !is_up_to_date(reader)? {
        objects.add_schema(ObjectId::PUBLIC, "public".to_owned());
    }
    Ok(objects)
}

/// The types that users made. `without_damaged`: those that can not be read are left out.
pub(crate) fn load_types(reader: &Reader, without_damaged: bool) -> Result<Types> {
    let mut types = Types::default();
    let (from, to) = ([EntryKind::Type as u8], [EntryKind::Type as u8 + 1]);
    let mut cursor = reader.cursor(TreeId::CATALOG, Bound::Included(&from[..]), Bound::Excluded(&to[..]))?;
    let mut left = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        left.push((key.to_vec(), value.to_vec()));
    }
    // By id those come first that others are made of, but for attributes that a composite type got later.
    loop {
        let (before, mut waiting) = (left.len(), Vec::new());
        for (key, value) in left {
            let decoded = parse_key(&key).and_then(|(_, id)| decode_user_type(id, &value, &types));
            let Ok(mut of) = decoded else {
                waiting.push((key, value));
                continue;
            };
            let schema = match reader.get(TreeId::CATALOG, &entry_key(EntryKind::Schema, of.schema))? {
                Some(schema) => entries::decode_text(&schema).unwrap_or_default(),
                None => String::new(),
            };
            of.resolve(&schema)?;
            types.add(Arc::new(of));
        }
        left = waiting;
        if left.is_empty() || left.len() == before {
            break;
        }
    }
    if let (Some((key, value)), false) = (left.first(), without_damaged) {
        parse_key(key).and_then(|(_, id)| decode_user_type(id, value, &types))?;
    }
    Ok(types)
}

fn load_objects(reader: &Reader, tree: TreeId, trees: Option<SystemTrees>, known: Option<&Known>) -> Result<Objects> {
    let mut objects = Objects::default();
    let types = if tree == TreeId::CATALOG { load_types(reader, false)? } else { Types::default() };
    let has_types = known.is_some_and(|known| known.types == types);
    let (mut tables, mut bytes, mut read) = (Vec::new(), Vec::new(), HashMap::new());
    let mut of_rows = Vec::new();
    let mut cursor = reader.cursor(tree, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, value)) = cursor.next()? {
        let (kind, id) = parse_key(key)?;
        let same = known.and_then(|known| known.get(kind, id, value, has_types));
        let relation = |relation| Some(Object::Relation(relation));
        let object = match (kind, same) {
            (1..=3 | 7, Some(same)) => Some(same.object.clone()),
            (1, None) => relation(Relation::Table(Arc::new(entries::decode_table(id, value, &types)?))),
            (2, None) => relation(Relation::View(Arc::new(entries::decode_view(id, value)?))),
            (3, None) => relation(Relation::Sequence(Arc::new(entries::decode_sequence(id, value)?))),
            (7, None) => Some(Object::Routine(Arc::new(Function::stored(decode_routine(id, value, &types)?)))),
            _ => None,
        };
        let of_it = || same.map_or_else(|| Arc::from(value), |same| same.bytes.clone());
        match object {
            Some(Object::Relation(Relation::Table(table))) => {
                tables.push(table);
                bytes.push(of_it());
                continue;
            }
            Some(Object::Routine(function)) if function.routine().is_some_and(|routine| routine.takes_rows()) => {
                of_rows.push((id, of_it(), function));
            }
            Some(object) => {
                read.insert((kind, id), KnownEntry { bytes: of_it(), object: object.clone() });
                match object {
                    Object::Relation(relation) => objects.add_relation(relation),
                    Object::Routine(function) => objects.add_routine(function),
                }
            }
            None => {}
        }
        match kind {
            4 => objects.add_schema(id, entries::decode_text(value)?),
            6 => objects.add_comment(commented(key)?, entries::decode_text(value)?),
            10 => objects.add_extension(entries::decode_extension(id, value)?),
            _ => {}
        }
    }
    link_references(&mut tables)?;
    if let Some(trees) = trees {
        attach_statistics(reader, trees, &mut tables)?;
    }
    for (table, bytes) in tables.into_iter().zip(bytes) {
        let object = Object::Relation(Relation::Table(table.clone()));
        read.insert((EntryKind::Table as u8, table.id), KnownEntry { bytes, object });
        objects.add_table(table);
    }
    for (id, bytes, function) in of_rows {
        let function = with_rows_of_now(function, &objects)?;
        read.insert((7, id), KnownEntry { bytes, object: Object::Routine(function.clone()) });
        objects.add_routine(function);
    }
    objects.add_types(&types);
    objects.set_known(Known { entries: read, types });
    Ok(objects)
}

/// A function that takes rows of tables, as they are now.
fn with_rows_of_now(function: Arc<Function>, objects: &Objects) -> Result<Arc<Function>> {
    let Some(known) = function.routine() else { return Ok(function) };
    let mut routine = Routine::clone(known);
    for parameter in &mut routine.parameters {
        if let Some(table) = parameter.row_of.and_then(|id| objects.table_by_id(id)) {
            let schema = objects.schema_name(table.schema).unwrap_or_default();
            parameter.data_type = DataType::Composite(table.row_type(schema)?);
        }
    }
    if routine == **known { Ok(function) } else { Ok(Arc::new(Function::stored(routine))) }
}

fn parse_key(key: &[u8]) -> Result<(u8, ObjectId)> {
    match key {
        [kind @ (5 | 6 | 8), a, b, c, d, ..] | [kind, a, b, c, d] => {
            Ok((*kind, ObjectId(u32::from_be_bytes([*a, *b, *c, *d]))))
        }
        _ => Err(corrupt("key")),
    }
}

/// Whether an entry can be read, where these are the types that users made.
pub(crate) fn check_entry(key: &[u8], value: &[u8], types: &Types) -> Result<()> {
    match parse_key(key)? {
        (1, id) => entries::decode_table(id, value, types).map(drop),
        (2, id) => entries::decode_view(id, value).map(drop),
        (3, id) => entries::decode_sequence(id, value).map(drop),
        (4, _) => entries::decode_text(value).map(drop),
        (7, id) => decode_routine(id, value, types).map(drop),
        (9, id) => decode_user_type(id, value, types).map(drop),
        (10, id) => entries::decode_extension(id, value).map(drop),
        (6, _) => commented(key).and_then(|_| entries::decode_text(value)).map(drop),
        _ => Ok(()),
    }
}

/// The table of an entry, if it is one and can be read.
pub(crate) fn decode_table_entry(key: &[u8], value: &[u8], types: &Types) -> Option<Table> {
    let (kind, id) = parse_key(key).ok()?;
    (kind == EntryKind::Table as u8).then(|| entries::decode_table(id, value, types).ok()).flatten()
}

/// By id, where in a list of tables each is.
fn places_of(tables: &[Arc<Table>]) -> HashMap<ObjectId, usize> {
    tables.iter().enumerate().map(|(at, table)| (table.id, at)).collect()
}

/// Fills `referenced_by`, and checks that every foreign key points at columns that exist. What another version of the
/// catalog has too is copied where it is no longer the same.
fn link_references(tables: &mut [Arc<Table>]) -> Result<()> {
    let places = places_of(tables);
    let mut links: Vec<Vec<(ObjectId, usize)>> = vec![Vec::new(); tables.len()];
    for table in tables.iter() {
        for (position, key) in table.foreign_keys.iter().enumerate() {
            let at = *places.get(&key.referenced_table).ok_or_else(|| corrupt("foreign key"))?;
            let beyond = |column: &usize| *column >= tables[at].columns.len();
            if key.referenced_columns.len() != key.columns.len() || key.referenced_columns.iter().any(beyond) {
                return Err(corrupt("foreign key columns"));
            }
            links[at].push((table.id, position));
        }
    }
    for (table, links) in tables.iter_mut().zip(links).filter(|(table, links)| table.referenced_by != *links) {
        Arc::make_mut(table).referenced_by = links;
    }
    Ok(())
}

fn attach_statistics(reader: &Reader, trees: SystemTrees, tables: &mut [Arc<Table>]) -> Result<()> {
    let places = places_of(tables);
    let mut found = vec![false; tables.len()];
    let mut cursor = reader.cursor(trees.statistics, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((key, bytes)) = cursor.next()? {
        let id = key.try_into().map(u32::from_be_bytes).map_err(|_| corrupt("key of statistics"))?;
        // A table that is gone may have left some.
        let Some(&at) = places.get(&ObjectId(id)) else { continue };
        found[at] = true;
        let analyzed = digest(bytes);
        if tables[at].analyzed != analyzed {
            let table = Arc::make_mut(&mut tables[at]);
            (table.statistics, table.analyzed) = (Some(Arc::new(statistics::decode(bytes, table)?)), analyzed);
        }
    }
    for (table, _) in tables.iter_mut().zip(found).filter(|(table, found)| !found && table.statistics.is_some()) {
        let table = Arc::make_mut(table);
        (table.statistics, table.analyzed) = (None, 0);
    }
    Ok(())
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The key under which the tree stands that knows of all change feeds.
fn feeds_key() -> [u8; 5] {
    entry_key(EntryKind::System, ObjectId(3))
}

/// The tree that knows of all change feeds; `None`: there has been none.
pub(crate) fn feeds_tree_of(reader: &Reader) -> Result<Option<TreeId>> {
    let Some(bytes) = reader.get(TreeId::CATALOG, &feeds_key())? else { return Ok(None) };
    let tree = bytes.as_slice().try_into().map_err(|_| corrupt("tree of the change feeds"))?;
    Ok(Some(TreeId(u32::from_le_bytes(tree))))
}

pub(crate) fn put_feeds_tree(tx: &Transaction, tree: TreeId) -> Result<()> {
    Ok(tx.put(TreeId::CATALOG, &feeds_key(), &tree.0.to_le_bytes())?)
}

/// The key under which the tree stands that has the positions of the views that follow.
fn followed_key() -> [u8; 5] {
    entry_key(EntryKind::System, ObjectId(4))
}

/// The tree that has the log positions of the materialized views that follow their queries, by the view's id; `None`: there has been none.
pub(crate) fn followed_tree_of(reader: &Reader) -> Result<Option<TreeId>> {
    let Some(bytes) = reader.get(TreeId::CATALOG, &followed_key())? else { return Ok(None) };
    let tree = bytes.as_slice().try_into().map_err(|_| corrupt("tree of the views that follow"))?;
    Ok(Some(TreeId(u32::from_le_bytes(tree))))
}

/// The same; made where there is none.
pub(crate) fn ensure_followed_tree(tx: &Transaction) -> Result<TreeId> {
    if let Some(tree) = followed_tree_of(tx.reader().database())? {
        return Ok(tree);
    }
    let tree = tx.create_tree(ObjectId::PUBLIC)?;
    tx.put(TreeId::CATALOG, &followed_key(), &tree.0.to_le_bytes())?;
    Ok(tree)
}

pub(crate) fn delete_feeds_tree(tx: &Transaction) -> Result<()> {
    Ok(tx.delete(TreeId::CATALOG, &feeds_key()).map(drop)?)
}

/// The table that [`encode_described`](entries::encode_described) described, with the types of now.
pub(crate) fn decode_described(reader: &Reader, bytes: &[u8]) -> Result<Table> {
    let (id, bytes) = bytes.split_first_chunk::<4>().ok_or_else(|| corrupt("description"))?;
    entries::decode_table(ObjectId(u32::from_be_bytes(*id)), bytes, &load_types(reader, false)?)
}

/// What a schema is called; empty where it is gone.
pub(crate) fn schema_name_of(reader: &Reader, schema: ObjectId) -> Result<String> {
    let bytes = reader.get(TreeId::CATALOG, &entry_key(EntryKind::Schema, schema))?;
    bytes.map_or_else(|| Ok(String::new()), |bytes| entries::decode_text(&bytes))
}

/// Writes the catalog in a transaction: that of the database, or of the session where it is about what is temporary.
pub(crate) struct CatalogStore<'a> {
    tx: &'a Transaction,
    /// The whole catalog of the database is marked as read: see the module's invariants.
    noted: Cell<bool>,
}

impl<'a> CatalogStore<'a> {
    pub(crate) fn new(tx: &'a Transaction) -> CatalogStore<'a> {
        CatalogStore { tx, noted: Cell::new(false) }
    }

    /// The catalog with what was written since `before`. Who writes nothing of the database's has not read it either.
    pub(crate) fn load(&self, before: &Catalog) -> Result<Catalog> {
        let (reader, path) = (self.tx.reader(), before.path());
        let loaded = if self.noted.get() { Some(load_after(reader.database(), before)?) } else { None };
        let database = loaded.as_ref().unwrap_or(before);
        Ok(match reader.temporary() {
            Some(temporary) => database.under(&path.with_temporary(load_temporary(temporary)?)),
            None => database.under(path),
        })
    }

    /// The tree to write to for an object.
    fn tree(&self, id: ObjectId) -> Result<TreeId> {
        let tree = catalog_of(id);
        if tree == TreeId::CATALOG && !self.noted.replace(true) {
            note_all(self.tx.reader().database())?;
        }
        Ok(tree)
    }

    /// A number that was never given out before, for ids and change marks.
    fn next_number(&self, tree: TreeId) -> Result<u32> {
        let current = match self.tx.reader().get(tree, &counter_key())? {
            Some(bytes) => u32::from_le_bytes(bytes.as_slice().try_into().map_err(|_| corrupt("counter"))?),
            None if tree == TemporaryTrees::CATALOG => ObjectId::TEMPORARY.0,
            None => 0,
        };
        let next = current.checked_add(1).filter(|next| catalog_of(ObjectId(*next)) == tree);
        let next = next.ok_or_else(|| crate::Error::internal("object ids are exhausted"))?;
        self.tx.put(tree, &counter_key(), &next.to_le_bytes())?;
        Ok(next)
    }

    /// An id for an object in this schema.
    pub(crate) fn allocate_id(&self, schema: ObjectId) -> Result<ObjectId> {
        self.next_number(self.tree(schema)?).map(ObjectId)
    }

    /// A schema's id.
    pub(crate) fn allocate_schema_id(&self) -> Result<ObjectId> {
        self.allocate_id(ObjectId::PUBLIC)
    }

    fn put(&self, kind: EntryKind, id: ObjectId, encode: impl FnOnce(u64) -> Vec<u8>) -> Result<()> {
        let tree = self.tree(id)?;
        let change = self.next_number(tree)?.into();
        Ok(self.tx.put(tree, &entry_key(kind, id), &encode(change))?)
    }

    /// SQLSTATE 42P16 where a definition of it rests on what ends with the session.
    pub(crate) fn put_table(&self, table: &Table) -> Result<()> {
        refuse_temporary_parts(table)?;
        let described;
        let table = match table.feed {
            Some(feed) => {
                described = Table { feed: Some(put_description(self.tx, table, feed)?), ..table.clone() };
                &described
            }
            None => table,
        };
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

    pub(crate) fn put_routine(&self, routine: &Routine) -> Result<()> {
        self.put(EntryKind::Routine, routine.id, |change| encode_routine(routine, change))?;
        self.put_routine_name(routine)
    }

    /// Another function of this name may be meant from here on.
    fn put_routine_name(&self, routine: &Routine) -> Result<()> {
        let tree = self.tree(routine.schema)?;
        let change = self.next_number(tree)?;
        Ok(self.tx.put(
            tree,
            &name_key(EntryKind::RoutineName, routine.schema, &routine.name),
            &change.to_be_bytes(),
        )?)
    }

    /// A function that had this name has another one, or is in another schema.
    pub(crate) fn leave_routine_name(&self, before: &Routine) -> Result<()> {
        self.put_routine_name(before)
    }

    pub(crate) fn delete_routine(&self, routine: &Routine) -> Result<()> {
        self.delete(EntryKind::Routine, routine.id)?;
        self.put_routine_name(routine)
    }

    pub(crate) fn put_type(&self, of: &UserType) -> Result<()> {
        self.put(EntryKind::Type, of.id, |change| encode_user_type(of, change))?;
        self.put_name(of.schema, &type_name_key(&of.name), of.id)
    }

    pub(crate) fn delete_type(&self, of: &UserType) -> Result<()> {
        self.forget_name(of.schema, &type_name_key(&of.name))?;
        self.delete(EntryKind::Type, of.id)
    }

    /// The name means something new, be it the same relation as it is now: who changes its rows has to notice.
    pub(crate) fn put_name(&self, schema: ObjectId, name: &str, id: ObjectId) -> Result<()> {
        let tree = self.tree(schema)?;
        let change = self.next_number(tree)?;
        let value = [id.0.to_be_bytes(), change.to_be_bytes()].concat();
        Ok(self.tx.put(tree, &name_key(EntryKind::Name, schema, name), &value)?)
    }

    /// The name means nothing any more.
    pub(crate) fn forget_name(&self, schema: ObjectId, name: &str) -> Result<()> {
        self.tx.delete(self.tree(schema)?, &name_key(EntryKind::Name, schema, name))?;
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
        let tree = self.tree(ObjectId::PUBLIC)?;
        let change = self.next_number(tree)?;
        Ok(self.tx.put(tree, &schemas_key(), &change.to_le_bytes())?)
    }

    pub(crate) fn put_extension(&self, made: &MadeExtension) -> Result<()> {
        self.put(EntryKind::Extension, made.id, |change| entries::encode_extension(made, change))?;
        self.put_schemas()
    }

    pub(crate) fn delete_extension(&self, id: ObjectId) -> Result<()> {
        self.delete(EntryKind::Extension, id)?;
        self.put_schemas()
    }

    /// None: no comment.
    pub(crate) fn put_comment(&self, on: Commentable, text: Option<&str>) -> Result<()> {
        let (tree, key) = (self.tree(on.id)?, comment_key(on));
        match text {
            Some(text) => {
                let change = self.next_number(tree)?.into();
                self.tx.put(tree, &key, &entries::encode_text(text, change))?;
            }
            None => drop(self.tx.delete(tree, &key)?),
        }
        Ok(())
    }

    /// From here on the catalog is one of this version.
    pub(crate) fn put_version(&self) -> Result<()> {
        let trees = system_trees(self.tx.reader().database())?.ok_or_else(|| corrupt("list of trees"))?;
        put_trees(self.tx, trees)
    }

    pub(crate) fn delete(&self, kind: EntryKind, id: ObjectId) -> Result<()> {
        self.tx.delete(self.tree(id)?, &entry_key(kind, id))?;
        Ok(())
    }
}

fn refuse_temporary_parts(table: &Table) -> Result<()> {
    let defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
    let mut definitions = defaults.chain(table.checks.iter().map(|check| &check.condition));
    let rests =
        |definition: &Definition| definition.references().iter().any(|reference| reference.object.is_temporary());
    if table.is_temporary() || !definitions.any(rests) {
        return Ok(());
    }
    let message =
        format!("defaults and constraints of the permanent table \"{}\" cannot use temporary sequences", table.name);
    Err(crate::Error::new(crate::SqlState::INVALID_TABLE_DEFINITION, message))
}

/// Stores what ANALYZE found; the catalog's stamp stays, the statistics' changes.
pub(crate) fn put_statistics(
    tx: &Transaction,
    trees: SystemTrees,
    table: &Table,
    statistics: &TableStatistics,
) -> Result<()> {
    let types: Vec<_> = table.columns.iter().map(|column| column.data_type).collect();
    let tree = trees.of(table.id).statistics;
    Ok(tx.put(tree, &table.id.0.to_be_bytes(), &statistics::encode(statistics, &types))?)
}

/// Forgets a dropped or restructured table's statistics.
pub(crate) fn delete_statistics(tx: &Transaction, trees: SystemTrees, table: ObjectId) -> Result<()> {
    tx.delete(trees.of(table).statistics, &table.0.to_be_bytes())?;
    Ok(())
}
