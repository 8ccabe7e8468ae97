//! Answers of different engines to the same query, compared.

use crate::engine::Cell;

/// Why two answers differ; `None`: they agree. The queries order by some of their columns, so ties may come in any
/// order: rows are compared as a set.
pub fn difference(mine: &[Vec<Cell>], theirs: &[Vec<Cell>]) -> Option<String> {
    if mine.len() != theirs.len() {
        return Some(format!("{} rows against {}", mine.len(), theirs.len()));
    }
    let (mine, theirs) = (sorted(mine), sorted(theirs));
    let differ = |(mine, theirs): &(&&Vec<Cell>, &&Vec<Cell>)| {
        mine.len() != theirs.len() || mine.iter().zip(theirs.iter()).any(|(mine, theirs)| !mine.agrees(theirs))
    };
    mine.iter().zip(&theirs).find(differ).map(|(mine, theirs)| format!("{mine:?} against {theirs:?}"))
}

/// In the order of what is compared exactly, then of the numbers.
fn sorted(rows: &[Vec<Cell>]) -> Vec<&Vec<Cell>> {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_cached_key(|row| (texts(row), numbers(row)));
    rows
}

fn texts(row: &[Cell]) -> Vec<String> {
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.trim_end().to_string()),
        _ => None,
    };
    row.iter().filter_map(text).collect()
}

/// Rounded to four digits, so that an error of summing does not move a row.
fn numbers(row: &[Cell]) -> Vec<i64> {
    let number = |cell: &Cell| match cell {
        Cell::Int(int) => Some(*int as f64),
        Cell::Real(real) => Some(*real),
        _ => None,
    };
    row.iter().filter_map(number).map(|number| (number * 1e4).round() as i64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str, number: f64) -> Vec<Cell> {
        vec![Cell::Text(text.to_string()), Cell::Real(number)]
    }

    #[test]
    fn ties_may_come_in_any_order_and_wrong_values_are_told() {
        let mine = [row("a", 1.0), row("b", 2.0)];
        assert_eq!(difference(&mine, &[row("b ", 2.000_000_1), row("a", 1.0)]), None);
        assert!(difference(&mine, &[row("b", 2.1), row("a", 1.0)]).is_some());
        assert!(difference(&mine, &mine[..1]).is_some());
    }
}
