//! A case: everything that one seed generates.

use super::change::{self, Changes};
use super::expression::Expressions;
use super::query::query;
use super::schema::{TableSpec, schema};
use super::topics::{Block, block};
use super::{Dialect, Random};
use crate::engine::{Answer, Failure, Session};

/// How a statement goes to an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// As text, its rows come back.
    Text,
    /// With this data behind it.
    CopyIn(Vec<u8>),
    /// Its data comes back, each line a row.
    CopyOut,
    /// What comes to the same in an engine that does not have it: only whether it goes well is compared.
    Elsewhere(String),
}

/// One statement and how its outcomes compare.
#[derive(Clone, Debug)]
pub struct Step {
    /// The statement.
    pub sql: String,
    /// It changes data: after a difference the databases are no longer comparable.
    pub changes: bool,
    /// Nothing about plans decides whether a data exception occurs: one side alone must not raise one.
    pub strict: bool,
    /// Rows compare as a set.
    pub unordered: bool,
    /// How it is run.
    pub via: Via,
}

impl Step {
    pub(super) fn change(sql: String) -> Step {
        Step { sql, changes: true, strict: true, unordered: true, via: Via::Text }
    }

    pub(super) fn query(sql: String, strict: bool, unordered: bool) -> Step {
        Step { sql, changes: false, strict, unordered, via: Via::Text }
    }

    /// Runs it.
    pub(super) fn run(&self, session: &mut dyn Session) -> Result<Answer, Failure> {
        match &self.via {
            Via::Text | Via::Elsewhere(_) => session.run(&self.sql),
            Via::CopyIn(data) => session.copy_in(&self.sql, data),
            Via::CopyOut => {
                let out = session.copy_out(&self.sql)?;
                let line = |line: &[u8]| vec![Some(String::from_utf8_lossy(line).into_owned())];
                Ok(Answer { rows: out.split(|byte| *byte == b'\n').map(line).collect(), ..Answer::default() })
            }
        }
    }

    /// As [`Step::run`], by the reference.
    pub(super) fn run_by_reference(&self, session: &mut dyn Session) -> Result<Answer, Failure> {
        match &self.via {
            Via::Elsewhere(sql) => session.run(sql).map(|_| Answer::default()),
            _ => self.run(session),
        }
    }

    /// It, with its data, for people.
    pub fn shown(&self) -> String {
        match &self.via {
            Via::CopyIn(data) => format!("{};\n{:?}", self.sql, String::from_utf8_lossy(data)),
            _ => format!("{};", self.sql),
        }
    }
}

/// The statements of one seed.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number.
    pub seed: u64,
    /// The statements, in order.
    pub steps: Vec<Step>,
}

const INSERTS_PER_TABLE: usize = 6;
const ROUNDS: usize = 10;
const QUERIES_PER_ROUND: usize = 8;

impl Case {
    /// Generates the case of a seed.
    pub fn generate(seed: u64, dialect: Dialect) -> Case {
        let mut random = Random::new(seed);
        let (tables, statements) = schema(&mut random, dialect);
        let mut steps: Vec<Step> = statements.into_iter().map(Step::change).collect();
        for table in &tables {
            for _ in 0..INSERTS_PER_TABLE {
                steps.push(Changes { random: &mut random, dialect, tables: &tables }.insert(table));
            }
        }
        for round in 0..ROUNDS {
            changes(&mut random, dialect, &tables, &mut steps);
            queries(&mut random, dialect, &tables, &mut steps);
            if dialect == Dialect::Postgres {
                for number in [2 * round, 2 * round + 1] {
                    steps.extend(block(Block { random: &mut random, tables: &tables, number }));
                }
            }
        }
        Case { seed, steps }
    }
}

fn queries(random: &mut Random, dialect: Dialect, tables: &[TableSpec], steps: &mut Vec<Step>) {
    let mut generator = Expressions { random, dialect, tables, visible: Vec::new(), aliases: 0 };
    for _ in 0..QUERIES_PER_ROUND {
        steps.push(query(&mut generator));
    }
}

fn changes(random: &mut Random, dialect: Dialect, tables: &[TableSpec], steps: &mut Vec<Step>) {
    let in_transaction = random.percent(40);
    if in_transaction {
        steps.push(Step::change("BEGIN".into()));
    }
    // In SQLite a failed statement does not fail its transaction.
    let alike = dialect == Dialect::Postgres;
    for _ in 0..if alike { 2 + random.below(4) } else { 1 } {
        if in_transaction && alike && random.percent(35) {
            steps.push(change::savepoint(random));
        }
        steps.push(one_change(random, dialect, tables));
    }
    if in_transaction {
        steps.push(Step::change((*random.pick(&["COMMIT", "COMMIT", "ROLLBACK"])).into()));
    }
    steps.extend(tables.iter().map(Changes::contents));
    if dialect == Dialect::Postgres {
        steps.push(Step::query("SELECT * FROM audit".into(), false, true));
    }
}

pub(super) fn one_change(random: &mut Random, dialect: Dialect, tables: &[TableSpec]) -> Step {
    let table = random.pick(tables).clone();
    if dialect == Dialect::Postgres && random.percent(8) {
        return change::wrong(random, &table);
    }
    let is_compound = dialect == Dialect::Postgres && random.percent(35);
    let choice = random.below(8);
    let mut changes = Changes { random, dialect, tables };
    if is_compound {
        return changes.compound(&table);
    }
    match choice {
        0..=2 => changes.insert(&table),
        3 => changes.insert_select(&table),
        4..=6 => changes.update(&table),
        _ => changes.delete(&table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_statements() {
        let texts =
            |seed| Case::generate(seed, Dialect::Postgres).steps.into_iter().map(|step| step.sql).collect::<Vec<_>>();
        assert_eq!(texts(7), texts(7));
        assert_ne!(texts(7), texts(8));
    }
}
