//! What an import tells: rows, changes with their reasons, and what is left out.

use crate::maintenance::section;
use crate::output::shown;

/// See the module.
#[derive(Default)]
pub struct Report {
    rows: Vec<(String, u64)>,
    changes: Vec<(String, String)>,
    left_out: Vec<(String, String)>,
}

impl Report {
    pub fn rows(&mut self, table: &str, rows: u64) {
        self.rows.push((table.to_string(), rows));
    }

    /// Something is not as it was.
    pub fn change(&mut self, what: &str, why: &str) {
        let change = (what.to_string(), why.to_string());
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Something is not there.
    pub fn leave_out(&mut self, what: &str, why: &str) {
        self.left_out.push((what.to_string(), why.to_string()));
    }

    pub fn is_complete(&self) -> bool {
        self.left_out.is_empty()
    }

    /// What there is to tell, line by line.
    pub fn lines(&self) -> Vec<String> {
        let of = |lines: &[(String, String)]| {
            lines.iter().map(|(what, why)| format!("{}: {}", shown(what), shown(why))).collect::<Vec<_>>()
        };
        let mut lines: Vec<String> =
            self.rows.iter().map(|(table, rows)| format!("  {}: {rows} rows", shown(table))).collect();
        lines.extend(section("Changed, and why:", &of(&self.changes)));
        lines.extend(section("Left out, and why:", &of(&self.left_out)));
        lines
    }
}
