//! `cairn demo`: loads an example into a new file, every statement a durable commit of its own, answers a question from
//! it, and says what one durable commit cost here.

use std::fs;
use std::io::stdout;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cairndb::EvalContext;
use cairndb::split_script;
use cairndb::{Connection, Database, Options};

use crate::args::DemoArgs;
use crate::maintenance::{plain_style, size, what_is_right};
use crate::output::write_rows;
use crate::place;
use crate::progress;
use crate::report::{Failure, say};
use crate::shell::open_file;

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let example = Example::read(&args.example)?;
    let file = args.file.clone().unwrap_or_else(|| example.default_file(&args.example));
    remove_earlier_run(&file, &example)?;
    say(format_args!("Loading {} into {}", args.example.display(), file.display()))?;
    let database = open_file(&file, Options::default())?;
    let connection = database.connect()?;
    let costs = load(&connection, &example)?;
    answer(&connection, &example)?;
    costs.tell(&place::medium(&file, database.sync_method()))?;
    let verified = database.verify()?;
    drop(connection);
    database.close()?;
    say(format_args!("Verified {}: {} ({})", file.display(), what_is_right(&verified), size(&file)?))?;
    say(format_args!("More questions: cairn {} -f {}", file.display(), args.example.join("questions.sql").display()))
}

/// The example's texts.
struct Example {
    schema: String,
    data: String,
    questions: String,
}

impl Example {
    fn read(folder: &Path) -> Result<Example, Failure> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| Failure::file(&path, &error))
        };
        Ok(Example { schema: text("schema.sql")?, data: text("data.sql")?, questions: text("questions.sql")? })
    }

    fn default_file(&self, folder: &Path) -> PathBuf {
        let name = folder.canonicalize().ok().and_then(|folder| Some(folder.file_name()?.to_owned()));
        Path::new(&name.unwrap_or_else(|| "demo".into())).with_extension("cairn")
    }

    fn statements(&self) -> Vec<&str> {
        split_script(&self.schema).chain(split_script(&self.data)).map(|statement| statement.text).collect()
    }
}

/// A file that an earlier run made is replaced; anything else is left alone.
fn remove_earlier_run(file: &Path, example: &Example) -> Result<(), Failure> {
    if !file.exists() {
        return Ok(());
    }
    if !is_earlier_run(file, example)? {
        let message = format!("{}: holds something else than this example; choose another --file", file.display());
        return Err(Failure::Message(message));
    }
    fs::remove_file(file).map_err(|error| Failure::file(file, &error))
}

/// The file is a database with this example's tables and no others. (Opening it for writing leaves it at rest: one
/// file, without a log.)
fn is_earlier_run(file: &Path, example: &Example) -> Result<bool, Failure> {
    let database = open_file(file, Options::default())?;
    let fresh = Database::open_in_memory()?;
    fresh.connect()?.execute_script(&example.schema)?;
    let names = |database: &Database| -> cairndb::Result<Vec<String>> {
        Ok(database.connect()?.schema()?.tables().map(|(table, _)| table.name.clone()).collect())
    };
    let (found, expected) = (names(&database)?, names(&fresh)?);
    database.close()?;
    Ok(found.iter().all(|name| expected.contains(name)))
}

fn load(connection: &Connection, example: &Example) -> Result<Costs, Failure> {
    let statements = example.statements();
    let bar = progress::steps(statements.len() as u64, "durable commits");
    let mut times = Vec::with_capacity(statements.len());
    for statement in statements {
        let started = Instant::now();
        connection.execute_script(statement).map_err(|error| Failure::sql(error, statement))?;
        times.push(started.elapsed());
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Costs::new(times))
}

/// Prints the example's first question, which stands in the comment before its query, and the answer.
fn answer(connection: &Connection, example: &Example) -> Result<(), Failure> {
    let Some(first) = split_script(&example.questions).next() else { return Ok(()) };
    let before = example.questions.get(..first.start).unwrap_or_default();
    let question = before.lines().rev().find_map(|line| line.strip_prefix("-- ")).unwrap_or_default();
    say(format_args!("\n{question}\n"))?;
    let mut rows = connection.query(first.text, ()).map_err(|error| Failure::sql(error, first.text))?;
    write_rows(&mut stdout().lock(), &mut rows, &plain_style(), &EvalContext::now())
}

/// How long the commits took.
struct Costs {
    sorted: Vec<Duration>,
    total: Duration,
}

impl Costs {
    fn new(mut times: Vec<Duration>) -> Costs {
        times.sort();
        Costs { total: times.iter().sum(), sorted: times }
    }

    /// The time that `percent` of the commits did not exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let at = (self.sorted.len() * percent).div_ceil(100).saturating_sub(1);
        self.sorted.get(at).copied().unwrap_or_default()
    }

    fn tell(&self, medium: &str) -> Result<(), Failure> {
        let micros = |time: Duration| format!("{:.0} us", time.as_secs_f64() * 1e6);
        say(format_args!(
            "{} statements, each a durable commit, in {:.2} s. One of them, from SQL text to durable:",
            self.sorted.len(),
            self.total.as_secs_f64()
        ))?;
        say(format_args!(
            "p50 {}, p95 {}, slowest {}  ({medium})",
            micros(self.percentile(50)),
            micros(self.percentile(95)),
            micros(self.percentile(100))
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let costs = Costs::new((1..=100).rev().map(Duration::from_micros).collect());
        assert_eq!(costs.percentile(50), Duration::from_micros(50));
        assert_eq!(costs.percentile(95), Duration::from_micros(95));
        assert_eq!(costs.percentile(100), Duration::from_micros(100));
        assert_eq!(Costs::new(Vec::new()).percentile(50), Duration::ZERO);
    }
}
