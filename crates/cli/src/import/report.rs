//! What an import tells: rows, changes with their reasons, and what is left out.

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

    pub fn tell(&self) {
        for (table, rows) in &self.rows {
            println!("  {}: {rows} rows", shown(table));
        }
        tell("Changed, and why:", &self.changes);
        tell("Left out, and why:", &self.left_out);
    }
}

fn tell(title: &str, lines: &[(String, String)]) {
    if !lines.is_empty() {
        println!("{title}");
        lines.iter().for_each(|(what, why)| println!("  {}: {}", shown(what), shown(why)));
    }
}
