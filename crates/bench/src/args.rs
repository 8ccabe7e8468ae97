//! The command line.

use std::path::PathBuf;

use crate::engine::Kind;
use crate::workload::{ALL, Workload};
use crate::{Error, Result};

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Args {
    names: Vec<String>,
    /// Small sizes, to see that everything works; the numbers mean little.
    pub quick: bool,
    /// A folder on disk; the data goes into a new folder in it, removed at the end.
    pub dir: PathBuf,
    /// A folder on a memory file system.
    pub tmpfs: Option<PathBuf>,
    /// Where the JSON lines go.
    pub json: Option<PathBuf>,
    pub rounds: Option<usize>,
    pub rows: Option<i64>,
    /// Seconds of each run of the workloads that run for a time.
    pub seconds: Option<f64>,
    pub threads: usize,
    /// Outstanding tickets of `pipelined`.
    pub window: usize,
    /// Commits of each run of the workloads that run for a number of commits.
    pub commits: Option<u64>,
    pub engines: Option<Vec<Kind>>,
    pub seed: u64,
    /// `syscalls` commits, and does not trace itself.
    pub plain: bool,
}

impl Args {
    /// `None`: help was asked for.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Option<Args>> {
        let mut args = Args {
            names: Vec::new(),
            quick: false,
            dir: PathBuf::from("."),
            tmpfs: None,
            json: None,
            rounds: None,
            rows: None,
            seconds: None,
            threads: 32,
            window: 2000,
            commits: None,
            engines: None,
            seed: 42,
            plain: false,
        };
        let mut words = words;
        while let Some(word) = words.next() {
            if word == "--help" || word == "-h" {
                return Ok(None);
            }
            args.take(&word, &mut words)?;
        }
        args.check().map(|()| (!args.names.is_empty()).then_some(args))
    }

    fn take(&mut self, word: &str, words: &mut impl Iterator<Item = String>) -> Result<()> {
        let mut value = || words.next().ok_or_else(|| Error::from(format!("{word} needs a value")));
        match word {
            "--quick" => self.quick = true,
            "--plain" => self.plain = true,
            "--dir" => self.dir = value()?.into(),
            "--tmpfs" => self.tmpfs = Some(value()?.into()),
            "--json" => self.json = Some(value()?.into()),
            "--rounds" => self.rounds = Some(number(word, &value()?)?),
            "--rows" => self.rows = Some(number(word, &value()?)?),
            "--seconds" => self.seconds = Some(number(word, &value()?)?),
            "--threads" => self.threads = number(word, &value()?)?,
            "--window" => self.window = number(word, &value()?)?,
            "--commits" => self.commits = Some(number(word, &value()?)?),
            "--seed" => self.seed = number(word, &value()?)?,
            "--engines" => self.engines = Some(value()?.split(',').map(Kind::parse).collect::<Result<_>>()?),
            name if !name.starts_with('-') => self.names.push(name.to_string()),
            _ => return Err(format!("unknown option {word} (see --help)").into()),
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let known = |name: &&String| *name == "all" || ALL.iter().any(|workload| workload.name == **name);
        if let Some(name) = self.names.iter().find(|name| !known(name)) {
            return Err(format!("unknown workload {name} (see --help)").into());
        }
        if self.rows.is_some_and(|rows| rows < 1) || self.rounds == Some(0) || self.threads == 0 {
            return Err("rows, rounds and threads must be at least 1".into());
        }
        let seconds = self.seconds.unwrap_or(1.0);
        if !(seconds > 0.0 && seconds < 1e6) {
            return Err("--seconds must be positive".into());
        }
        Ok(())
    }

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

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| format!("{option}: {text} is not a number that it can take").into())
}

/// The help text.
pub fn usage() -> String {
    let mut text = "\
cairn-bench WORKLOAD... [OPTION]...   (`all`: every workload)

"
    .to_string();
    for workload in ALL {
        text.push_str(&format!("  {:<12} {}\n", workload.name, workload.about));
    }
    text.push_str(&format!(
        "
  --quick            small sizes, to see that it works
  --dir DIR          folder on disk (default: the current one)
  --tmpfs DIR        folder on a memory file system, for instance /dev/shm
  --json FILE        also write JSON lines
  --engines A,B      of {}
  --rounds N         rounds per engine (default 5)
  --rows N           rows in the table
  --commits N        commits per round
  --seconds S        length of timed runs
  --threads N        of `concurrent` (default 32)
  --window N         outstanding tickets of `pipelined` (default 2000)
  --seed N           of the keys (default 42)
",
        Kind::ALL.map(Kind::name).join(", ")
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Args>> {
        Args::parse(text.split_whitespace().map(str::to_string))
    }

    #[test]
    fn workloads_run_in_the_programs_order() {
        let args = parse("read commit --quick --rounds 3").unwrap().unwrap();
        let names: Vec<_> = args.workloads().map(|workload| workload.name).collect();
        assert_eq!(names, ["commit", "read"]);
        assert_eq!((args.rounds(), args.size(2, 1)), (3, 1));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in
            ["walk", "commit --rounds", "commit --rounds x", "commit --rows 0", "--fast", "read --engines oracle"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("").unwrap().is_none());
    }
}
