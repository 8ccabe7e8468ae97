//! A connection's own functions.

use std::sync::Arc;

use super::Connection;
use crate::catalog::SearchPath;
use crate::functions::own_rows;
use crate::functions::users::{self, UsersFunctions};
use crate::functions::{AggregateFunction, Arguments, FunctionOptions};
use crate::types::DataType;
use crate::{Error, Result, SqlState, Value};

impl Connection {
    /// Makes a Rust closure a function of SQL, for the statements of this connection. One of the same name and argument
    /// types is replaced; other argument types are another overload. In SQL the name is folded to lower case unless quoted.
    ///
    /// It belongs to the connection, not to the database: the file holds no code, and a closure may hold what only its
    /// maker knows. So a view, a CHECK or a default that would need it is refused (SQLSTATE 0A000): they are
    /// for everyone who opens the file. Arguments are converted as for built-in functions, and the answer has to be of the
    /// declared type (or NULL): another is an error of the statement (42804), as is a panic (38000). It may be called
    /// more often than there are rows (a statement that lost to another is run again), and never under the commit lock.
    ///
    /// ```
    /// use cairndb::{DataType, FunctionOptions};
    ///
    /// let database = cairndb::Database::open_in_memory()?;
    /// let connection = database.connect()?;
    /// connection.create_function(
    ///     "initials",
    ///     &[DataType::Text],
    ///     DataType::Text,
    ///     FunctionOptions::immutable(),
    ///     |arguments| {
    ///         let name: String = arguments.get(0)?;
    ///         Ok(name.split_whitespace().filter_map(|word| word.chars().next()).collect::<String>())
    ///     },
    /// )?;
    /// let initials: String = connection.query_row("SELECT initials('Grace Hopper')", (), |row| row.get(0))?;
    /// assert_eq!(initials, "GH");
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// 42723 where a built-in function has the name and the argument types, 42P13 where the name or a type cannot be, 25001
    /// within a transaction.
    pub fn create_function<R: Into<Value>>(
        &self,
        name: &str,
        arguments: &[DataType],
        returns: DataType,
        options: FunctionOptions,
        function: impl Fn(&Arguments<'_>) -> Result<R> + Send + Sync + 'static,
    ) -> Result<()> {
        let function = users::function(name, arguments, returns, options, function);
        self.change_functions(|functions| functions.add(function))
    }

    /// Makes a Rust type an aggregate of SQL, for the statements of this connection: `start` makes the state of a group.
    /// DISTINCT, FILTER and ORDER BY work as with any other. See [`Connection::create_function`] for the rest.
    ///
    /// ```
    /// use cairndb::{AggregateFunction, Arguments, DataType, Result, Value};
    ///
    /// struct Product(f64);
    ///
    /// impl AggregateFunction for Product {
    ///     fn step(&mut self, arguments: &Arguments<'_>) -> Result<()> {
    ///         self.0 *= arguments.get::<Option<f64>>(0)?.unwrap_or(1.0);
    ///         Ok(())
    ///     }
    ///     fn finish(&mut self) -> Result<Value> {
    ///         Ok(self.0.into())
    ///     }
    /// }
    ///
    /// let database = cairndb::Database::open_in_memory()?;
    /// let connection = database.connect()?;
    /// connection.create_aggregate("product", &[DataType::Double], DataType::Double, || Product(1.0))?;
    /// let product: f64 = connection.query_row("SELECT product(g) FROM generate_series(1, 5) g", (), |row| row.get(0))?;
    /// assert_eq!(product, 120.0);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Connection::create_function`].
    pub fn create_aggregate<A: AggregateFunction + 'static>(
        &self,
        name: &str,
        arguments: &[DataType],
        returns: DataType,
        start: impl Fn() -> A + Send + Sync + 'static,
    ) -> Result<()> {
        let aggregate = users::aggregate(name, arguments, returns, start);
        self.change_functions(|functions| functions.add_aggregate(aggregate))
    }

    /// Makes a Rust closure a function of SQL that returns rows, for the statements of this connection: a table in FROM, with these
    /// columns. The closure begins the rows of a call, which are pulled one after another, when a statement wants the next: what
    /// gives them may be endless, and is dropped with the statement, or when LIMIT has enough. See [`Connection::create_function`] for the
    /// rest: a row of another width or with a value of another type is an error of the statement (SQLSTATE 42804), as is a panic (38000);
    /// with a NULL for an argument there are no rows, unless it is [called on NULL](FunctionOptions::called_on_null). A live query over
    /// one is refused (0A000): nothing tells when its rows change.
    ///
    /// ```
    /// use cairndb::{DataType, FunctionOptions};
    ///
    /// let database = cairndb::Database::open_in_memory()?;
    /// let connection = database.connect()?;
    /// let columns = [("n", DataType::BigInt), ("square", DataType::BigInt)];
    /// connection.create_table_function("squares", &[DataType::BigInt], &columns, FunctionOptions::immutable(), |arguments| {
    ///     let from: i64 = arguments.get(0)?;
    ///     Ok((from..).map(|n| Ok(vec![n.into(), (n * n).into()])))
    /// })?;
    /// let squares = connection.query_as::<i64>("SELECT square FROM squares(3) LIMIT 3", ())?;
    /// assert_eq!(squares.collect::<Result<Vec<_>, _>>()?, [9, 16, 25]);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Connection::create_function`].
    pub fn create_table_function<I>(
        &self,
        name: &str,
        arguments: &[DataType],
        columns: &[(&str, DataType)],
        options: FunctionOptions,
        begin: impl Fn(&Arguments<'_>) -> Result<I> + Send + Sync + 'static,
    ) -> Result<()>
    where
        I: IntoIterator<Item = Result<Vec<Value>>>,
        I::IntoIter: Send + 'static,
    {
        let function = own_rows::table_function(name, arguments, columns, options, begin)?;
        self.change_functions(|functions| functions.add(function))
    }

    /// Takes back a function or an aggregate of this connection's own; whether there was one.
    ///
    /// # Errors
    ///
    /// 25001 within a transaction.
    ///
    /// ```
    /// # let db = cairndb::Database::open_in_memory()?;
    /// # let conn = db.connect()?;
    /// use cairndb::{Arguments, DataType, FunctionOptions};
    ///
    /// let twice = |arguments: &Arguments<'_>| Ok(arguments.get::<i64>(0)? * 2);
    /// conn.create_function("twice", &[DataType::BigInt], DataType::BigInt, FunctionOptions::immutable(), twice)?;
    /// conn.remove_function("twice", &[DataType::BigInt])?;
    /// assert!(conn.execute("SELECT twice(1)", ()).is_err());
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn remove_function(&self, name: &str, arguments: &[DataType]) -> Result<bool> {
        self.change_functions(|functions| Ok(functions.remove(name, arguments)))
    }

    /// A search path of another identity: what was planned under the one before is planned anew.
    fn change_functions<T>(&self, change: impl FnOnce(&mut UsersFunctions) -> Result<T>) -> Result<T> {
        let mut state = self.session.state_mut()?;
        if state.transaction.is_some() {
            let message = "functions cannot be created or removed inside a transaction";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let path = &state.settings.search_path;
        let mut functions = UsersFunctions::clone(&path.functions);
        let changed = change(&mut functions)?;
        let path = SearchPath { functions: Arc::new(functions), ..SearchPath::clone(path) };
        Arc::make_mut(&mut state.settings).search_path = Arc::new(path);
        Ok(changed)
    }
}
