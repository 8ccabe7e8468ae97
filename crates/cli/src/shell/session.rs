//! A shell's session: the connection, where results go and how they look.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cairn_parser::TokenKind;
use cairndb::EvalContext;
use cairndb::schema::Schema;
use cairndb::{ClientCopy, Connection, Database, Error, Notifications, Options, Outcome, SqlState, split_script};

use super::open::{close, connected, may_only_read, open_file, open_or_wait};
use super::pager::Paged;
use super::statement::first_token;
use super::variables::{Variables, expanded};
use crate::args::ShellArgs;
use crate::copy::copy_out;
use crate::output::{Expanded, Format, Grid, Style, shown, write_grid, write_rows};
use crate::report::{Failure, say, warn};
use crate::signals::Interrupts;
use crate::system;

/// How long the tags of a script's statements may wait for others before they are written out together.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// What a database that takes nothing says to what is to be written.
const READ_ONLY: SqlState = SqlState::READ_ONLY_SQL_TRANSACTION;

/// The name of a database that lives in memory only.
pub const IN_MEMORY: &str = ":memory:";

/// See the module's description.
pub struct Session {
    database: Database,
    connection: Connection,
    /// What the channels tell to which it listens.
    notifications: Notifications,
    name: String,
    /// `None`: in memory.
    file: Option<PathBuf>,
    out: Box<dyn Write>,
    to_terminal: bool,
    /// Results go to a file or a command.
    redirected: bool,
    flushed: Instant,
    pub style: Style,
    pub timing: bool,
    /// How long the last statement took, until it is told.
    took: Option<Duration>,
    interrupts: Interrupts,
    quitting: bool,
    /// What `\set` set.
    pub variables: Variables,
    /// The statement that ran last, for `\g`, `\e` and `\watch` without another.
    last: Option<String>,
    /// Long results go through a pager.
    pub pager: bool,
    /// After `\restrict`: what `\unrestrict` has to say.
    pub restricted: Option<String>,
    /// A script is being run, which nobody typed.
    pub in_script: bool,
    /// It is what standard input gives.
    pub reads_stdin: bool,
    /// As databases are opened; 0: as they like.
    cache_bytes: usize,
    /// The file that is made when something is to be written. Until then there is an empty database, which takes nothing.
    unmade: Option<PathBuf>,
    /// What failed last.
    failed: Option<Failure>,
}

impl Session {
    /// Opens the database and takes over Ctrl-C.
    pub fn open(args: &ShellArgs, interactive: bool) -> Result<Session, Failure> {
        let file = args.file.as_deref().filter(|file| *file != Path::new(IN_MEMORY));
        let options = Options::default().read_only(args.read_only).cache_bytes(args.cache_bytes);
        let (database, unmade) = match file {
            Some(path) if args.read_only => (open_file(path, options)?, None),
            Some(path) => open_or_wait(path, options)?,
            None => (Database::open_in_memory_with(options)?, None),
        };
        let connection = connected(&database, unmade.is_some())?;
        let interrupts = Interrupts::default();
        interrupts.install(connection.interrupt_handle(), interactive);
        let style = Style {
            format: args.format,
            header: !args.no_header,
            null: args.null.clone(),
            // Who looks at it is shown what the screen has room for.
            expanded: if interactive { Expanded::Auto } else { Expanded::Off },
            terminal_columns: None,
        };
        let name = name_of(file);
        let notifications = connection.notifications();
        let mut session = Session {
            database,
            connection,
            notifications,
            name,
            file: file.map(Path::to_path_buf),
            out: Box::new(io::sink()),
            to_terminal: false,
            redirected: false,
            flushed: Instant::now(),
            style,
            timing: false,
            took: None,
            interrupts,
            quitting: false,
            variables: Variables::default(),
            last: None,
            pager: interactive,
            restricted: None,
            in_script: false,
            reads_stdin: false,
            cache_bytes: args.cache_bytes,
            unmade,
            failed: None,
        };
        session.write_to_stdout();
        Ok(session)
    }

    /// Ends the session; what a checkpoint at the end could not do is an error.
    pub fn close(mut self) -> Result<(), Failure> {
        self.out.flush()?;
        if self.connection.in_transaction() {
            warn("WARNING:  the transaction that was still open is rolled back");
        }
        drop(self.connection);
        close(self.database)
    }

    /// Goes on with another database; the one that was open is closed.
    pub fn reopen(&mut self, file: Option<&Path>) -> Result<(), Failure> {
        let file = file.filter(|file| *file != Path::new(IN_MEMORY));
        let (database, unmade) = match file {
            Some(path) => open_or_wait(path, Options::default().cache_bytes(self.cache_bytes))?,
            None => (Database::open_in_memory()?, None),
        };
        self.go_on_with(database, unmade.is_some())?;
        (self.name, self.file, self.unmade) = (name_of(file), file.map(Path::to_path_buf), unmade);
        Ok(())
    }

    /// Makes the file that waits for something to be written, if one does.
    pub fn make_file(&mut self) -> Result<(), Failure> {
        let Some(path) = self.unmade.clone() else { return Ok(()) };
        self.go_on_with(open_file(&path, Options::default().cache_bytes(self.cache_bytes))?, false)?;
        self.unmade = None;
        Ok(())
    }

    fn go_on_with(&mut self, database: Database, is_unmade: bool) -> Result<(), Failure> {
        let connection = connected(&database, is_unmade)?;
        if self.connection.in_transaction() {
            warn("WARNING:  the transaction that was still open is rolled back");
        }
        self.interrupts.watch(connection.interrupt_handle());
        self.notifications = connection.notifications();
        self.connection = connection;
        close(std::mem::replace(&mut self.database, database))
    }

    /// Which database is open, in words.
    pub fn place(&self) -> String {
        match (&self.file, &self.unmade) {
            (None, _) => format!("The database \"{}\" is in memory.", self.name),
            (Some(file), None) => {
                let file = file.canonicalize().unwrap_or_else(|_| file.clone());
                format!("The database \"{}\" is the file \"{}\".", self.name, shown(&file.to_string_lossy()))
            }
            (Some(file), Some(_)) => format!(
                "The database \"{}\" will be the file \"{}\", which is made when something is written.",
                self.name,
                shown(&file.to_string_lossy())
            ),
        }
    }

    /// What failed last.
    pub fn last_failure(&self) -> Option<&Failure> {
        self.failed.as_ref()
    }

    /// Keeps what failed.
    pub fn note_failure(&mut self, failure: &Failure) {
        if matches!(failure, Failure::Sql { .. }) {
            self.failed = Some(failure.clone());
        }
    }

    /// The statement that ran last.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The schema as the connection sees it.
    pub fn schema(&self) -> Result<Schema, Failure> {
        Ok(self.connection.schema()?)
    }

    /// What the prompt calls the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that is open; none where the database is in memory.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// How long work notices Ctrl-C.
    pub fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    /// `\q` was given.
    pub fn quitting(&self) -> bool {
        self.quitting
    }

    pub fn quit(&mut self) {
        self.quitting = true;
    }

    /// Results go to a file from now on.
    pub fn write_to_file(&mut self, path: &Path) -> Result<(), Failure> {
        let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
        self.out.flush()?;
        self.out = Box::new(BufWriter::new(file));
        (self.to_terminal, self.redirected) = (false, true);
        Ok(())
    }

    /// Results go to a command of the operating system's shell from now on.
    pub fn write_to_command(&mut self, command: &str) -> Result<(), Failure> {
        let child = system::command(command).stdin(Stdio::piped()).spawn();
        let child = child.map_err(|error| Failure::Message(format!("{command}: {error}")))?;
        self.out.flush()?;
        self.out = Box::new(BufWriter::new(Piped(child)));
        (self.to_terminal, self.redirected) = (false, true);
        Ok(())
    }

    /// Results go to standard output from now on.
    pub fn write_to_stdout(&mut self) {
        // What is lost here was already reported: every statement flushes.
        let _ = self.out.flush();
        (self.to_terminal, self.redirected) = (io::stdout().is_terminal(), false);
        self.out = Box::new(BufWriter::new(io::stdout()));
    }

    /// Writes out what waits.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.flushed = Instant::now();
        Ok(self.out.flush()?)
    }

    /// The connection, and where results go.
    pub fn connection_and_out(&mut self) -> (&Connection, &mut dyn Write) {
        (&self.connection, self.out.as_mut())
    }

    /// What text forms depend on: the session's time zone and styles.
    pub fn context(&self) -> EvalContext {
        self.connection.text_context()
    }

    /// Runs the statements of `text` and writes what they return. That a statement without rows was run, nobody but a
    /// terminal need hear at once: it may wait for [`Session::flush`], which whoever waits for input calls before.
    pub fn execute(&mut self, text: &str) -> Result<(), Failure> {
        let text = &*expanded(text, &self.variables);
        self.last = Some(text.to_string());
        // (Which `\;` makes, and nobody need look for where no semicolon is.)
        let is_several = text.trim_end_matches(';').contains(';') && split_script(text).nth(1).is_some();
        let is_wanted = |file: &PathBuf| is_several || !may_only_read(text) || file.exists();
        if self.unmade.as_ref().is_some_and(is_wanted) {
            self.make_file()?;
        }
        match ClientCopy::of(text) {
            None => {}
            Some(ClientCopy::Out) => return self.copy_out(text),
            Some(ClientCopy::In) => {
                let message = "COPY FROM STDIN takes its data from a script; here use \\copy ... FROM file";
                return Err(Failure::Message(message.to_string()));
            }
        }
        let started = Instant::now();
        self.style.terminal_columns = self.terminal_columns();
        let mut failure = None;
        let mut has_rows = false;
        let screen = self.paged_screen();
        let mut looked = Duration::ZERO;
        let (out, style, connection) = (self.out.as_mut(), &self.style, &self.connection);
        let mut each = |outcome: &mut Outcome<'_>| {
            has_rows |= outcome.rows().is_some();
            let written = write_outcome(out, outcome, style, &connection.text_context(), screen);
            written.map(|waited| looked += waited).map_err(|error| stop_for(error, &mut failure))
        };
        let result = {
            let _running = self.interrupts.run();
            if is_several { run_together(connection, text, &mut each) } else { connection.run(text, &mut each) }
        };
        if self.unmade.is_some() && result.as_ref().is_err_and(|error| error.sqlstate() == READ_ONLY) {
            // It writes, although it did not look so.
            self.make_file()?;
            return self.execute(text);
        }
        self.took = Some(started.elapsed().saturating_sub(looked));
        self.tell_notifications()?;
        if self.to_terminal || has_rows || result.is_err() || self.flushed.elapsed() >= FLUSH_INTERVAL {
            self.flush()?;
        }
        result.map_err(|error| failure.unwrap_or_else(|| Failure::sql(error, text)))
    }

    /// What was heard until now. The formats for programs have data alone.
    fn tell_notifications(&mut self) -> Result<(), Failure> {
        for told in self.notifications.drain() {
            let line = shown(&told.to_string());
            match self.style.format == Format::Table && self.style.header {
                true => writeln!(self.out, "{line}")?,
                false => warn(&line),
            }
        }
        Ok(())
    }

    /// Says how long the statement took, where that is wanted: behind its result, or behind why it failed, and not among
    /// results that go elsewhere.
    pub fn tell_time(&mut self) -> Result<(), Failure> {
        let Some(took) = self.took.take().filter(|_| self.timing) else { return Ok(()) };
        let line = format!("Time: {:.3} ms", took.as_secs_f64() * 1e3);
        if self.redirected { say(line) } else { self.say(&line) }
    }

    /// Runs what takes its time beside statements, and notes how long it took; Ctrl-C stops it.
    pub fn timed<T>(&mut self, run: impl FnOnce(&mut Session) -> Result<T, Failure>) -> Result<T, Failure> {
        let (started, interrupts) = (Instant::now(), self.interrupts.clone());
        let done = {
            let _running = interrupts.run();
            run(self)
        };
        self.took = Some(started.elapsed());
        done
    }

    /// Runs a COPY FROM STDIN with its data.
    pub fn copy_in(&mut self, text: &str, data: impl Read) -> Result<(), Failure> {
        let copied =
            |session: &mut Session| session.connection.copy_in(text, data).map_err(|error| Failure::sql(error, text));
        let count = self.timed(copied)?;
        match self.style.format == Format::Table && self.style.header {
            true => Ok(writeln!(self.out, "COPY {count}")?),
            false => Ok(()),
        }
    }

    /// Runs a COPY TO STDOUT: where results go.
    fn copy_out(&mut self, text: &str) -> Result<(), Failure> {
        self.timed(|session| {
            copy_out(&session.connection, text, session.out.as_mut())?;
            Ok(session.out.flush()?)
        })
    }

    /// Writes a result of the shell's own.
    pub fn show(&mut self, grid: Grid) -> Result<(), Failure> {
        self.style.terminal_columns = self.terminal_columns();
        let mut text = Vec::new();
        write_grid(&mut text, &grid, &self.style)?;
        self.page(&text)
    }

    /// Writes a text of the shell's own.
    pub fn say_long(&mut self, text: &str) -> Result<(), Failure> {
        self.page(format!("{text}\n").as_bytes())
    }

    fn page(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.out.flush()?;
        match self.paged_screen() {
            Some(screen) => {
                let mut paged = Paged::new(self.out.as_mut(), screen);
                paged.write_all(text)?;
                paged.finish()?;
            }
            None => self.out.write_all(text)?,
        }
        Ok(self.out.flush()?)
    }

    /// The screen, where what does not fit goes through a pager.
    fn paged_screen(&self) -> Option<(usize, usize)> {
        self.screen().filter(|_| self.pager && self.style.format == Format::Table)
    }

    /// Writes a line of the shell's own.
    pub fn say(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.out, "{line}")?;
        Ok(self.out.flush()?)
    }

    fn terminal_columns(&self) -> Option<usize> {
        self.screen().map(|(_, columns)| columns)
    }

    /// Lines and columns of the terminal that results go to.
    fn screen(&self) -> Option<(usize, usize)> {
        // The system is asked, which takes longer than many a statement.
        let (lines, columns) = self.to_terminal.then(|| console::Term::stdout().size_checked())??;
        Some((lines.into(), columns.into()))
    }
}

/// A command that results go to; it is waited for.
struct Piped(Child);

impl Write for Piped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.stdin.as_mut().map_or(Ok(bytes.len()), |input| input.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // The end of its input is what it waits for.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn name_of(file: Option<&Path>) -> String {
    file.and_then(Path::file_stem).map_or("memory".into(), |stem| shown(&stem.to_string_lossy()))
}

/// Runs statements that `\;` joined: all of them, or none. (Where they themselves say where a transaction begins and ends, that holds.)
fn run_together(
    connection: &Connection,
    text: &str,
    each: &mut dyn FnMut(&mut Outcome<'_>) -> cairndb::Result<()>,
) -> cairndb::Result<()> {
    let controls = |statement: &str| {
        use TokenKind::{Abort, Begin, Commit, End, Prepare, Release, Rollback, Savepoint, Start};

        let first = first_token(statement);
        matches!(first, Some(Abort | Begin | Commit | End | Prepare | Release | Rollback | Savepoint | Start))
    };
    if connection.in_transaction() || split_script(text).any(|one| controls(one.text)) {
        return connection.run(text, each);
    }
    connection.execute("BEGIN", ())?;
    match connection.run(text, each) {
        Ok(()) => connection.execute("COMMIT", ()).map(drop),
        Err(error) => {
            // What failed is what has to be told.
            let _ = connection.execute("ROLLBACK", ());
            Err(error)
        }
    }
}

/// Keeps a failure to write for later and gives the error that stops the script.
fn stop_for(error: Failure, failure: &mut Option<Failure>) -> Error {
    match error {
        Failure::Sql { error, .. } => error,
        other => {
            *failure = Some(other);
            Error::internal("the result could not be written")
        }
    }
}

/// Writes what a statement gave. Gives how long somebody who looked at it was waited for.
fn write_outcome(
    out: &mut dyn Write,
    outcome: &mut Outcome<'_>,
    style: &Style,
    context: &EvalContext,
    screen: Option<(usize, usize)>,
) -> Result<Duration, Failure> {
    for notice in outcome.notices() {
        out.flush()?;
        warn(format_args!("{}", shown(&notice.to_string())));
    }
    match (outcome.rows(), screen) {
        (Some(rows), Some(screen)) if !rows.is_endless() => {
            out.flush()?;
            let mut paged = Paged::new(out, screen);
            let written = write_rows(&mut paged, rows, style, context);
            let is_left = paged.is_left();
            let waited = paged.finish()?;
            match written {
                // Who leaves it early has seen enough; that the query failed is told to him, too.
                Err(Failure::BrokenPipe) if is_left => outcome.leave_rows(),
                written => written?,
            }
            Ok(waited)
        }
        (Some(rows), _) => write_rows(out, rows, style, context).map(|()| Duration::ZERO),
        // The other formats are for programs, which want data alone.
        (None, _) if style.format == Format::Table && style.header => {
            writeln!(out, "{}", outcome.tag())?;
            Ok(Duration::ZERO)
        }
        (None, _) => Ok(Duration::ZERO),
    }
}
