//! Backups for other processes, and from them.

use std::path::Path;

use super::Database;
use crate::session::request_backup;
use crate::{Error, Result, SqlState};

impl Database {
    /// From now on, until it is closed, this database answers other processes that ask for a backup: `cairn backup FILE TARGET`
    /// and [`Database::request_backup`](crate::Database::request_backup). A thread waits for them at a socket beside the file (`FILE-socket`), which only
    /// this process's user can reach. Commits do not notice; a copy that is made reads a snapshot, as
    /// [`backup_to`](crate::Database::backup_to) does.
    ///
    /// A database that answers already goes on. SQLSTATE 0A000 on Windows and for databases in memory, 55000 for one that was
    /// opened for reading (others can read it, too), 58030 where no socket can be made (a folder without permission to write, a
    /// file system without sockets), 58P02 where a file of that name is something else.
    ///
    /// ```
    /// # if cfg!(windows) { return Ok(()) }
    /// use cairndb::Database;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (folder.path().join("app.cairn"), folder.path().join("copy.cairn"));
    /// let database = Database::open(&path)?;
    /// database.connect()?.execute_script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")?;
    /// database.answer_backups()?;
    /// // In another process, or `cairn backup app.cairn copy.cairn`:
    /// Database::request_backup(&path, &copy, |_bytes| {})?;
    /// let (count,): (i64,) = Database::open(&copy)?.connect()?.query_row_as("SELECT count(*) FROM t", ())?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn answer_backups(&self) -> Result<()> {
        if self.shared.options.read_only {
            let error = Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "a database that is opened for reading answers no requests for backups",
            );
            return Err(error.with_hint("Another process can open it for reading meanwhile, and copy it."));
        }
        self.shared.store.process().check()?;
        self.shared.backup_answers.begin(&self.shared.store)
    }

    /// Has the process that has the database open make a copy of it in the new file `target`, which belongs to this process;
    /// `progress` hears of the bytes copied so far. The copy is consistent, and has its name once it is whole.
    ///
    /// SQLSTATE 55006 where nobody answers: the process has not called [`Database::answer_backups`](crate::Database::answer_backups) (the shell does), or it is
    /// gone. 42501 where it is another user's. 58030 where it ended or closed the database meanwhile.
    pub fn request_backup(
        path: impl AsRef<Path>,
        target: impl AsRef<Path>,
        mut progress: impl FnMut(u64),
    ) -> Result<()> {
        request_backup(path.as_ref(), target.as_ref(), &mut progress)
    }
}
