//! A session does what a statement of the server's says: only in the server's own database.

use std::fmt::Display;
use std::time::{Duration, Instant};

use cairndb::{Connection, Error, Notice, SqlState};

use crate::database_statement::{DatabaseStatement, refuse_system};
use crate::folder::{Folder, OWN};
use crate::line::Line;
use crate::log::Level;
use crate::session::{Session, ceilings, reads_only};

/// How long sessions may take to end that are in the way of DROP DATABASE .. (FORCE), and how often it is looked.
const FORCE_TIME: Duration = Duration::from_secs(5);
const FORCE_LOOK_TIME: Duration = Duration::from_millis(20);

impl Session<'_> {
    /// Whether it is a statement of the server's and not the database's; where there is no folder, none is.
    pub(crate) fn of_server(&self, text: &str) -> Result<Option<DatabaseStatement>, Error> {
        refuse_system(text)?;
        self.shared.databases.folder().map_or(Ok(None), |_| DatabaseStatement::of(text))
    }

    /// The tag of a statement of the server's, which is done; `None`: it is another's. What fails fails the open transaction, as everything
    /// does.
    pub(crate) fn done_by_server(&self, line: &mut Line, text: &str) -> Result<Option<String>, Error> {
        let done = self.of_server(text).and_then(|statement| {
            let done = statement.map(|statement| self.run_of_server(line, &statement));
            done.transpose()
        });
        done.inspect_err(|_| self.connection.fail_transaction())
    }

    /// Does what a statement of the server's says; its tag.
    fn run_of_server(&self, line: &mut Line, statement: &DatabaseStatement) -> Result<String, Error> {
        let tag = statement.tag();
        let who = &self.place.entry.who;
        let folder = self.shared.databases.folder().filter(|_| *who.database == *OWN);
        let folder = folder.ok_or_else(|| {
            let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{tag} in this database is not supported"));
            error.with_hint(format!("Connect to the database {OWN}, which is the server's own."))
        })?;
        if reads_only(self.options, &who.user) {
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to run {tag}")));
        }
        if self.connection.in_transaction() {
            let message = format!("{tag} cannot run inside a transaction block");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        match statement {
            DatabaseStatement::Create { name } => folder.create(name)?,
            DatabaseStatement::Rename { name, to } => {
                self.shared.let_go(name, false);
                folder.rename(name, to)?;
            }
            DatabaseStatement::Set { name, setting, words } => {
                folder.set(name, setting, &self.value_by(words, setting)?)?;
            }
            DatabaseStatement::SetFromCurrent { name, setting } => {
                folder.set(name, setting, &shown(self.connection, setting)?)?;
            }
            DatabaseStatement::Reset { name, setting } => folder.reset(name, setting.as_deref())?,
            DatabaseStatement::Drop { name, if_exists, force } => {
                self.shared.let_go(name, false);
                let dropped = if *force { self.drop_by_force(folder, name) } else { folder.drop_database(name) };
                match dropped {
                    Err(error) if *if_exists && error.sqlstate() == SqlState::INVALID_CATALOG_NAME => {
                        let message = format!("{}, skipping", error.message());
                        let code = SqlState::SUCCESSFUL_COMPLETION;
                        line.conversation.notice(&Notice { severity: "NOTICE", code, message, detail: None });
                    }
                    dropped => dropped?,
                }
            }
        }
        let [name, more] = statement.told();
        let all: [(_, &dyn Display); 3] = [("statement", &tag), (name.0, &name.1), (more.0, &more.1)];
        self.log(Level::Info, "database", if more.1.is_empty() { &all[..2] } else { &all });
        Ok(tag.to_owned())
    }

    /// What a setting is when SET has given it a value by these words, under the ceilings that sessions have.
    fn value_by(&self, words: &str, setting: &str) -> Result<String, Error> {
        let lasting = self.shared.databases.lasting();
        let ceilings = ceilings(self.options, lasting, &self.place.entry.who.user);
        let other = lasting.connect_within(&ceilings, &[])?;
        other.perform(&format!("SET {words}"), ())?;
        shown(&other, setting)
    }

    /// Ends the sessions that are in the way, for a while.
    fn drop_by_force(&self, folder: &Folder, name: &str) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            match folder.drop_database(name) {
                Err(error) if error.sqlstate() == SqlState::OBJECT_IN_USE && begun.elapsed() < FORCE_TIME => {
                    self.shared.registry.end_of_database(name);
                    self.shared.let_go(name, true);
                    std::thread::sleep(FORCE_LOOK_TIME);
                }
                dropped => return dropped,
            }
        }
    }
}

/// A setting as SHOW tells it.
fn shown(connection: &Connection, setting: &str) -> Result<String, Error> {
    connection.query_row_as("SELECT current_setting($1)", (setting,))
}
