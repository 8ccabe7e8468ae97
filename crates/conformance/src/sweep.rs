//! Ordinary queries timed here, in PostgreSQL and in SQLite: the file format, and a run of it.
//!
//! A file has sections, each begun by a line: `-- data NAME` (statements that make tables), `-- query NAME` (one query over what
//! was made last), `-- sqlite` (how SQLite has the section above), `-- sqlite: none` (it has nothing of the kind),
//! `-- before` (statements that are run before each time that the query above is, untimed).

use std::time::{Duration, Instant};

use crate::engine::{Answer, Failure, Session};

/// A data set and what is asked of it.
#[derive(Debug, Default)]
pub struct DataSet {
    /// What it is called.
    pub name: String,
    /// What makes it, statement by statement.
    pub setup: Spelled<Vec<String>>,
    /// In the file's order.
    pub queries: Vec<Query>,
}

/// One query.
#[derive(Debug, Default)]
pub struct Query {
    /// What it is called.
    pub name: String,
    /// Its text.
    pub sql: Spelled<String>,
    /// What is run before each time, untimed.
    pub before: Vec<String>,
}

/// PostgreSQL's spelling and SQLite's.
#[derive(Debug, Default)]
pub struct Spelled<T> {
    /// As PostgreSQL has it, and CairnDB.
    pub ours: T,
    /// As SQLite has it; `None` where it has nothing of the kind.
    pub sqlite: Option<T>,
}

/// Reads such a file. An error names the line.
pub fn parse(text: &str) -> Result<Vec<DataSet>, String> {
    let mut sets: Vec<DataSet> = Vec::new();
    let mut sections = sections(text).into_iter().peekable();
    while let Some((line, head, body)) = sections.next() {
        let mut sqlite = Some(body.clone());
        let mut before = String::new();
        while let Some((_, follower, other)) =
            sections.next_if(|(_, head, _)| matches!(*head, "sqlite" | "sqlite: none" | "before"))
        {
            match follower {
                "before" => before = other,
                "sqlite" => sqlite = Some(other),
                _ => sqlite = None,
            }
        }
        if let Some(name) = head.strip_prefix("data ") {
            let setup = Spelled { ours: statements(&body), sqlite: sqlite.as_deref().map(statements) };
            sets.push(DataSet { name: name.to_owned(), setup, queries: Vec::new() });
        } else if let Some(name) = head.strip_prefix("query ") {
            let set = sets.last_mut().ok_or_else(|| format!("line {line}: a query before any data"))?;
            let sql = Spelled { ours: body, sqlite };
            set.queries.push(Query { name: name.to_owned(), sql, before: statements(&before) });
        } else {
            return Err(format!("line {line}: {head:?} begins no section"));
        }
    }
    Ok(sets)
}

/// The line, the head and the text of each section.
fn sections(text: &str) -> Vec<(usize, &str, String)> {
    const HEADS: [&str; 4] = ["data ", "query ", "sqlite", "before"];
    let mut sections: Vec<(usize, &str, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let head = line.strip_prefix("-- ").filter(|head| HEADS.iter().any(|known| head.starts_with(known)));
        match (head, sections.last_mut()) {
            (Some(head), _) => sections.push((number + 1, head.trim(), String::new())),
            (None, Some((.., body))) if !line.starts_with("--") => {
                body.push_str(line);
                body.push('\n');
            }
            (None, _) => {}
        }
    }
    sections
}

/// Statements end with a semicolon at the end of a line.
fn statements(text: &str) -> Vec<String> {
    text.split(";\n").map(str::trim).filter(|sql| !sql.is_empty()).map(str::to_owned).collect()
}

/// One engine in the run: what it is called, a session of it, whether it is SQLite.
pub struct Contender<'a> {
    /// For people.
    pub name: &'static str,
    /// Where its statements run.
    pub session: Box<dyn Session + 'a>,
    /// Whether it takes SQLite's spelling.
    pub is_sqlite: bool,
}

impl Contender<'_> {
    /// Makes a data set, and says how long it took.
    pub fn load(&mut self, set: &DataSet) -> Result<Duration, Failure> {
        let setup = if self.is_sqlite { set.setup.sqlite.as_ref() } else { Some(&set.setup.ours) };
        let start = Instant::now();
        for sql in setup.into_iter().flatten() {
            self.session.run(sql)?;
        }
        Ok(start.elapsed())
    }

    /// Runs a query once: its time and its answer. `None` where this engine has nothing of the kind.
    pub fn time(&mut self, query: &Query) -> Result<Option<(Duration, Answer)>, Failure> {
        let sql = if self.is_sqlite { query.sql.sqlite.as_ref() } else { Some(&query.sql.ours) };
        let Some(sql) = sql else { return Ok(None) };
        for sql in &query.before {
            self.session.run(sql)?;
        }
        let start = Instant::now();
        let answer = self.session.run(sql)?;
        Ok(Some((start.elapsed(), answer)))
    }
}

/// The time of each round for each contender, in the same order as these; empty for one that has nothing of the kind.
#[derive(Debug)]
pub struct Timed {
    /// By contender, by round.
    pub times: Vec<Vec<Duration>>,
    /// Whether the first two contenders gave the same rows, in whatever order.
    pub agree: bool,
}

/// Runs a query once untimed and then `rounds` times, the contenders in turns.
pub fn run_query(query: &Query, contenders: &mut [Contender<'_>], rounds: usize) -> Result<Timed, String> {
    let named = |name: &str, error: Failure| format!("{name}, {}: {error}", query.name);
    let mut times = vec![Vec::new(); contenders.len()];
    let mut first: Vec<Vec<Vec<Option<String>>>> = Vec::new();
    for round in 0..=rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let name = contender.name;
            let Some((time, mut answer)) = contender.time(query).map_err(|error| named(name, error))? else { continue };
            if round > 0 {
                times.push(time);
            } else {
                answer.rows.sort();
                first.push(answer.rows);
            }
        }
    }
    Ok(Timed { times, agree: first[0] == first[1] })
}

impl Timed {
    /// The median time of a contender in milliseconds.
    pub fn median(&self, contender: usize) -> Option<f64> {
        median(self.times[contender].iter().map(|time| time.as_secs_f64() * 1e3))
    }

    /// The first contender's time to the better of the others, round by round: least, median, greatest.
    pub fn ratios(&self) -> Option<(f64, f64, f64)> {
        let best = |round: usize| self.times[1..].iter().filter_map(|times| times.get(round)).min();
        let ratio = |(round, time): (usize, &Duration)| Some(time.as_secs_f64() / best(round)?.as_secs_f64());
        let ratios: Vec<f64> = self.times[0].iter().enumerate().filter_map(ratio).collect();
        let least = ratios.iter().copied().min_by(f64::total_cmp)?;
        let greatest = ratios.iter().copied().max_by(f64::total_cmp)?;
        Some((least, median(ratios.iter().copied())?, greatest))
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- A remark.\n-- data one\nCREATE TABLE t (a int);\nINSERT INTO t VALUES (1);\n-- query all\n\
        SELECT * FROM t;\n-- query months\nSELECT to_char(a);\n-- sqlite\nSELECT strftime(a);\n-- before\nDELETE FROM u;\n\
        -- query patterns\nSELECT 1;\n-- sqlite: none\n";

    #[test]
    fn a_file_is_read() {
        let sets = parse(FILE).expect("it is right");
        assert_eq!(sets.len(), 1);
        assert_eq!(sets[0].setup.ours.len(), 2);
        assert_eq!(sets[0].setup.sqlite, Some(sets[0].setup.ours.clone()));
        let [all, months, patterns] = sets[0].queries.as_slice() else { panic!("three queries") };
        assert_eq!(all.sql.sqlite.as_deref(), Some("SELECT * FROM t;\n"));
        assert_eq!(months.sql.sqlite.as_deref(), Some("SELECT strftime(a);\n"));
        assert_eq!(months.before, ["DELETE FROM u"]);
        assert_eq!(patterns.sql.sqlite, None);
        assert!(parse("-- query early\nSELECT 1;\n").is_err());
    }

    #[test]
    fn the_files_here_are_read() {
        let queries = parse(include_str!("../sweep/queries.sql")).expect("queries.sql");
        assert_eq!(queries.iter().map(|set| set.queries.len()).sum::<usize>(), 103);
        assert!(parse(include_str!("../sweep/asked.sql")).is_ok());
    }

    #[test]
    fn ratios_are_to_the_better_of_each_round() {
        let ms = |values: &[u64]| values.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>();
        let timed = Timed { times: vec![ms(&[10, 20, 30]), ms(&[10, 10, 10]), ms(&[20, 5, 40])], agree: true };
        assert_eq!(timed.ratios(), Some((1.0, 3.0, 4.0)));
    }
}
