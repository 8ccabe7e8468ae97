//! How many statements agree, and why the others do not.

use std::collections::BTreeMap;
use std::fmt;

use super::Statement;

/// What became of one script, or of several.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Statements that were run on both.
    pub statements: usize,
    /// Those that both answered alike.
    pub agreed: usize,
    /// Those of them that both refused with one SQLSTATE.
    pub refused_alike: usize,
    /// The others by why.
    pub reasons: BTreeMap<String, Tally>,
}

/// How often a reason was met, and where first.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How often.
    pub count: usize,
    /// The first statements with it: line and text.
    pub examples: Vec<(usize, String)>,
}

const EXAMPLES: usize = 200;

impl Report {
    pub(super) fn add(&mut self, statement: &Statement, difference: Option<String>, refused: bool) {
        self.statements += 1;
        match difference {
            None => {
                self.agreed += 1;
                self.refused_alike += usize::from(refused);
            }
            Some(reason) => {
                let tally = self.reasons.entry(reason).or_default();
                tally.count += 1;
                if tally.examples.len() < EXAMPLES {
                    tally.examples.push((statement.line, statement.sql.clone()));
                }
            }
        }
    }

    /// Adds another report's counts and reasons.
    pub fn merge(&mut self, other: &Report) {
        self.statements += other.statements;
        self.agreed += other.agreed;
        self.refused_alike += other.refused_alike;
        for (reason, tally) in &other.reasons {
            let own = self.reasons.entry(reason.clone()).or_default();
            own.count += tally.count;
            let room = EXAMPLES.saturating_sub(own.examples.len());
            own.examples.extend(tally.examples.iter().take(room).cloned());
        }
    }

    /// The reasons, the most frequent first, each with `examples` of its statements.
    pub fn explain(&self, examples: usize) -> String {
        let mut reasons: Vec<(&String, &Tally)> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.count));
        let mut out = String::new();
        for (reason, tally) in reasons {
            out.push_str(&format!("  {:>6} x {reason}\n", tally.count));
            for (line, sql) in tally.examples.iter().take(examples) {
                let sql: String = sql.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
                out.push_str(&format!("           line {line}: {sql}\n"));
            }
        }
        out
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = 100.0 * self.agreed as f64 / self.statements.max(1) as f64;
        write!(
            f,
            "{:>6} statements {:>6} agree {share:>5.1} % ({} of them refused by both)",
            self.statements, self.agreed, self.refused_alike
        )
    }
}
