//! What an import tells: rows, changes with their reasons, and what is left out.

use crate::maintenance::section;
use crate::output::shown;

/// Of what followed from one cause so much is named.
const NAMED_MAX: usize = 30;

/// See the module.
#[derive(Default)]
pub struct Report {
    rows: Vec<(String, u64)>,
    changes: Vec<(String, String)>,
    left_out: Vec<LeftOut>,
}

/// What is not there, by its cause.
struct LeftOut {
    what: Vec<String>,
    why: String,
    /// What would rest on it, and is not there for that reason alone.
    followed: Vec<String>,
}

impl Report {
    pub fn rows(&mut self, table: &str, rows: u64) {
        match self.rows.iter_mut().find(|(known, _)| known == table) {
            Some((_, known)) => *known += rows,
            None => self.rows.push((table.to_string(), rows)),
        }
    }

    /// Something is not as it was.
    pub fn change(&mut self, what: &str, why: &str) {
        let change = (what.to_string(), why.to_string());
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Something is not there.
    #[cfg(feature = "sqlite")]
    pub fn leave_out(&mut self, what: &str, why: &str) {
        self.cause(what, why);
    }

    /// The same; which cause that is. What else is not there for the same reason has the same.
    pub fn cause(&mut self, what: &str, why: &str) -> usize {
        let known = self.left_out.iter().position(|known| known.why == why);
        let at = known.unwrap_or_else(|| {
            self.left_out.push(LeftOut { what: Vec::new(), why: why.to_string(), followed: Vec::new() });
            self.left_out.len() - 1
        });
        self.left_out[at].what.push(what.to_string());
        at
    }

    /// Something is not there because of that cause.
    pub fn follow(&mut self, cause: usize, what: &str) {
        if let Some(cause) = self.left_out.get_mut(cause) {
            cause.followed.push(what.to_string());
        }
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
        let left_out: Vec<String> = self.left_out.iter().flat_map(LeftOut::lines).collect();
        lines.extend(section("Left out, and why:", &left_out));
        lines
    }
}

impl LeftOut {
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.what.iter().map(|what| format!("{}: {}", shown(what), shown(&self.why))).collect();
        let named: Vec<String> = self.followed.iter().take(NAMED_MAX).map(|what| shown(what)).collect();
        if let Some(more) = self.followed.len().checked_sub(NAMED_MAX + 1) {
            lines.push(format!("  and with it: {}, and {} more", named.join(", "), more + 1));
        } else if !named.is_empty() {
            lines.push(format!("  and with it: {}", named.join(", ")));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_followed_stands_below_its_cause() {
        let mut report = Report::default();
        let cause = report.cause("table a", "no type");
        assert_eq!(report.cause("table b", "another"), 1);
        assert_eq!(report.cause("table c", "no type"), cause);
        (0..32).for_each(|number| report.follow(cause, &format!("index {number}")));
        let lines = report.lines();
        assert_eq!(lines[..3], ["Left out, and why:", "  table a: no type", "  table c: no type"]);
        assert!(
            lines[3].starts_with("    and with it: index 0, index 1, ") && lines[3].ends_with("index 29, and 2 more")
        );
        assert_eq!(lines[4], "  table b: another");
    }
}
