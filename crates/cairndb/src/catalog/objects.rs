//! One version of the catalog in memory, and what a session sees of it.
//!
//! [`Objects`] are what the catalog tree holds, by id and by name within each schema; they are loaded once and shared. A
//! [`Catalog`] looks at them through a search path: in which schemas a name without one is looked up.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use cairn_parser::token::quoted;

use super::layout::Layouts;
use super::names::{ObjectName, SearchPath, TEMPORARY, USER, default_path};
use super::schema::OnCommit;
use super::store::Known;
use super::user_types::{Types, UserType};
use super::{Column, Definition, Index, ObjectId, Routine, Sequence, Table, TableLayout, View, type_id};
use crate::functions::{DATABASE_NAME, Function};
use crate::types::DataType;
use crate::{Error, Result, SqlState};

/// A relation: what a name in a schema stands for. Tables, views, sequences and indexes (primary keys included) share one
/// name space.
#[derive(Clone, Debug)]
pub enum Relation {
    /// A table, or a materialized view.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// An index and its table, of which it may be the primary key.
    Index(Arc<Table>, Arc<Index>),
}

/// What kind of relation a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A sequence.
    Sequence,
    /// An index, or a primary key.
    Index,
}

impl Relation {
    /// Its kind.
    pub fn kind(&self) -> RelationKind {
        match self {
            Relation::Table(table) if table.is_materialized() => RelationKind::MaterializedView,
            Relation::Table(_) => RelationKind::Table,
            Relation::View(_) => RelationKind::View,
            Relation::Sequence(_) => RelationKind::Sequence,
            Relation::Index(..) => RelationKind::Index,
        }
    }

    /// Its id.
    pub(crate) fn id(&self) -> ObjectId {
        match self {
            Relation::Table(table) => table.id,
            Relation::View(view) => view.id,
            Relation::Sequence(sequence) => sequence.id,
            Relation::Index(_, index) => index.id,
        }
    }

    /// The table, where it is one, or a materialized view.
    pub(crate) fn table(&self) -> Option<&Arc<Table>> {
        if let Relation::Table(table) = self { Some(table) } else { None }
    }

    pub(crate) fn view(&self) -> Option<&Arc<View>> {
        if let Relation::View(view) = self { Some(view) } else { None }
    }

    /// The ids of what is found by the relation's name, but for its own.
    fn parts(&self) -> Vec<ObjectId> {
        match self {
            Relation::Table(table) => {
                let keys = table.foreign_keys.iter().map(|key| key.id);
                let triggers = table.triggers.iter().map(|trigger| trigger.id);
                table.checks.iter().map(|check| check.id).chain(keys).chain(triggers).collect()
            }
            Relation::View(view) => view.triggers.iter().map(|trigger| trigger.id).collect(),
            Relation::Index(_, index) => vec![index.id],
            Relation::Sequence(_) => vec![],
        }
    }

    fn sequence(&self) -> Option<&Arc<Sequence>> {
        if let Relation::Sequence(sequence) = self { Some(sequence) } else { None }
    }
}

/// What may have a comment: an object, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Commentable {
    /// The object's id.
    pub(crate) id: ObjectId,
    /// 0: the object itself; a column's number; 1: the constraint of an index.
    pub(crate) part: u32,
}

impl Commentable {
    /// The database.
    pub(crate) const DATABASE: Commentable = Commentable { id: ObjectId(u32::MAX), part: 0 };

    /// A relation.
    pub(crate) fn on(relation: &Relation) -> Commentable {
        Commentable::of(relation.id())
    }

    /// A whole object.
    pub(crate) fn of(id: ObjectId) -> Commentable {
        Commentable { id, part: 0 }
    }
}

/// An extension that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MadeExtension {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    /// Where its functions are found, besides where all that is built in is.
    pub(crate) schema: ObjectId,
}

/// The objects of one version of the schema. Names are as stored (folded to lower case unless quoted).
#[derive(Clone, Debug, Default)]
pub struct Objects {
    schemas: BTreeMap<Arc<str>, ObjectId>,
    /// By schema and name.
    relations: BTreeMap<ObjectId, BTreeMap<String, Relation>>,
    /// Of tables, views and sequences: the schema and the name.
    places: BTreeMap<ObjectId, (ObjectId, String)>,
    /// Of indexes, constraints and triggers: the schema and the name of the index, or of the relation that they belong to. Made when
    /// it is asked first.
    parts: OnceLock<Arc<HashMap<ObjectId, (ObjectId, String)>>>,
    comments: BTreeMap<Commentable, String>,
    /// By name.
    extensions: BTreeMap<String, MadeExtension>,
    /// Functions and procedures, by schema and name, older ones first.
    routines: BTreeMap<ObjectId, BTreeMap<String, Vec<Arc<Function>>>>,
    routines_by_id: BTreeMap<ObjectId, Arc<Function>>,
    /// By schema and name.
    types: BTreeMap<ObjectId, BTreeMap<String, Arc<UserType>>>,
    types_by_id: BTreeMap<ObjectId, Arc<UserType>>,
    layouts: Layouts,
    inverted: OnceLock<Arc<[Arc<Index>]>>,
    /// What it was read from.
    known: Arc<Known>,
    /// Nobody's open transaction has a part in it.
    committed: bool,
}

impl Objects {
    pub(crate) fn add_schema(&mut self, id: ObjectId, name: String) {
        self.schemas.insert(name.into(), id);
    }

    /// With a session's temporary objects.
    fn with(&self, temporary: &Objects) -> Objects {
        let mut all = Objects { parts: OnceLock::new(), ..self.clone() };
        all.add_schema(ObjectId::TEMPORARY, TEMPORARY.to_owned());
        for (schema, names) in &temporary.relations {
            let names = names.iter().map(|(name, relation)| (name.clone(), self.retyped(relation)));
            all.relations.insert(*schema, names.collect());
        }
        all.places.extend(temporary.places.iter().map(|(id, place)| (*id, place.clone())));
        all.comments.extend(temporary.comments.iter().map(|(on, text)| (*on, text.clone())));
        all
    }

    /// A type that was found under another version of the schema, as it is now, where it is still there.
    pub(crate) fn now(&self, data_type: DataType) -> DataType {
        let of = type_id(data_type).and_then(|id| self.type_by_id(id)).map(|of| of.data_type);
        match of {
            Some(of) if data_type.is_array() => of.array().unwrap_or(data_type),
            of => of.unwrap_or(data_type),
        }
    }

    /// A temporary relation with types as they are now. Those that are not there any more stay what they were.
    fn retyped(&self, relation: &Relation) -> Relation {
        let Relation::Table(table) = relation else { return relation.clone() };
        if table.columns.iter().all(|column| self.now(column.data_type) == column.data_type) {
            return relation.clone();
        }
        let mut new = Table::clone(table);
        for column in &mut new.columns {
            column.data_type = self.now(column.data_type);
        }
        Relation::Table(Arc::new(new))
    }

    pub(crate) fn add_table(&mut self, table: Arc<Table>) {
        (self.inverted, self.parts) = (OnceLock::new(), OnceLock::new());
        let names = self.relations.entry(table.schema).or_default();
        for index in table.all_indexes() {
            names.insert(index.name.clone(), Relation::Index(table.clone(), index.clone()));
        }
        self.places.insert(table.id, (table.schema, table.name.clone()));
        names.insert(table.name.clone(), Relation::Table(table));
    }

    pub(crate) fn add_view(&mut self, view: Arc<View>) {
        self.parts = OnceLock::new();
        self.places.insert(view.id, (view.schema, view.name.clone()));
        self.relations.entry(view.schema).or_default().insert(view.name.clone(), Relation::View(view));
    }

    pub(crate) fn add_sequence(&mut self, sequence: Arc<Sequence>) {
        self.places.insert(sequence.id, (sequence.schema, sequence.name.clone()));
        let names = self.relations.entry(sequence.schema).or_default();
        names.insert(sequence.name.clone(), Relation::Sequence(sequence));
    }

    pub(super) fn add_routine(&mut self, function: Arc<Function>) {
        if let Some(routine) = function.routine() {
            self.routines_by_id.insert(routine.id, function.clone());
            let names = self.routines.entry(routine.schema).or_default();
            names.entry(routine.name.clone()).or_default().push(function.clone());
        }
    }

    /// The functions of this name in a schema.
    pub(crate) fn routines_in(&self, schema: ObjectId, name: &str) -> &[Arc<Function>] {
        self.routines.get(&schema).and_then(|names| names.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Every function and procedure.
    pub(crate) fn routines(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.routines.values().flat_map(BTreeMap::values).flatten()
    }

    /// The inverted indexes of permanent tables.
    pub(crate) fn inverted_indexes(&self) -> &[Arc<Index>] {
        self.inverted.get_or_init(|| {
            let tables = self.tables().filter(|table| !table.is_temporary());
            tables.flat_map(|table| &table.indexes).filter(|index| index.is_inverted()).cloned().collect()
        })
    }

    /// Whether there is any.
    pub(crate) fn has_routines(&self) -> bool {
        !self.routines.is_empty()
    }

    /// The function with this id.
    pub(crate) fn routine_by_id(&self, id: ObjectId) -> Option<&Arc<Function>> {
        self.routines_by_id.get(&id)
    }

    /// A table, a view or a sequence.
    pub(super) fn add_relation(&mut self, relation: Relation) {
        match relation {
            Relation::Table(table) | Relation::Index(table, _) => self.add_table(table),
            Relation::View(view) => self.add_view(view),
            Relation::Sequence(sequence) => self.add_sequence(sequence),
        }
    }

    pub(super) fn add_types(&mut self, types: &Types) {
        for of in types.iter() {
            self.types_by_id.insert(of.id, of.clone());
            self.types.entry(of.schema).or_default().insert(of.name.clone(), of.clone());
        }
    }

    /// The type of this name in a schema.
    pub(crate) fn type_in(&self, schema: ObjectId, name: &str) -> Option<&Arc<UserType>> {
        self.types.get(&schema)?.get(name)
    }

    /// Every type that users made, by schema and name.
    pub fn types(&self) -> impl Iterator<Item = &Arc<UserType>> {
        self.types.values().flat_map(BTreeMap::values)
    }

    /// The type, and those that are made of it, one over the other.
    pub(crate) fn types_resting_on(&self, id: ObjectId) -> Vec<ObjectId> {
        let mut found = vec![id];
        let mut types: Vec<&Arc<UserType>> = self.types().collect();
        types.sort_by_key(|of| of.id);
        // A composite type may have got attributes of types that are younger.
        loop {
            let rests = |of: &&Arc<UserType>| of.rests_on().any(|on| found.contains(&on)) && !found.contains(&of.id);
            match types.iter().copied().find(rests) {
                Some(of) => found.push(of.id),
                None => return found,
            }
        }
    }

    /// What a column holds where no value is given: its own default, or its domain's.
    pub(crate) fn default_of<'a>(&'a self, column: &'a Column) -> Option<&'a Definition> {
        let domain = || self.type_by_id(column.domain.filter(|_| column.generated.is_none())?)?.domain();
        column.default.as_ref().or_else(|| domain()?.default.as_ref())
    }

    /// The type with this id.
    pub(crate) fn type_by_id(&self, id: ObjectId) -> Option<&Arc<UserType>> {
        self.types_by_id.get(&id)
    }

    pub(super) fn set_known(&mut self, known: Known) {
        self.known = Arc::new(known);
    }

    pub(crate) fn add_extension(&mut self, made: MadeExtension) {
        self.extensions.insert(made.name.clone(), made);
    }

    /// The extensions that were made, by name.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = &MadeExtension> {
        self.extensions.values()
    }

    /// One that was made.
    pub(crate) fn extension(&self, name: &str) -> Option<&MadeExtension> {
        self.extensions.get(name)
    }

    pub(crate) fn add_comment(&mut self, on: Commentable, text: String) {
        self.comments.insert(on, text);
    }

    /// What has comments.
    pub(crate) fn commented(&self) -> impl Iterator<Item = &Commentable> {
        self.comments.keys()
    }

    /// What was said by COMMENT ON.
    pub(crate) fn comment(&self, on: Commentable) -> Option<&str> {
        self.comments.get(&on).map(String::as_str)
    }

    /// What COMMENT ON said of a relation.
    pub fn comment_on(&self, relation: &Relation) -> Option<&str> {
        self.comment(Commentable::on(relation))
    }

    /// What COMMENT ON said of a column, the position of which this is.
    pub fn comment_on_column(&self, relation: &Relation, position: usize) -> Option<&str> {
        let part = match relation {
            Relation::Table(table) => table.columns.get(position)?.number,
            _ => u32::try_from(position).ok()? + 1,
        };
        self.comment(Commentable { part, ..Commentable::on(relation) })
    }

    /// What was loaded from a committed state.
    pub(super) fn set_committed(&mut self) {
        self.committed = true;
    }

    /// Every schema's name and id.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = (&str, ObjectId)> {
        self.schemas.iter().map(|(name, id)| (&**name, *id))
    }

    /// The schema with this id.
    pub fn schema_name(&self, id: ObjectId) -> Option<&str> {
        self.schemas().find(|(_, schema)| *schema == id).map(|(name, _)| name)
    }

    /// The same, for who keeps it.
    pub(crate) fn shared_schema_name(&self, id: ObjectId) -> Option<Arc<str>> {
        self.schemas.iter().find(|(_, schema)| **schema == id).map(|(name, _)| name.clone())
    }

    /// The relations in a schema, by name.
    pub(crate) fn relations_in(&self, schema: ObjectId) -> impl Iterator<Item = (&str, &Relation)> {
        self.relations.get(&schema).into_iter().flatten().map(|(name, relation)| (name.as_str(), relation))
    }

    /// The relation of this name in a schema.
    pub(crate) fn relation_in(&self, schema: ObjectId, name: &str) -> Option<&Relation> {
        self.relations.get(&schema)?.get(name)
    }

    /// As [`Objects::relation_in`], with its schema and its name.
    pub(crate) fn named_in(&self, schema: ObjectId, name: &str) -> Option<(ObjectId, &str, &Relation)> {
        let (name, relation) = self.relations.get(&schema)?.get_key_value(name)?;
        Some((schema, name, relation))
    }

    pub(crate) fn relations(&self) -> impl Iterator<Item = &Relation> {
        let schemas = self.schemas.values();
        schemas.flat_map(|schema| self.relations_in(*schema)).map(|(_, relation)| relation)
    }

    /// Everything that has a query: what it is, which has an id and a name in a schema, and the query.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (&Relation, &Definition)> {
        self.relations().filter_map(|relation| match relation {
            Relation::View(view) => Some((relation, &view.query)),
            Relation::Table(table) => table.materialized().map(|of| (relation, &of.query)),
            _ => None,
        })
    }

    /// A relation's schema and name.
    pub(crate) fn place_of(&self, relation: &Relation) -> Option<(ObjectId, &str)> {
        self.places.get(&relation.id()).map(|(schema, name)| (*schema, name.as_str()))
    }

    /// Every table, materialized views among them, by schema and name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.relations().filter_map(Relation::table)
    }

    /// Those that are no materialized views.
    pub(crate) fn base_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables().filter(|table| !table.is_materialized())
    }

    /// Every view, by schema and name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.relations().filter_map(Relation::view)
    }

    /// Every sequence, by schema and name.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        self.relations().filter_map(Relation::sequence)
    }

    /// The table, view or sequence with this id.
    pub(crate) fn relation_by_id(&self, id: ObjectId) -> Option<&Relation> {
        let (schema, name) = self.places.get(&id)?;
        self.relation_in(*schema, name)
    }

    /// The relation with this id, or to which the constraint or trigger with this id belongs: its schema, its name, and what it is.
    pub(crate) fn relation_of(&self, id: ObjectId) -> Option<(ObjectId, &str, &Relation)> {
        let (schema, name) = self.places.get(&id).or_else(|| self.parts().get(&id))?;
        Some((*schema, name, self.relation_in(*schema, name)?))
    }

    fn parts(&self) -> &HashMap<ObjectId, (ObjectId, String)> {
        self.parts.get_or_init(|| {
            let mut parts = HashMap::new();
            for schema in self.relations.keys() {
                for (name, relation) in self.relations_in(*schema) {
                    parts.extend(relation.parts().into_iter().map(|id| (id, (*schema, name.to_owned()))));
                }
            }
            Arc::new(parts)
        })
    }

    /// The table with this id.
    pub fn table_by_id(&self, id: ObjectId) -> Option<&Arc<Table>> {
        self.relation_by_id(id)?.table()
    }

    /// The view with this id.
    pub(crate) fn view_by_id(&self, id: ObjectId) -> Option<&Arc<View>> {
        self.relation_by_id(id)?.view()
    }

    /// The sequence with this id.
    pub fn sequence_by_id(&self, id: ObjectId) -> Option<&Arc<Sequence>> {
        self.relation_by_id(id)?.sequence()
    }

    /// How the table's rows lie in its tree.
    pub(crate) fn layout(&self, table: &Arc<Table>) -> Arc<TableLayout> {
        self.layouts.of(table)
    }

    /// What `compile` makes of a table and this catalog, made once: see [`Layouts::compiled`].
    pub(crate) fn compiled<T: Send + Sync + 'static>(
        &self,
        table: &Arc<Table>,
        compile: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        self.layouts.compiled(table, compile)
    }
}

/// A session's temporary objects.
#[derive(Debug, Default)]
pub(crate) struct TemporaryObjects {
    /// Of the catalog tree that they were read from.
    pub(crate) stamp: u64,
    pub(crate) objects: Objects,
}

impl TemporaryObjects {
    /// The tables that something happens to at each COMMIT.
    pub(crate) fn on_commit(&self, what: OnCommit) -> impl Iterator<Item = &Arc<Table>> {
        self.relations().filter_map(|(_, relation)| relation.table()).filter(move |table| table.on_commit == what)
    }

    /// All of them, by name.
    pub(crate) fn relations(&self) -> impl Iterator<Item = (&str, &Relation)> {
        self.objects.relations_in(ObjectId::TEMPORARY)
    }
}

/// SQLSTATE 42P07.
pub(crate) fn already_exists(name: &str) -> Error {
    Error::existing_relation(name)
}

/// SQLSTATE 3F000.
pub(crate) fn no_schema(name: &str) -> Error {
    Error::undefined_schema(name)
}

/// What a session sees of the schema.
#[derive(Clone)]
pub struct Catalog {
    /// What the database is called.
    name: Arc<str>,
    /// The database's.
    database: Arc<Objects>,
    /// With the session's temporary ones.
    objects: Arc<Objects>,
    path: Arc<SearchPath>,
    /// The schemas of the path that there are; the temporary one first.
    searched: Vec<ObjectId>,
}

impl Default for Catalog {
    /// Nothing but an empty `public`.
    fn default() -> Catalog {
        let mut objects = Objects::default();
        objects.add_schema(ObjectId::PUBLIC, "public".to_owned());
        Catalog::of(objects)
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Catalog").field(&self.objects).field(&self.path.schemas).finish()
    }
}

impl Deref for Catalog {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

impl Catalog {
    /// As it is seen by who has set nothing.
    pub(crate) fn of(objects: Objects) -> Catalog {
        let objects = Arc::new(objects);
        let (database, path) = (objects.clone(), default_path());
        let mut catalog = Catalog { name: DATABASE_NAME.into(), database, objects, path, searched: Vec::new() };
        catalog.search();
        catalog
    }

    /// The database's objects under a session's search path, with the session's own temporary ones.
    pub(crate) fn under(&self, path: &Arc<SearchPath>) -> Catalog {
        let database = self.database.clone();
        let objects = match &path.temporary {
            Some(temporary) => Arc::new(database.with(&temporary.objects)),
            None => database.clone(),
        };
        let (name, path) = (self.name.clone(), path.clone());
        let mut catalog = Catalog { name, database, objects, path, searched: vec![] };
        catalog.search();
        catalog
    }

    /// The same of a database that is called so.
    pub(super) fn called(self, name: &Arc<str>) -> Catalog {
        Catalog { name: name.clone(), ..self }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What the database is called.
    pub(crate) fn database_name(&self) -> &str {
        &self.name
    }

    /// The entries that it was read from.
    pub(super) fn known(&self) -> &Known {
        &self.database.known
    }

    /// See [`Objects`].
    pub(super) fn is_committed(&self) -> bool {
        self.committed
    }

    /// Whether there are the same schemas.
    pub(super) fn has_schemas_of(&self, other: &Catalog) -> bool {
        self.schemas == other.schemas
    }

    /// Whether names are looked up in the same schemas, with the same temporary objects.
    pub(crate) fn is_seen_like(&self, other: &Catalog) -> bool {
        Arc::ptr_eq(&self.path, &other.path)
    }

    fn search(&mut self) {
        let named = |name: &String| match name.as_str() {
            "$user" => self.objects.schemas.get(USER).copied(),
            name => self.objects.schemas.get(name).copied(),
        };
        let mut searched: Vec<ObjectId> = Vec::new();
        let temporary = self.path.temporary.as_ref().map(|_| ObjectId::TEMPORARY);
        let first = temporary.filter(|_| !self.path.schemas.iter().any(|name| name == TEMPORARY));
        for id in first.into_iter().chain(self.path.schemas.iter().filter_map(named)) {
            if !searched.contains(&id) {
                searched.push(id);
            }
        }
        self.searched = searched;
    }

    #[cfg(test)]
    pub(crate) fn objects_mut(&mut self) -> &mut Objects {
        Arc::make_mut(&mut self.objects)
    }

    pub(crate) fn path(&self) -> &Arc<SearchPath> {
        &self.path
    }

    /// The schemas in which names are looked up, in order.
    pub(crate) fn searched(&self) -> &[ObjectId] {
        &self.searched
    }

    /// How many of them stand before the system's own: those that the path names before it.
    pub(crate) fn searched_before_system(&self) -> usize {
        let Some(named) = self.path.schemas.iter().position(|name| name == "pg_catalog") else { return 0 };
        let before = &self.path.schemas[..named];
        let named = |name: &String| self.schema(if name == "$user" { USER } else { name });
        let is_before = |id: &&ObjectId| id.is_temporary() || before.iter().any(|name| named(name) == Some(**id));
        self.searched.iter().take_while(is_before).count()
    }

    /// The schema of this name.
    pub(crate) fn schema(&self, name: &str) -> Option<ObjectId> {
        self.schemas.get(name).copied()
    }

    /// Where new relations go whose schema is not said.
    pub(crate) fn current_schema(&self) -> Option<ObjectId> {
        self.searched.iter().copied().find(|id| !id.is_temporary())
    }

    /// The relation of this name, in the first schema of the path that has one.
    pub(crate) fn visible(&self, name: &str) -> Option<&Relation> {
        self.searched.iter().find_map(|schema| self.relation_in(*schema, name))
    }

    /// The relation that a name means.
    pub fn relation(&self, name: &ObjectName) -> Option<&Relation> {
        match &name.schema {
            Some(schema) => self.relation_in(self.schema(schema)?, &name.name),
            None => self.visible(&name.name),
        }
    }

    /// The table of this name.
    #[cfg(test)]
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.visible(name)?.table()
    }

    /// The sequence that a name means; SQLSTATE 42P01, 3F000, 42809.
    pub(crate) fn find_sequence(&self, name: &ObjectName) -> Result<&Arc<Sequence>> {
        match self.relation(name) {
            Some(Relation::Sequence(sequence)) => Ok(sequence),
            Some(_) => {
                let message = format!("\"{}\" is not a sequence", name.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            None => Err(self.no_relation(name)),
        }
    }

    /// SQLSTATE 42P01, or 3F000 where there is no such schema.
    pub(crate) fn no_relation(&self, name: &ObjectName) -> Error {
        match &name.schema {
            Some(schema) if self.schema(schema).is_none() && schema != "pg_catalog" => no_schema(schema),
            _ => Error::undefined_relation(name),
        }
    }

    /// The type that a name means, of those that users made; SQLSTATE 3F000. `looked`: hears where it is looked for, and what
    /// is found there.
    pub(crate) fn user_type(
        &self,
        schema: Option<&str>,
        name: &str,
        looked: impl Fn(ObjectId, Option<&Arc<UserType>>),
    ) -> Result<Option<&Arc<UserType>>> {
        let look = |schema: ObjectId| {
            let found = self.type_in(schema, name);
            looked(schema, found);
            found
        };
        match schema {
            Some("pg_catalog" | "information_schema") => Ok(None),
            Some(schema) => Ok(look(self.schema(schema).ok_or_else(|| no_schema(schema))?)),
            None => Ok(self.searched.iter().find_map(|schema| look(*schema))),
        }
    }

    /// What the names of types that users made mean, for who reads a type's name.
    pub(crate) fn users_types(&self) -> impl Fn(Option<&str>, &str) -> Result<Option<DataType>> {
        |schema, name| match self.user_type(schema, name, |_, _| {})? {
            Some(of) if of.domain().is_some() => Err(Error::unsupported("a domain in this place")),
            of => Ok(of.map(|of| of.data_type)),
        }
    }

    /// A type's name as SQL would say it here: with its schema where another would be found without.
    pub(crate) fn shown_type(&self, of: &UserType) -> String {
        let found = self.searched.iter().find_map(|schema| self.type_in(*schema, &of.name));
        if DataType::from_name(&of.name).is_none() && found.is_some_and(|found| found.id == of.id) {
            return quoted(&of.name);
        }
        format!("{}.{}", quoted(self.schema_name(of.schema).unwrap_or_default()), quoted(&of.name))
    }

    /// What kind of relation a name means.
    pub fn relation_kind(&self, name: &ObjectName) -> Option<RelationKind> {
        self.relation(name).map(Relation::kind)
    }

    /// A relation's name as SQL would say it here: with its schema where another would be found without.
    pub fn shown(&self, schema: ObjectId, name: &str) -> String {
        let found = self.searched.iter().find(|searched| self.relation_in(**searched, name).is_some());
        if found == Some(&schema) {
            return quoted(name);
        }
        format!("{}.{}", quoted(self.schema_name(schema).unwrap_or_default()), quoted(name))
    }

    /// A function's name and argument types as SQL would say them here.
    pub(crate) fn shown_routine(&self, routine: &Routine) -> String {
        let types: Vec<&str> = routine.inputs().map(|input| input.type_name()).collect();
        format!("{}({})", self.routine_name(routine), types.join(","))
    }

    /// A function's name as SQL would say it here.
    pub(crate) fn routine_name(&self, routine: &Routine) -> String {
        let has = |schema: &&ObjectId| {
            let all = self.routines_in(**schema, &routine.name).iter().filter_map(|function| function.routine());
            all.into_iter().any(|known| known.argument_types() == routine.argument_types())
        };
        match self.searched.iter().find(has) == Some(&routine.schema) {
            true => quoted(&routine.name),
            false => {
                let schema = quoted(self.schema_name(routine.schema).unwrap_or_default());
                format!("{schema}.{}", quoted(&routine.name))
            }
        }
    }

    /// A table's name as SQL would say it here.
    pub fn table_name(&self, table: &Table) -> String {
        self.shown(table.schema, &table.name)
    }
}
