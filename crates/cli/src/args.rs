//! The command line's arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use cairn_complete::first_words;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::console::ConsoleArgs;
use crate::documents::{Export, Ndjson};
use crate::output::Format;
use crate::serve::ServeArgs;
use crate::token::TokenCommand;

/// An embedded SQL database: shell and tools.
///
/// Without statements, -c, -f or a pipe on standard input, `cairn FILE` is an interactive shell; \? lists its commands.
#[derive(Debug, Parser)]
#[command(name = "cairn", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "Exit codes: 0 success, 1 a statement or command failed, 2 wrong usage, 3 a script failed,\n\
                        4 a salvage saved what it could, and something is lost or uncertain; an import left something out.\n\
                        A file named as a subcommand is written with its folder: ./stats")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub shell: ShellArgs,
}

/// How the shell runs.
#[derive(Debug, Args)]
pub struct ShellArgs {
    /// Database file, created if it does not exist; without it (or as :memory:) the database is in memory
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Run these statements and exit, as -c does
    #[arg(value_name = "SQL")]
    pub statements: Vec<String>,
    /// Run these statements (or one backslash command) and exit; may be repeated and mixed with -f
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    pub commands: Vec<String>,
    /// Run the statements and backslash commands of a file and exit; - is standard input
    #[arg(short = 'f', long = "script", value_name = "SCRIPT")]
    pub scripts: Vec<PathBuf>,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write rows without column names (and, in tables, without the row count)
    #[arg(long)]
    pub no_header: bool,
    /// What is shown for NULL in tables
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub null: String,
    /// Refuse every change; the file may be on read-only media
    #[arg(long)]
    pub read_only: bool,
    /// Memory for pages, as 512MB or 4GB; without it a quarter of what there is (SHOW cache_bytes)
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "0", hide_default_value = true)]
    pub cache_bytes: usize,
    /// Do not run ~/.cairnrc (or the file that CAIRNRC names), which an interactive shell runs first
    #[arg(short = 'X', long)]
    pub no_rc: bool,
    /// Go on with a script after a statement that failed
    #[arg(long)]
    pub keep_going: bool,
    /// Run all of -c and -f in one transaction: all of it, or nothing
    #[arg(short = '1', long, conflicts_with = "keep_going")]
    pub single_transaction: bool,
}

/// What a cache may have.
pub fn size(text: &str) -> Result<usize, String> {
    match bytes(text)? {
        bytes @ 1.. if bytes < CACHE_MIN => Err(format!("a cache has at least {} kB", CACHE_MIN >> 10)),
        bytes => Ok(bytes),
    }
}

/// Bytes, or a number with a unit, as settings have it.
pub fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        _ => return Err("a size is a number with B, kB, MB, GB or TB".to_string()),
    };
    let bytes = text[..digits].parse().ok().and_then(|number: usize| number.checked_mul(1 << unit));
    bytes.ok_or_else(|| "a size is a number with B, kB, MB, GB or TB".to_string())
}

/// 64 of the largest pages, so that any database opens with it.
const CACHE_MIN: usize = 64 * 32_768;

/// Everything but the shell.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load an example into a new database file with durable commits, and answer a question from it
    Demo(DemoArgs),
    /// Check every page, checksum and order of a database, and its indexes against their tables; the file is only read
    Verify {
        file: PathBuf,
        /// Check every row against NOT NULL, CHECK constraints and foreign keys, too
        #[arg(long)]
        constraints: bool,
    },
    /// Copy a database to a new file, consistently; of a folder each database, to a new folder
    Backup { file: PathBuf, target: PathBuf },
    /// Give free space in a database file back to the file system
    Compact { file: PathBuf },
    /// Bring another database's file, or documents, into a database
    #[command(subcommand)]
    Import(Import),
    /// Write a collection's documents, one JSON object a line
    Export(Export),
    /// Write a database as a script that cairn and psql load
    Dump {
        file: PathBuf,
        /// Write to a new file instead of standard output
        #[arg(short, long, value_name = "SCRIPT")]
        output: Option<PathBuf>,
        /// Definitions only, no rows
        #[arg(long)]
        schema_only: bool,
    },
    /// Show a query's result that stays current, until Ctrl-C
    ///
    /// On a terminal it is a table that changes in place; elsewhere every change is a line: + a row that came, - one that went,
    /// ~ one that is another now. What changes the rows runs in the same process: the statements of standard input, if it is
    /// no terminal. The watching ends with them.
    Watch {
        file: PathBuf,
        #[arg(value_name = "SELECT")]
        query: String,
        /// How lines are written: table is text with tabs
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Save what is left of a damaged database into a new file, and say what is not
    ///
    /// The damaged file is only read. Indexes are made anew. What is lost is told by table and key. Rows of which it can
    /// not be told whether they were deleted or never committed go to TARGET-uncertain, a database that says so of each.
    Salvage { file: PathBuf, target: PathBuf },
    /// Serve a database file to PostgreSQL's clients, until SIGINT or SIGTERM
    ///
    /// The user who owns the file comes in over the Unix socket beside it, without a password; nobody else, unless --listen and
    /// --users say so.
    Serve(ServeArgs),
    /// Look at a database in a browser of this machine: tells an address, and serves it until Ctrl-C
    ///
    /// The address is good once, for ten minutes; the session that it begins ends with the command. What another process serves is looked at there.
    Console(ConsoleArgs),
    /// Make, list and revoke tokens, which let programs ask a server over HTTP
    #[command(subcommand)]
    Token(TokenCommand),
    /// Show the storage engine's counters and the tables' sizes
    Stats { file: PathBuf },
    /// Write what has a shell complete these arguments: cairn completions bash > ~/.local/share/bash-completion/completions/cairn
    Completions { shell: clap_complete::Shell },
    /// Write a manual page for each command into a folder, for man: cairn man ~/.local/share/man/man1
    Man { folder: PathBuf },
    /// Measure CairnDB beside other embedded databases, in a full build (feature `bench`)
    #[command(disable_help_flag = true)]
    Bench {
        /// What `cairn bench --help` explains
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        words: Vec<OsString>,
    },
}

/// What is imported.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// A SQLite file as a new database: schema, rows, indexes, views; and what is not as it was
    Sqlite {
        file: PathBuf,
        /// The new database file
        into: PathBuf,
        /// Names keep their capital letters, so that SQL has to quote them
        #[arg(long)]
        keep_case: bool,
    },
    /// What pg_dump wrote as a new database: schema, rows, functions, views; and what is not as it was
    ///
    /// A script is read as it is; pg_dump's other formats through PostgreSQL's own pg_restore, which has to be installed.
    Postgres {
        /// The script, archive or folder that pg_dump made
        dump: PathBuf,
        /// The new database file
        into: PathBuf,
    },
    /// JSON documents, one a line, as a collection: all of them or none
    ///
    /// A member _id is the document's id. What export writes is read again so.
    Ndjson(Ndjson),
}

/// What the demo loads and where to.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder with schema.sql, data.sql and questions.sql
    pub example: PathBuf,
    /// The new database file [default: the folder's name with .cairn, in the current folder]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// One of the texts to run, in the order of the command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    Statements(String),
    Script(PathBuf),
}

/// Reads the arguments; wrong usage ends the process with exit code 2.
pub fn read() -> (Cli, Vec<Input>) {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Some(mistaken) = cli.shell.file.as_deref().and_then(mistaken) {
        Cli::command().error(ErrorKind::InvalidValue, mistaken).exit();
    }
    let inputs = in_order(&matches, &cli.shell);
    (cli, inputs)
}

/// What is wrong with a name of a file that is not there, where it is a statement or nearly a command rather than a name.
fn mistaken(file: &Path) -> Option<String> {
    let name = file.to_str().filter(|name| !name.contains(['.', '/', '\\', ':']) && !file.exists())?;
    if let Some((word, _)) = name.split_once(char::is_whitespace)
        && first_words().any(|first| first.eq_ignore_ascii_case(word))
    {
        return Some(format!(
            "{name:?} is a statement, and no file: it stands behind one, as in cairn :memory: {name:?}"
        ));
    }
    let cli = Cli::command();
    let commands = cli.get_subcommands().map(clap::Command::get_name);
    let distance = |command: &str| strsim::damerau_levenshtein(command, &name.to_ascii_lowercase());
    let near = commands.map(|command| (distance(command), command)).min()?;
    let meant = match near {
        _ if name.eq_ignore_ascii_case("version") => "--version",
        (1, command) if command.len() > 3 => command,
        (2, command) if command.len() > 5 => command,
        _ => return None,
    };
    Some(format!(
        "there is no command {name:?}; did you mean cairn {meant}? (A new database of that name is made by ./{name})"
    ))
}

fn in_order(matches: &ArgMatches, shell: &ShellArgs) -> Vec<Input> {
    let places = |name| matches.indices_of(name).into_iter().flatten().collect::<Vec<_>>();
    let statements = |texts: &[String]| texts.iter().cloned().map(Input::Statements).collect::<Vec<_>>();
    let scripts = shell.scripts.iter().cloned().map(Input::Script).collect();
    let named = [
        ("statements", statements(&shell.statements)),
        ("commands", statements(&shell.commands)),
        ("scripts", scripts),
    ];
    let mut inputs: Vec<(usize, Input)> =
        named.into_iter().flat_map(|(name, inputs)| places(name).into_iter().zip(inputs)).collect();
    inputs.sort_by_key(|(place, _)| *place);
    inputs.into_iter().map(|(_, input)| input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_is_no_files_name_is_told() {
        let said = |name: &str| mistaken(Path::new(name)).unwrap_or_default();
        assert!(said("verfy").contains("did you mean cairn verify?"));
        assert!(said("stat").contains("cairn stats?") && said("version").contains("cairn --version?"));
        assert!(said("select 1").contains("cairn :memory: \"select 1\""));
        for name in ["x", "data", "verfy.cairn", "./verfy", "my file", ":memory:", "tests"] {
            assert_eq!(said(name), "", "{name}");
        }
    }

    #[test]
    fn commands_and_scripts_run_in_the_order_given() {
        let matches = Cli::command().get_matches_from(["cairn", "x.cairn", "-f", "a", "-c", "b", "-f", "c"]);
        let cli = Cli::from_arg_matches(&matches).unwrap();
        let expected = [Input::Script("a".into()), Input::Statements("b".into()), Input::Script("c".into())];
        assert_eq!(in_order(&matches, &cli.shell), expected);
        let matches = Cli::command().get_matches_from(["cairn", "x.cairn", "select 1", "-c", "b", "stats"]);
        let cli = Cli::from_arg_matches(&matches).unwrap();
        let expected = ["select 1", "b", "stats"].map(|text| Input::Statements(text.into()));
        assert_eq!(in_order(&matches, &cli.shell), expected);
    }
}
