//! What depends on what, and what goes when something is dropped: PostgreSQL's rules over PostgreSQL's graph.
//!
//! The edges are those that binding wrote into the objects' entries: a view's and a default's references, the columns of
//! checks, keys and indexes, the owner of a sequence. What is *automatic* goes with what it depends on without a word; what
//! is *normal* keeps it from being dropped, unless CASCADE is said. The order in which dependents are told is PostgreSQL's:
//! the search goes from newer to older ones, and is told backwards.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{
    Callee, Catalog, Column, Definition, ForeignKey, Index, ObjectId, Returns, Routine, Table, Trigger, Triggered,
    number_at, type_id,
};

/// What can be dropped, or depend on what is dropped. Parts of a table are named by it and an id or a column's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    Schema(ObjectId),
    Table(ObjectId),
    View(ObjectId),
    Sequence(ObjectId),
    /// A function or a procedure.
    Routine(ObjectId),
    Type(ObjectId),
    /// A condition of a domain.
    DomainCheck(ObjectId, ObjectId),
    /// A column by its number.
    Column(ObjectId, u32),
    /// A column's default.
    Default(ObjectId, u32),
    /// An index that no constraint made.
    Index(ObjectId, ObjectId),
    /// A UNIQUE constraint or a PRIMARY KEY, and its index.
    Key(ObjectId, ObjectId),
    Check(ObjectId, ObjectId),
    ForeignKey(ObjectId, ObjectId),
    Trigger(ObjectId, ObjectId),
}

/// An edge's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bond {
    Normal,
    Automatic,
}

/// All edges, by what they lead to.
struct Graph<'c> {
    catalog: &'c Catalog,
    edges: HashMap<Object, Vec<(Object, Bond)>>,
}

/// Something that goes, and what it was found by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doomed {
    pub(super) object: Object,
    /// Named by the statement.
    pub(super) named: bool,
    automatic: bool,
    found_by: Object,
}

impl Doomed {
    /// Whether it is told, and keeps the rest from being dropped without CASCADE.
    pub(super) fn is_told(&self) -> bool {
        !self.named && !self.automatic
    }

    /// `view v depends on table t`
    pub(super) fn line(&self, catalog: &Catalog) -> String {
        let on = match (self.object, self.found_by) {
            // A foreign key rests on the index of a key, not on the constraint.
            (Object::ForeignKey(..), Object::Key(..)) => {
                format!("index {}", constraint_name(catalog, self.found_by))
            }
            _ => self.found_by.describe(catalog),
        };
        format!("{} depends on {on}", self.object.describe(catalog))
    }
}

/// Everything that goes with `targets`, in the order in which it is told.
pub(super) fn doomed(catalog: &Catalog, targets: &[Object]) -> Vec<Doomed> {
    let graph = Graph::of(catalog);
    let mut search = Search { graph: &graph, targets, path: Vec::new(), found: Vec::new(), places: HashMap::new() };
    targets.iter().for_each(|target| search.enter(*target, None));
    search.found.reverse();
    search.found
}

/// A search for all that goes.
struct Search<'g> {
    graph: &'g Graph<'g>,
    targets: &'g [Object],
    path: Vec<Object>,
    found: Vec<Doomed>,
    places: HashMap<Object, usize>,
}

impl Search<'_> {
    /// Depth first, newer dependents before older ones; what goes is entered behind what depends on it. Each thing is
    /// entered by the first way that leads to it, and is automatic if any does.
    fn enter(&mut self, object: Object, by: Option<(Object, Bond)>) {
        let automatic = by.is_some_and(|(_, bond)| bond == Bond::Automatic);
        if let Some(place) = self.places.get(&object) {
            self.found[*place].automatic |= automatic;
            return;
        }
        if self.path.contains(&object) {
            return;
        }
        self.path.push(object);
        let mut dependents = self.graph.dependents(object);
        dependents.sort_by_key(|(dependent, bond)| (Reverse(self.graph.age(*dependent)), *bond == Bond::Automatic));
        for (dependent, bond) in dependents {
            self.enter(dependent, Some((object, bond)));
        }
        self.path.pop();
        let found_by = by.map_or(object, |(found_by, _)| found_by);
        let named = by.is_none() || self.targets.contains(&object);
        self.places.insert(object, self.found.len());
        self.found.push(Doomed { object, named, automatic, found_by });
    }
}

/// The views whose query uses a column.
pub(super) fn views_using(catalog: &Catalog, table: ObjectId, number: u32) -> Vec<String> {
    let uses = |definition: &Definition| {
        definition.references().iter().any(|reference| {
            reference.object == table && reference.columns.iter().any(|column| column.number == number && column.used)
        })
    };
    let all = catalog.queries().filter(|(_, query)| uses(query));
    all.filter_map(|(relation, _)| catalog.place_of(relation))
        .map(|(schema, name)| catalog.shown(schema, name))
        .collect()
}

/// All definitions of a table.
pub(super) fn definitions_of(table: &Table) -> impl Iterator<Item = &Definition> {
    let defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
    let generated = table.columns.iter().filter_map(|column| column.generated.as_ref());
    let of_indexes = table.indexes.iter().flat_map(|index| index.row_expressions());
    let expressions = generated.chain(of_indexes).map(|expression| &expression.definition);
    defaults.chain(expressions).chain(table.checks.iter().map(|check| &check.condition))
}

impl<'c> Graph<'c> {
    fn of(catalog: &'c Catalog) -> Graph<'c> {
        let mut graph = Graph { catalog, edges: HashMap::new() };
        for view in catalog.views() {
            graph.add(Object::View(view.id), Bond::Normal, Object::Schema(view.schema));
            graph.add_references(Object::View(view.id), &view.query);
            graph.add_triggers(Object::View(view.id), &view.triggers);
            for (place, default) in &view.defaults {
                let object = Object::Default(view.id, number_at(*place));
                graph.add(object, Bond::Automatic, Object::View(view.id));
                graph.add_references(object, default);
            }
        }
        for routine in catalog.routines().filter_map(|function| function.routine()) {
            graph.add_routine(routine);
        }
        catalog.tables().for_each(|table| graph.add_table(table));
        for of in catalog.types() {
            graph.add(Object::Type(of.id), Bond::Normal, Object::Schema(of.schema));
            of.rests_on().for_each(|on| graph.add(Object::Type(of.id), Bond::Normal, Object::Type(on)));
            if let Some(domain) = of.domain() {
                domain.default.iter().for_each(|default| graph.add_references(Object::Type(of.id), default));
                for check in &domain.checks {
                    let object = Object::DomainCheck(of.id, check.id);
                    graph.add(object, Bond::Automatic, Object::Type(of.id));
                    graph.add_references(object, &check.condition);
                }
            }
        }
        for sequence in catalog.sequences() {
            graph.add(Object::Sequence(sequence.id), Bond::Normal, Object::Schema(sequence.schema));
            let owner = sequence.owner.and_then(|(table, column)| {
                Some(Object::Column(table, catalog.table_by_id(table)?.columns.get(column)?.number))
            });
            owner.into_iter().for_each(|owner| graph.add(Object::Sequence(sequence.id), Bond::Automatic, owner));
        }
        graph
    }

    fn add(&mut self, dependent: Object, bond: Bond, on: Object) {
        self.edges.entry(on).or_default().push((dependent, bond));
    }

    fn add_references(&mut self, dependent: Object, definition: &Definition) {
        for reference in definition.references() {
            let id = reference.object;
            let on = match () {
                () if self.catalog.table_by_id(id).is_some() => Object::Table(id),
                () if self.catalog.view_by_id(id).is_some() => Object::View(id),
                () if self.catalog.routine_by_id(id).is_some() => Object::Routine(id),
                () if self.catalog.type_by_id(id).is_some() => Object::Type(id),
                () => Object::Sequence(id),
            };
            self.add(dependent, Bond::Normal, on);
            for column in reference.columns.iter().filter(|column| column.used && !matches!(on, Object::Type(_))) {
                self.add(dependent, Bond::Normal, Object::Column(id, column.number));
            }
            let table = self.catalog.table_by_id(id).filter(|_| reference.by_key);
            if let Some(key) = table.and_then(|table| table.primary_key()) {
                self.add(dependent, Bond::Normal, Object::Key(id, key.id));
            }
        }
    }

    fn add_routine(&mut self, routine: &Routine) {
        let object = Object::Routine(routine.id);
        self.add(object, Bond::Normal, Object::Schema(routine.schema));
        if let Returns::RowOf(table) = routine.returns {
            self.add(object, Bond::Normal, Object::Table(table));
        }
        let rows = routine.parameters.iter().filter_map(|parameter| parameter.row_of);
        rows.for_each(|table| self.add(object, Bond::Normal, Object::Table(table)));
        routine.user_types().for_each(|of| self.add(object, Bond::Normal, Object::Type(of)));
        let callees = routine.aggregate.iter().flat_map(|parts| std::iter::once(parts.transition).chain(parts.last));
        for callee in callees {
            if let Callee::Routine(id) = callee {
                self.add(object, Bond::Normal, Object::Routine(id));
            }
        }
        let defaults = routine.parameters.iter().filter_map(|parameter| parameter.default.as_ref());
        defaults.for_each(|default| self.add_references(object, default));
    }

    fn add_table(&mut self, table: &Table) {
        let id = table.id;
        self.add(Object::Table(id), Bond::Normal, Object::Schema(table.schema));
        if let Some(materialized) = table.materialized() {
            self.add_references(Object::Table(id), &materialized.query);
        }
        for column in &table.columns {
            self.add_column(table, column);
        }
        let column =
            |position: usize| table.columns.get(position).map_or(Object::Table(id), |c| Object::Column(id, c.number));
        for index in table.all_indexes() {
            let object = Object::of_index(table, index);
            index.columns.iter().for_each(|part| self.add(object, Bond::Automatic, column(part.column)));
            index.included.iter().for_each(|&position| self.add(object, Bond::Automatic, column(position)));
            for expression in index.row_expressions() {
                let numbers = expression.columns.iter();
                numbers.for_each(|number| self.add(object, Bond::Automatic, Object::Column(id, *number)));
                self.add_references(object, &expression.definition);
            }
        }
        for check in &table.checks {
            let object = Object::Check(id, check.id);
            self.add(object, Bond::Automatic, Object::Table(id));
            check.columns.iter().for_each(|number| self.add(object, Bond::Automatic, Object::Column(id, *number)));
            self.add_references(object, &check.condition);
        }
        self.add_triggers(Object::Table(id), &table.triggers);
        for key in &table.foreign_keys {
            let object = Object::ForeignKey(id, key.id);
            key.columns.iter().for_each(|position| self.add(object, Bond::Automatic, column(*position)));
            self.add_foreign_key(object, key);
        }
    }

    /// Those of a table or a view.
    fn add_triggers(&mut self, on: Object, triggers: &[Arc<Trigger>]) {
        let (Object::Table(id) | Object::View(id)) = on else { return };
        for trigger in triggers {
            let object = Object::Trigger(id, trigger.id);
            self.add(object, Bond::Automatic, on);
            self.add(object, Bond::Normal, Object::Routine(trigger.routine));
            let used = trigger.known.iter().filter(|column| column.used).map(|column| column.number);
            for number in trigger.columns.iter().copied().chain(used) {
                self.add(object, Bond::Normal, Object::Column(id, number));
            }
        }
    }

    fn add_column(&mut self, table: &Table, column: &Column) {
        let own = Object::Column(table.id, column.number);
        // What depends on a column goes when its table does.
        self.add(own, Bond::Automatic, Object::Table(table.id));
        if let Some(id) = column.domain.or_else(|| type_id(column.data_type)) {
            self.add(own, Bond::Normal, Object::Type(id));
        }
        // PostgreSQL's: a column that is computed from one that goes does not go unsaid.
        for number in column.generated.iter().flat_map(|generated| &generated.columns) {
            self.add(own, Bond::Normal, Object::Column(table.id, *number));
        }
        column.generated.iter().for_each(|generated| self.add_references(own, &generated.definition));
        if let Some(default) = &column.default {
            let object = Object::Default(table.id, column.number);
            self.add(object, Bond::Automatic, own);
            self.add_references(object, default);
        }
    }

    fn add_foreign_key(&mut self, object: Object, key: &ForeignKey) {
        let Some(parent) = self.catalog.table_by_id(key.referenced_table) else { return };
        self.add(object, Bond::Normal, Object::Table(parent.id));
        for column in key.referenced_columns.iter().filter_map(|position| parent.columns.get(*position)) {
            self.add(object, Bond::Normal, Object::Column(parent.id, column.number));
        }
        if let Some(index) = parent.unique_index_of(&key.referenced_columns) {
            self.add(object, Bond::Normal, Object::of_index(parent, index));
        }
    }

    /// What depends on an object; on a table also what depends on its columns, as if it depended on the table, but for the
    /// columns themselves.
    fn dependents(&self, object: Object) -> Vec<(Object, Bond)> {
        let of = |object: &Object| self.edges.get(object).into_iter().flatten().copied();
        let Object::Table(id) = object else { return of(&object).collect() };
        let columns = self.catalog.table_by_id(id).into_iter().flat_map(|table| &table.columns);
        let of_columns = columns.flat_map(|column| of(&Object::Column(id, column.number)).collect::<Vec<_>>());
        let is_own = |(dependent, _): &(Object, Bond)| matches!(dependent, Object::Column(table, _) if *table == id);
        of(&object).chain(of_columns).filter(|edge| !is_own(edge)).collect()
    }

    /// Ids are given out in order.
    fn age(&self, object: Object) -> ObjectId {
        match object {
            Object::Schema(id) | Object::Table(id) | Object::View(id) | Object::Sequence(id) => id,
            Object::Routine(id) | Object::Type(id) | Object::DomainCheck(_, id) => id,
            Object::Column(table, _) | Object::Default(table, _) => table,
            Object::Index(_, id) | Object::Key(_, id) | Object::Check(_, id) | Object::ForeignKey(_, id) => id,
            Object::Trigger(_, id) => id,
        }
    }
}

impl Object {
    /// An index, or the constraint that made it.
    fn of_index(table: &Table, index: &Index) -> Object {
        if index.constraint { Object::Key(table.id, index.id) } else { Object::Index(table.id, index.id) }
    }

    /// As PostgreSQL's messages name it.
    pub(super) fn describe(self, catalog: &Catalog) -> String {
        let table = |id| catalog.table_by_id(id).map_or_else(String::new, |table| catalog.table_name(table));
        let kind = |id| match catalog.table_by_id(id).is_some_and(|table| table.is_materialized()) {
            true => "materialized view",
            false => "table",
        };
        let column = |id, number| {
            let table = catalog.table_by_id(id);
            let column = table.and_then(|table| table.columns.get(table.position_of_number(number)?));
            column.map_or_else(String::new, |column| column.name.clone())
        };
        match self {
            Object::Table(id) => format!("{} {}", kind(id), table(id)),
            Object::DomainCheck(id, check) => {
                let domain = catalog.type_by_id(id).and_then(|of| of.domain());
                let check = domain.and_then(|domain| domain.checks.iter().find(|known| known.id == check));
                format!("constraint {}", check.map_or("", |check| &check.name))
            }
            Object::Type(id) => {
                let of = catalog.type_by_id(id).map(|of| catalog.shown_type(of));
                format!("type {}", of.unwrap_or_default())
            }
            Object::Schema(id) => format!("schema {}", catalog.schema_name(id).unwrap_or_default()),
            Object::View(id) => {
                let view = catalog.view_by_id(id).map(|view| catalog.shown(view.schema, &view.name));
                format!("view {}", view.unwrap_or_default())
            }
            Object::Sequence(id) => {
                let sequence = catalog.sequence_by_id(id);
                let shown = sequence.map(|sequence| catalog.shown(sequence.schema, &sequence.name));
                format!("sequence {}", shown.unwrap_or_default())
            }
            Object::Routine(id) => {
                let routine = catalog.routine_by_id(id).and_then(|function| function.routine());
                routine.map_or_else(String::new, |routine| {
                    let noun = if routine.aggregate.is_some() { "function" } else { routine.noun() };
                    format!("{noun} {}", catalog.shown_routine(routine))
                })
            }
            Object::Column(id, number) => format!("column {} of {} {}", column(id, number), kind(id), table(id)),
            Object::Default(id, number) => match catalog.view_by_id(id) {
                Some(view) => {
                    let name = view.columns.iter().enumerate().find(|(at, _)| number_at(*at) == number);
                    let name = name.map_or("", |(_, name)| name);
                    format!("default value for column {name} of {}", Object::View(id).describe(catalog))
                }
                None => format!("default value for column {} of table {}", column(id, number), table(id)),
            },
            Object::Trigger(id, _) => {
                let on = if catalog.view_by_id(id).is_some() { Object::View(id) } else { Object::Table(id) };
                format!("trigger {} on {}", constraint_name(catalog, self), on.describe(catalog))
            }
            Object::Index(..) => format!("index {}", constraint_name(catalog, self)),
            Object::Key(id, _) | Object::Check(id, _) | Object::ForeignKey(id, _) => {
                format!("constraint {} on table {}", constraint_name(catalog, self), table(id))
            }
        }
    }
}

fn constraint_name(catalog: &Catalog, object: Object) -> String {
    let name = match object {
        Object::Key(table, id) | Object::Index(table, id) => {
            let table = catalog.table_by_id(table);
            table.and_then(|table| Some(&table.all_indexes().find(|index| index.id == id)?.name))
        }
        Object::Check(table, id) => {
            let table = catalog.table_by_id(table);
            table.and_then(|table| Some(&table.checks.iter().find(|check| check.id == id)?.name))
        }
        Object::ForeignKey(table, id) => {
            let table = catalog.table_by_id(table);
            table.and_then(|table| Some(&table.foreign_keys.iter().find(|key| key.id == id)?.name))
        }
        Object::Trigger(on, id) => {
            let on = catalog.relation_by_id(on).and_then(Triggered::of);
            on.and_then(|on| Some(&on.triggers().iter().find(|trigger| trigger.id == id)?.name))
        }
        _ => None,
    };
    name.cloned().unwrap_or_default()
}
