//! What sessions of a database begin with: what ALTER DATABASE .. SET has said.
//!
//! It is kept in the server's own database, in a table that is made when something is said for the first time; what it holds is read
//! when the server starts, and known from then on. Values are as SHOW tells them.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use cairndb::{Connection, Database, Error, SqlState};

const TABLE: &str = "server.database_settings";
const MAKE: &str = "CREATE SCHEMA IF NOT EXISTS server;
    CREATE TABLE IF NOT EXISTS server.database_settings
        (database text, setting text, value text NOT NULL, PRIMARY KEY (database, setting))";

type Settings = Vec<(String, String)>;

pub(crate) struct KeptSettings {
    own: Database,
    known: RwLock<HashMap<String, Settings>>,
}

impl KeptSettings {
    /// Those that the server's own database has.
    pub(crate) fn read(own: &Database) -> Result<KeptSettings, Error> {
        let kept = KeptSettings { own: own.clone(), known: RwLock::default() };
        kept.learn(&own.connect()?)?;
        Ok(kept)
    }

    /// What the sessions of a database begin with.
    pub(crate) fn of(&self, database: &str) -> Settings {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(database).cloned().unwrap_or_default()
    }

    pub(crate) fn set(&self, database: &str, setting: &str, value: &str) -> Result<(), Error> {
        let connection = self.own.connect()?;
        connection.execute_script(MAKE)?;
        let insert = format!(
            "INSERT INTO {TABLE} VALUES ($1, $2, $3) ON CONFLICT (database, setting) DO UPDATE SET value = excluded.value"
        );
        connection.execute(&insert, (database, setting, value))?;
        self.learn(&connection)
    }

    /// `None`: all of the database's.
    pub(crate) fn reset(&self, database: &str, setting: Option<&str>) -> Result<(), Error> {
        if self.of(database).is_empty() {
            return Ok(());
        }
        let connection = self.own.connect()?;
        let delete = format!("DELETE FROM {TABLE} WHERE database = $1 AND ($2::text IS NULL OR setting = $2)");
        connection.execute(&delete, (database, setting))?;
        self.learn(&connection)
    }

    /// They are another database's from now on, which had none.
    pub(crate) fn rename(&self, database: &str, to: &str) -> Result<(), Error> {
        if self.of(database).is_empty() {
            return Ok(());
        }
        let connection = self.own.connect()?;
        connection.execute(&format!("UPDATE {TABLE} SET database = $2 WHERE database = $1"), (database, to))?;
        self.learn(&connection)
    }

    fn learn(&self, connection: &Connection) -> Result<(), Error> {
        let query = format!("SELECT database, setting, value FROM {TABLE} ORDER BY 1, 2");
        let rows = match connection.query_as::<(String, String, String)>(&query, ()) {
            Err(error) if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(&error.sqlstate()) => {
                return Ok(());
            }
            rows => rows?,
        };
        let mut known: HashMap<String, Settings> = HashMap::new();
        for row in rows {
            let (database, setting, value) = row?;
            known.entry(database).or_default().push((setting, value));
        }
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_stays_until_it_is_taken_back() {
        let own = Database::open_in_memory().unwrap();
        let kept = KeptSettings::read(&own).unwrap();
        let pair = |setting: &str, value: &str| (setting.to_owned(), value.to_owned());
        kept.reset("shop", None).unwrap();
        kept.set("shop", "work_mem", "1MB").unwrap();
        kept.set("shop", "work_mem", "2MB").unwrap();
        kept.set("shop", "a.b", "x").unwrap();
        kept.set("other", "a.b", "y").unwrap();
        let again = KeptSettings::read(&own).unwrap();
        assert_eq!(again.of("shop"), [pair("a.b", "x"), pair("work_mem", "2MB")]);
        again.reset("shop", Some("a.b")).unwrap();
        again.rename("shop", "store").unwrap();
        assert_eq!((again.of("shop"), again.of("store")), (vec![], vec![pair("work_mem", "2MB")]));
        again.reset("store", None).unwrap();
        assert_eq!((again.of("store"), again.of("other")), (vec![], vec![pair("a.b", "y")]));
    }
}
