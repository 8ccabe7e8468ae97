//! What a server serves: a database that is open, or those of a folder.

use cairndb::{Database, Error};

use crate::folder::{Folder, Lease, OWN, is_own, no_database};

pub(crate) enum Databases {
    One(Database),
    Folder(Box<Folder>),
}

impl Databases {
    /// The database of a name, for who is authenticated. `own`: what clients call the one. SQLSTATE 3D000.
    pub(crate) fn lease(&self, name: &str, own: &str) -> Result<Lease, Error> {
        match self {
            Databases::Folder(folder) => folder.lease(name),
            Databases::One(database) if [own, "postgres", "cairndb"].contains(&name) => Ok(database.clone().into()),
            Databases::One(_) => {
                let hint = format!("This server has \"{own}\", also by the name of postgres.");
                Err(no_database(name).with_hint(hint))
            }
        }
    }

    /// The one name of what has several.
    pub(crate) fn name<'n>(&self, name: &'n str, own: &'n str) -> &'n str {
        match self {
            Databases::One(_) => own,
            Databases::Folder(_) if is_own(name) => OWN,
            Databases::Folder(_) => name,
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
