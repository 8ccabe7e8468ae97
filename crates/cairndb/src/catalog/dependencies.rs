//! What a plan rests on: the relations that its names meant, and the names that meant nothing.
//!
//! A plan was made of one version of the catalog. In another it is right as long as every name that was looked up for it means
//! the same relation, unchanged, and as long as what was not found where it was looked for first is still not there.
//! Each change of a relation's entry gets a number of its own, so that "unchanged" is a comparison of two numbers; numbers may come
//! back after a rollback, so they are compared between committed versions only.
//!
//! What changes rows rests on more than what it names: on the tables that its table's foreign keys point at, and on those
//! whose keys point at it, with all that goes on there.
//!
//! In a transaction the keys of those names in the catalog tree are noted as read: who changes one of these relations, or
//! makes one that would be found first, gets in its way, and nobody else does.

use std::ops::Bound;
use std::sync::Arc;

use cairn_storage::{Reader, TreeId};

use super::objects::{Catalog, Relation};
use super::store::{EntryKind, push_name_key, schemas_key, type_name_key};
use super::user_types::UserType;
use super::{ObjectId, ReferentialAction, Sequence, Table, View};
use crate::Result;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanDependencies(Vec<Dependency>);

#[derive(Clone, Debug)]
enum Dependency {
    Table(Arc<Table>),
    /// A table whose rows are changed.
    Written(Arc<Table>),
    View(Arc<View>),
    Sequence(Arc<Sequence>),
    Type(Arc<UserType>),
    /// The name of a type that there is not in a schema.
    MissingType(ObjectId, Box<str>),
    /// A name that means nothing in a schema.
    Missing(ObjectId, Box<str>),
    /// The functions of a name in a schema: their ids and changes.
    Routines(ObjectId, Box<str>, Vec<(ObjectId, u64)>),
    /// All of the schema.
    Everything,
}

impl PlanDependencies {
    pub(crate) fn add(&mut self, relation: &Relation) {
        self.0.push(match relation {
            Relation::Table(table) | Relation::Index(table, _) => Dependency::Table(table.clone()),
            Relation::View(view) => Dependency::View(view.clone()),
            Relation::Sequence(sequence) => Dependency::Sequence(sequence.clone()),
        });
    }

    /// The table that was found last is one whose rows are changed.
    pub(crate) fn add_written(&mut self, table: &Arc<Table>) {
        let is_it = |rest: &mut Dependency| matches!(rest, Dependency::Table(found) if Arc::ptr_eq(found, table));
        self.0.pop_if(is_it);
        self.0.push(Dependency::Written(table.clone()));
    }

    /// What the name of a type means in a schema.
    pub(crate) fn add_type(&mut self, schema: ObjectId, name: &str, found: Option<&Arc<UserType>>) {
        self.0.push(match found {
            Some(found) => Dependency::Type(found.clone()),
            None => Dependency::MissingType(schema, name.into()),
        });
    }

    pub(crate) fn add_missing(&mut self, schema: ObjectId, name: &str) {
        self.0.push(Dependency::Missing(schema, name.into()));
    }

    /// The functions of this name in a schema, or that there are none.
    pub(crate) fn add_routines(&mut self, schema: ObjectId, name: &str, catalog: &Catalog) {
        self.0.push(Dependency::Routines(schema, name.into(), routines(schema, name, catalog)));
    }

    pub(crate) fn append(&mut self, mut other: PlanDependencies) {
        self.0.append(&mut other.0);
    }

    pub(crate) fn add_everything(&mut self) {
        self.0.push(Dependency::Everything);
    }

    /// Whether a function of the schema's is among it.
    pub(crate) fn has_routines(&self) -> bool {
        self.0.iter().any(|rest| matches!(rest, Dependency::Routines(.., known) if !known.is_empty()))
    }

    /// Whether it is all of the schema.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.iter().any(|rest| matches!(rest, Dependency::Everything))
    }

    /// Whether one of the relations is the session's own.
    pub(crate) fn has_temporary(&self) -> bool {
        self.0.iter().any(|rest| match rest {
            Dependency::Table(table) | Dependency::Written(table) => table.is_temporary(),
            Dependency::View(view) => view.id.is_temporary(),
            Dependency::Sequence(sequence) => sequence.id.is_temporary(),
            Dependency::Type(_) | Dependency::MissingType(..) | Dependency::Missing(..) | Dependency::Routines(..) => {
                false
            }
            Dependency::Everything => false,
        })
    }

    /// The tables; those whose rows are changed, too, if they are asked for.
    pub(crate) fn tables(&self, written: bool) -> impl Iterator<Item = &Arc<Table>> {
        self.0.iter().filter_map(move |rest| match rest {
            Dependency::Table(table) => Some(table),
            Dependency::Written(table) => Some(table).filter(|_| written),
            _ => None,
        })
    }

    /// Whether rows of some table are changed.
    pub(crate) fn has_written(&self) -> bool {
        self.0.iter().any(|rest| matches!(rest, Dependency::Written(_)))
    }

    /// Whether every table whose rows are changed is the session's own.
    pub(crate) fn writes_only_temporary(&self) -> bool {
        self.0.iter().all(|rest| !matches!(rest, Dependency::Written(table) if !table.is_temporary()))
    }

    /// Whether a plan that was made under `then` is right under `now`.
    pub(crate) fn hold(&self, then: &Catalog, now: &Catalog) -> bool {
        let same = |rest: &Dependency| match rest {
            Dependency::Table(table) => is_same_table(table, now),
            // The view is known besides.
            Dependency::Written(face) if face.is_face() => true,
            Dependency::Written(table) => match now.table_by_id(table.id) {
                Some(found) => {
                    let (known, found) = (neighbours(table, then), neighbours(found, now));
                    known.len() == found.len() && known.iter().all(|table| is_same_table(table, now))
                }
                None => false,
            },
            Dependency::View(view) => match now.relation_in(view.schema, &view.name) {
                Some(Relation::View(found)) => (found.id, found.change) == (view.id, view.change),
                _ => false,
            },
            Dependency::Sequence(sequence) => match now.relation_in(sequence.schema, &sequence.name) {
                Some(Relation::Sequence(found)) => (found.id, found.change) == (sequence.id, sequence.change),
                _ => false,
            },
            Dependency::Type(of) => {
                now.type_in(of.schema, &of.name).is_some_and(|found| (found.id, found.change) == (of.id, of.change))
            }
            Dependency::MissingType(schema, name) => now.type_in(*schema, name).is_none(),
            Dependency::Missing(schema, name) => now.relation_in(*schema, name).is_none(),
            Dependency::Routines(schema, name, known) => routines(*schema, name, now) == *known,
            Dependency::Everything => false,
        };
        let comparable = then.is_committed() && now.is_committed() && then.has_schemas_of(now);
        comparable && self.0.iter().all(same)
    }

    /// The keys of the catalog tree that say what the plan rests on, one behind the other, each behind its length.
    pub(crate) fn keys(&self, catalog: &Catalog) -> Vec<u8> {
        let mut keys = Vec::with_capacity(64);
        let mut add_of = |kind: EntryKind, schema: ObjectId, name: &str| {
            let start = keys.len();
            keys.extend_from_slice(&[0; 2]);
            push_name_key(kind, schema, name, &mut keys);
            let length = u16::try_from(keys.len() - start - 2).unwrap_or(u16::MAX);
            keys[start..start + 2].copy_from_slice(&length.to_le_bytes());
        };
        for rest in &self.0 {
            if let Dependency::Routines(schema, name, _) = rest {
                add_of(EntryKind::RoutineName, *schema, name);
                continue;
            }
            let mut add = |schema: ObjectId, name: &str| add_of(EntryKind::Name, schema, name);
            match rest {
                Dependency::Routines(..) => {}
                Dependency::Table(table) => add(table.schema, &table.name),
                Dependency::Written(table) if table.foreign_keys.is_empty() && table.referenced_by.is_empty() => {
                    add(table.schema, &table.name);
                }
                Dependency::Written(table) => {
                    neighbours(table, catalog).iter().for_each(|table| add(table.schema, &table.name));
                }
                Dependency::View(view) => add(view.schema, &view.name),
                Dependency::Sequence(sequence) => add(sequence.schema, &sequence.name),
                Dependency::Type(of) => add(of.schema, &type_name_key(&of.name)),
                Dependency::MissingType(schema, name) => add(*schema, &type_name_key(name)),
                Dependency::Missing(schema, name) => add(*schema, name),
                // A comment that changes meanwhile makes nothing wrong that is written.
                // Who rests on that notes the whole tree.
                Dependency::Everything => {}
            }
        }
        keys
    }
}

fn routines(schema: ObjectId, name: &str, catalog: &Catalog) -> Vec<(ObjectId, u64)> {
    let all = catalog.routines_in(schema, name).iter().filter_map(|function| function.routine());
    all.map(|routine| (routine.id, routine.change)).collect()
}

/// Notes as read, in a transaction, the keys that a plan rests on, and, where that is asked for, which schemas there are.
pub(crate) fn note_keys(keys: &[u8], with_schemas: bool, reader: &Reader) -> Result<()> {
    let schemas = schemas_key();
    let first = with_schemas.then_some(&schemas[..]);
    Ok(reader.note_keys(TreeId::CATALOG, first.into_iter().chain(Keys(keys)))?)
}

/// Notes as read everything that the schema is.
pub(crate) fn note_all(reader: &Reader) -> Result<()> {
    Ok(reader.note_read(TreeId::CATALOG, Bound::Unbounded, Bound::Unbounded)?)
}

/// What [`PlanDependencies::keys`] put together.
struct Keys<'k>(&'k [u8]);

impl<'k> Iterator for Keys<'k> {
    type Item = &'k [u8];

    fn next(&mut self) -> Option<&'k [u8]> {
        let (length, rest) = self.0.split_first_chunk::<2>()?;
        let (key, behind) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        self.0 = behind;
        Some(key)
    }
}

fn is_same_table(table: &Table, now: &Catalog) -> bool {
    match now.relation_in(table.schema, &table.name) {
        Some(Relation::Table(found)) => {
            (found.id, found.change, found.analyzed) == (table.id, table.change, table.analyzed)
        }
        _ => false,
    }
}

/// The table, those that its foreign keys point at, those whose keys point at it, and so on from where these are changed
/// along.
fn neighbours(table: &Arc<Table>, catalog: &Catalog) -> Vec<Arc<Table>> {
    let mut found = Vec::with_capacity(1);
    let mut changed = vec![table.clone()];
    while let Some(table) = changed.pop() {
        let parents = table.foreign_keys.iter().filter_map(|key| catalog.table_by_id(key.referenced_table));
        for &(child, position) in &table.referenced_by {
            let Some(child) = catalog.table_by_id(child) else { continue };
            let follows = child.foreign_keys.get(position).is_some_and(|key| {
                let stops = |action| matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict);
                !(stops(key.on_delete) && stops(key.on_update))
            });
            match follows {
                true if !found.iter().chain(&changed).any(|known| Arc::ptr_eq(known, child)) => {
                    changed.push(child.clone());
                }
                true => {}
                false => found.push(child.clone()),
            }
        }
        found.extend(parents.cloned());
        found.push(table);
    }
    found
}
