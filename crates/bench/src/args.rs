//! The command line.
//!
//! Workloads may be named with or without `run` before them. An option of a single workload stands under that workload's
//! heading in the help; to add one, add a field with `help_heading` to [`Args`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::engine::Kind;
use crate::workload::{ALL, Mode, TxMode, Workload};

/// CairnDB beside the embedded databases that people would pick instead, in one run on this machine
#[derive(Debug, Parser)]
#[command(name = "cairn-bench", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(max_term_width = 120, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Option<Args>,
}

/// What was asked for.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Measure these workloads (`run` may be left out)
    #[command(arg_required_else_help = true)]
    Run(Box<Args>),
    /// Draw reports again from the JSON lines that --json wrote
    #[command(arg_required_else_help = true)]
    Report(ReportArgs),
    /// Say what changed between two runs beyond noise
    ///
    /// What is compared is CairnDB's ratio to SQLite (or to the medium's floor) within each run. Exit codes: 0 no regression
    /// beyond the limit, 1 at least one, 2 a file could not be read.
    #[command(arg_required_else_help = true)]
    Compare(CompareArgs),
    /// Fail if CairnDB has become slower than a stored baseline of its ratios to SQLite: a small fixed run
    Check(CheckArgs),
    /// Count the instructions that operations take, and compare with another build (needs valgrind)
    ///
    /// Exit codes: 0 no operation beyond the limit, 1 at least one, or something failed.
    Count(CountArgs),
    /// Measure the medium, by write sizes, sync methods, kinds of space and threads, and recommend settings
    Sync(SyncArgs),
    /// Drive a server of documents over HTTP by a mix of creates, reads, replacements and deletes, beside a bare handler
    ///
    /// The environment's CAIRN_TOKEN is a token that lets read, write and manage. Where there is a CAIRN_JWT, it is what workers show.
    /// Exit codes: 0 all was answered, 1 something was refused or failed.
    #[command(arg_required_else_help = true)]
    Documents(DocumentsArgs),
}

/// Whom to drive, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct DocumentsArgs {
    /// The server, as http://127.0.0.1:8080
    #[arg(long, value_name = "URL", required_unless_present = "library")]
    pub url: Option<String>,
    /// Measure the library instead, with so many documents: finding by an indexed path beside a point SELECT, and what rules hide beside
    /// what is not there
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>, conflicts_with_all = ["url", "bare", "streams"])]
    pub library: Option<u64>,
    /// A rule of the collections: what lets list, view and create
    #[arg(long, value_name = "SQL")]
    pub rule: Option<String>,
    /// A bare handler to measure beside, round by round
    #[arg(long, value_name = "URL")]
    pub bare: Option<String>,
    /// The databases (comma-separated), which must be there
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "library")]
    pub databases: Vec<String>,
    /// The collection in each, which is made if it is not there
    #[arg(long, value_name = "NAME", default_value = "load")]
    pub collection: String,
    /// Connections of each database (comma-separated: one after the other)
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "10", value_parser = at_least_one::<usize>)]
    pub workers: Vec<usize>,
    /// Shares of reads, creates, replacements, deletes
    #[arg(long, value_name = "SHARES", default_value = "40,30,20,10", value_parser = shares)]
    pub mix: [u32; 4],
    /// Measure change streams instead: one, and so many at a time, of the first database
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    pub streams: Option<u64>,
    /// Length of a document
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    pub bytes: usize,
    /// Length of a round
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = positive)]
    pub seconds: f64,
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one::<usize>)]
    pub rounds: usize,
}

fn shares(text: &str) -> Result<[u32; 4], String> {
    let each: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    let each: Option<[u32; 4]> = each.ok().and_then(|each| each.try_into().ok());
    each.filter(|each| each.iter().any(|share| *share > 0))
        .ok_or_else(|| "expected four numbers, as 40,30,20,10".to_owned())
}

/// What to check against.
#[derive(Debug, Clone, clap::Args)]
pub struct CheckArgs {
    /// A folder on disk; the data goes into a new folder in it, removed at the end
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Another baseline than the one built in
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write a new baseline from this run instead
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub write: Option<PathBuf>,
}

/// What to count, and whom to compare with.
#[derive(Debug, Clone, clap::Args)]
pub struct CountArgs {
    /// Only operations whose names hold one of these words
    #[arg(value_name = "WORDS")]
    pub operations: Vec<String>,
    /// Another build of this program, whose counts these are compared with
    #[arg(long, value_name = "PROGRAM")]
    pub against: Option<PathBuf>,
    /// Percent by which an operation may take more
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = positive)]
    pub limit: f64,
    /// A folder for the data, which goes into a new folder in it, removed at the end
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Only do what is counted from outside, this many times
    #[arg(long, requires = "times")]
    pub plain: bool,
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one::<i64>)]
    pub times: i64,
}

/// Where to measure a medium.
#[derive(Debug, Clone, clap::Args)]
pub struct SyncArgs {
    /// A folder on the medium; files go into a new folder in it, removed at the end
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Length of each of the 75 probes
    #[arg(long, value_name = "S", default_value_t = 0.2, value_parser = positive)]
    pub seconds: f64,
}

/// What to draw.
#[derive(Debug, Clone, clap::Args)]
pub struct ReportArgs {
    /// JSON lines, one run each; of a measure that several have, the last file's is shown
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write a page with charts that needs nothing but itself
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the chart of ratios to SQLite as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Of the picture: only measures whose "WORKLOAD on MEDIUM MEASURE" holds one of these words (comma-separated)
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub only: Vec<String>,
}

/// What to compare.
#[derive(Debug, Clone, clap::Args)]
pub struct CompareArgs {
    /// JSON lines of the run before
    pub old: PathBuf,
    /// JSON lines of the run after
    pub new: PathBuf,
    /// Percent by which a measure may be worse
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = positive)]
    pub limit: f64,
}

/// What to measure, where, and how long.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[arg(value_name = "WORKLOAD", required = true, value_parser = workload_names())]
    names: Vec<String>,
    /// Small sizes, to see that everything works; the numbers mean little
    #[arg(long)]
    pub quick: bool,
    /// A folder on disk; the data goes into a new folder in it, removed at the end
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// A folder on a memory file system, for instance /dev/shm; without it only the disk is measured
    #[arg(long, value_name = "DIR")]
    pub tmpfs: Option<PathBuf>,
    /// Write everything that was measured, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page with charts that needs nothing but itself
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Sample our own stacks during the run and draw them as a flame graph
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// Only these engines (comma-separated)
    #[arg(long, value_name = "ENGINES", value_delimiter = ',', value_parser = Kind::parse_name)]
    pub engines: Option<Vec<&'static str>>,
    /// Rounds per engine [default: 5, with --quick 2]
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>)]
    pub rounds: Option<usize>,
    /// Rows in the table
    #[arg(long, value_name = "N", value_parser = at_least_one::<i64>)]
    pub rows: Option<i64>,
    /// Commits (or reads) per round
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    pub commits: Option<u64>,
    /// Length of timed runs
    #[arg(long, value_name = "S", value_parser = positive)]
    pub seconds: Option<f64>,
    /// Of the keys
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Threads that commit [default: 32; of short: one after the other 1, 2 and 8 in memory, 1 and 32 on disk]
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>)]
    #[arg(help_heading = "Options of concurrent and short")]
    pub threads: Option<usize>,
    /// Commits that may wait for the medium at a time
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = at_least_one::<usize>)]
    #[arg(help_heading = "Options of pipelined")]
    pub window: usize,
    /// Only this of the three
    #[arg(long, value_enum, help_heading = "Options of kv")]
    pub mode: Option<Mode>,
    /// Where reads are done: on their own, or through the transaction that writes
    #[arg(long, value_enum, default_value = "commit", help_heading = "Options of kv")]
    pub tx_mode: TxMode,
    /// Inserts (or reads) in a transaction
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one::<u64>)]
    #[arg(help_heading = "Options of kv")]
    pub commit_every: u64,
    /// Entries
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>, help_heading = "Options of kv")]
    pub docs: Option<u64>,
    /// TPC-H's scale factor; 1 is about a gigabyte [default: 0.1, with --quick 0.01]
    #[arg(long, value_name = "S", value_parser = positive, help_heading = "Options of analytics")]
    pub scale: Option<f64>,
    /// Only this size of log
    #[arg(long, value_name = "MIB", value_parser = at_least_one::<u64>, help_heading = "Options of recovery")]
    pub log_mib: Option<u64>,
    /// The engines' cache; the data is 4 times that [default: 64, with --quick 8]
    #[arg(long, value_name = "MIB", value_parser = at_least_one::<u64>, help_heading = "Options of memory")]
    pub cache_mib: Option<u64>,
    /// Only do what is measured from outside: by a trace (syscalls), after a kill (recovery), of a process (memory)
    #[arg(long, help_heading = "Options of syscalls, recovery, memory")]
    pub plain: bool,
    /// The words that reach this program from its executable, before its arguments.
    #[arg(skip)]
    pub reached_by: Vec<String>,
    /// The words of the command line.
    #[arg(skip)]
    pub words: Vec<String>,
}

impl Args {
    /// The workloads that were named, in the program's order.
    pub fn workloads(&self) -> impl Iterator<Item = &'static Workload> {
        let named = |name: &str| self.names.iter().any(|wanted| wanted == name || wanted == "all");
        ALL.iter().filter(move |workload| named(workload.name))
    }

    /// The ordinary size, or the small one for `--quick`.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Rounds of an ordinary workload.
    pub fn rounds(&self) -> usize {
        self.rounds.unwrap_or(self.size(5, 2))
    }
}

/// Reads the arguments that follow `name`; wrong usage and help end the process, with exit codes 2 and 0.
pub fn read(name: &[&str], words: impl Iterator<Item = OsString>) -> Command {
    parse(name, words).unwrap_or_else(|error| error.exit())
}

fn parse(name: &[&str], words: impl Iterator<Item = OsString>) -> Result<Command, clap::Error> {
    let words: Vec<OsString> = words.collect();
    let called: OsString = name.join(" ").into();
    let matches = command(name).try_get_matches_from(std::iter::once(called).chain(words.iter().cloned()))?;
    let cli = Cli::from_arg_matches(&matches)?;
    let usage = || command(name).error(clap::error::ErrorKind::MissingSubcommand, "name a workload or a command");
    let mut command = cli.command.or(cli.run.map(|args| Command::Run(Box::new(args)))).ok_or_else(usage)?;
    if let Command::Run(args) = &mut command {
        args.words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        args.reached_by = name.iter().skip(1).map(|word| word.to_string()).collect();
    }
    Ok(command)
}

/// The arguments of a run that the program itself asks for.
pub fn measure_args(words: &[String]) -> crate::Result<Args> {
    match parse(&["cairn-bench"], words.iter().map(OsString::from))? {
        Command::Run(args) => Ok(*args),
        _ => Err(format!("not a run: {}", words.join(" ")).into()),
    }
}

fn command(name: &[&str]) -> clap::Command {
    Cli::command().bin_name(name.join(" ")).after_help(workloads_help())
}

fn workload_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALL.iter().map(|workload| workload.name).chain(["all"]))
}

fn workloads_help() -> String {
    let lines = ALL.iter().map(|workload| format!("  {:<12} {}\n", workload.name, workload.about));
    format!("Workloads:\n{}  {:<12} every one of them, in this order", lines.collect::<String>(), "all")
}

fn at_least_one<T: std::str::FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number: T = text.parse().map_err(|_| "not a whole number that it can take".to_string())?;
    if number >= T::from(1) { Ok(number) } else { Err("must be at least 1".to_string()) }
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if number > 0.0 && number < 1e6 { Ok(number) } else { Err("must be positive".to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<Args, clap::Error> {
        match parse(&["cairn-bench"], text.split_whitespace().map(OsString::from))? {
            Command::Run(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        command(&["cairn", "bench"]).debug_assert();
    }

    #[test]
    fn workloads_run_in_the_programs_order_with_and_without_the_word_run() {
        for text in ["read commit --quick --rounds 3", "run read commit --quick --rounds 3"] {
            let args = run(text).unwrap();
            let names: Vec<_> = args.workloads().map(|workload| workload.name).collect();
            assert_eq!(names, ["commit", "read"]);
            assert_eq!((args.rounds(), args.size(2, 1)), (3, 1));
            assert_eq!(args.words.join(" "), text);
        }
    }

    #[test]
    fn engines_are_separated_by_commas() {
        assert_eq!(run("read --engines sqlite,redb").unwrap().engines, Some(vec!["sqlite", "redb"]));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "walk",
            "commit --rounds",
            "commit --rounds x",
            "commit --rows 0",
            "--fast",
            "read --engines oracle",
            "stalls --seconds -1",
            "run",
            "compare old.json",
            "report",
            "",
        ] {
            assert!(run(text).is_err(), "{text}");
        }
    }
}
