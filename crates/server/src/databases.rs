//! What a server serves: a database that is open, or those of a folder.

use cairndb::{Database, Error, Stats};

use crate::folder::{Folder, Lease, OWN, OWN_ALIAS, is_own, no_database};

pub(crate) enum Databases {
    One(Database),
    Folder(Box<Folder>),
}

impl Databases {
    /// The database of a name, for who is authenticated. SQLSTATE 3D000.
    pub(crate) fn lease(&self, name: &str) -> Result<Lease, Error> {
        match self {
            Databases::Folder(folder) => folder.lease(name),
            Databases::One(database) if [database.name(), OWN_ALIAS].contains(&name) => Ok(database.clone().into()),
            Databases::One(database) => {
                let hint = format!("This server has \"{}\", also by the name of postgres.", database.name());
                Err(no_database(name).with_hint(hint))
            }
        }
    }

    /// The one name of what has several.
    pub(crate) fn name<'n>(&'n self, name: &'n str) -> &'n str {
        match self {
            Databases::One(database) if name == OWN_ALIAS => database.name(),
            Databases::One(_) => name,
            Databases::Folder(_) if is_own(name) => OWN,
            Databases::Folder(_) => name,
        }
    }

    /// All that there are: the name, the bytes of its files, and what it has counted, if it is open.
    pub(crate) fn listed(&self) -> Vec<(String, u64, Option<Stats>)> {
        match self {
            Databases::Folder(folder) => folder.listed(),
            Databases::One(database) => vec![(database.name().to_owned(), 0, Some(database.stats()))],
        }
    }

    /// The folder, where it is one.
    pub(crate) fn folder(&self) -> Option<&Folder> {
        match self {
            Databases::Folder(folder) => Some(folder),
            Databases::One(_) => None,
        }
    }

    /// One that is open as long as the server.
    pub(crate) fn lasting(&self) -> &Database {
        match self {
            Databases::One(database) => database,
            Databases::Folder(folder) => folder.own(),
        }
    }
}
