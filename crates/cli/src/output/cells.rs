//! Rows of texts in one buffer: a cell costs its text and eight bytes.

use cairndb::{EvalContext, Row, write_text};

/// Set beside where a NULL ends.
const NULL: usize = 1 << (usize::BITS - 1);

/// Rows of the same number of cells; `None` is NULL.
#[derive(Debug, Default)]
pub struct Cells {
    text: String,
    /// Where each cell ends in the text, row after row.
    ends: Vec<usize>,
    columns: usize,
    rows: usize,
}

impl Cells {
    pub fn new(columns: usize) -> Cells {
        Cells { columns, ..Cells::default() }
    }

    /// Adds a row's values as text.
    pub fn push(&mut self, row: &Row<'_>, context: &EvalContext) {
        for value in row.values() {
            if !value.is_null() {
                write_text(value, context, &mut self.text);
            }
            self.ends.push(if value.is_null() { self.text.len() | NULL } else { self.text.len() });
        }
        self.rows += 1;
    }

    /// How much memory the rows need.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.ends[..])
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.rows = 0;
    }

    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = Option<&str>> + Clone> + Clone {
        (0..self.rows).map(|at| self.row(at * self.columns))
    }

    /// The cells from the one with this number on.
    fn row(&self, from: usize) -> impl Iterator<Item = Option<&str>> + Clone {
        let before = from.checked_sub(1).map_or(0, |before| self.ends[before] & !NULL);
        self.ends[from..from + self.columns].iter().scan(before, |start, end| {
            let text = &self.text[*start..end & !NULL];
            *start = end & !NULL;
            Some((end & NULL == 0).then_some(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairndb::Database;

    #[test]
    fn rows_come_back_as_they_went_in() {
        let connection = Database::open_in_memory().unwrap().connect().unwrap();
        let mut cells = Cells::new(3);
        let mut rows = connection.query("VALUES ('a', NULL, ''), (NULL, '', 'bc'), ('', NULL, NULL)", ()).unwrap();
        while let Some(row) = rows.next().unwrap() {
            cells.push(&row, &EvalContext::now());
        }
        let found: Vec<Vec<_>> = cells.rows().map(Iterator::collect).collect();
        let expected = [[Some("a"), None, Some("")], [None, Some(""), Some("bc")], [Some(""), None, None]];
        assert_eq!(found, expected);
        cells.clear();
        assert!(cells.rows().next().is_none() && cells.bytes() == 0);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let connection = Database::open_in_memory().unwrap().connect().unwrap();
        let mut rows = connection.query("SELECT FROM generate_series(1, 3)", ()).unwrap();
        let mut cells = Cells::new(0);
        while let Some(row) = rows.next().unwrap() {
            cells.push(&row, &EvalContext::now());
        }
        assert_eq!(cells.rows().map(Iterator::count).collect::<Vec<_>>(), [0, 0, 0]);
    }
}
