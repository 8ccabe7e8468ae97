//! What who serves statements to others asks of a connection beside what a program does: a statement whose parameters have types
//! that are said before, what settings have become.

use super::{Connection, Params, Statement};
use crate::Result;
use crate::session::{Executed, SettingsSeen};
use crate::types::DataType;

impl Connection {
    /// Runs one statement, whatever it is: see [`Statement::perform`].
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut done = conn.perform("CREATE TABLE t (id int)", ())?;
    /// assert_eq!((done.command(), done.affected(), done.take_rows().is_none()), ("CREATE TABLE", 0, true));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn perform(&self, sql: &str, params: impl Params) -> Result<Executed> {
        self.session.perform(sql, &params)
    }

    /// Prepares one statement, whose first parameters have these types; [`DataType::Unknown`]: what the statement says.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let statement = conn.prepare_typed("SELECT $1", &[DataType::Date])?;
    /// assert_eq!(statement.columns()[0].data_type, DataType::Date);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn prepare_typed(&self, sql: &str, types: &[DataType]) -> Result<Statement<'_>> {
        Ok(Statement::of(&self.session, self.session.prepare_typed(sql, types)?))
    }

    /// The type of this number in `pg_type`; of a domain, the type that it rests on.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// assert_eq!(conn.type_of_oid(23)?, Some(cairndb::DataType::Integer));
    /// assert_eq!(conn.type_of_oid(0)?, None);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn type_of_oid(&self, oid: u32) -> Result<Option<DataType>> {
        self.session.type_of_oid(oid)
    }

    /// These settings, as `SHOW` says them, if any setting has changed since the last call with the same `seen`.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// let mut seen = cairndb::SettingsSeen::default();
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), Some(vec!["UTC".to_owned()]));
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), None);
    /// conn.execute("SET timezone = 'Europe/Rome'", ())?;
    /// assert_eq!(conn.changed_settings(&["timezone"], &mut seen), Some(vec!["Europe/Rome".to_owned()]));
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn changed_settings(&self, names: &[&str], seen: &mut SettingsSeen) -> Option<Vec<String>> {
        self.session.changed_settings(names, seen)
    }

    /// Fails the open transaction, if there is one, as a statement that fails does.
    ///
    /// ```
    /// let conn = cairndb::Database::open_in_memory()?.connect()?;
    /// conn.execute("BEGIN", ())?;
    /// conn.fail_transaction();
    /// assert!(conn.transaction_failed());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn fail_transaction(&self) {
        self.session.state.borrow().fail();
    }
}

impl DataType {
    /// PostgreSQL's modifier of the type (`atttypmod`): -1 where it has none.
    ///
    /// ```
    /// use cairndb::DataType;
    ///
    /// assert_eq!(DataType::Varchar(Some(20)).type_modifier(), 24);
    /// assert_eq!(DataType::Integer.type_modifier(), -1);
    /// ```
    pub fn type_modifier(self) -> i32 {
        self.typmod()
    }
}
