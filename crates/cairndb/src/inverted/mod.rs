//! Inverted indexes (`USING gin`): from what is in a value to the rows that have it.
//!
//! A value of a column is a set of *items* (an array's elements, a document's keys and values, or its values with the way to
//! them), and the index says for each item which rows have it. Its tree has two kinds of entries:
//!
//! ```text
//! 00 | item, 8 | key of the last row of the list  ->  the list: keys of rows, ascending, each as what differs from the one before
//! 01 | item, 8 | key of a row                     ->  01: the row has the item; 00: it has not
//! ```
//!
//! - A *list* has the rows of one item, at most [`postings::ROWS_MAX`] of them and about [`postings::BYTES_MAX`] bytes; lists of an
//!   item do not overlap. It is under the key of its last row, so that the list in which a row would be is the first one at or
//!   behind it.
//! - A *note* says of one row what is so now, whatever a list says. Who changes a row only writes notes, for the items by which the
//!   old and the new row differ, and reads nothing for that. So writers of different rows never conflict, however many rows share a
//!   list: a list that is changed in place would have to be read, and any two transactions whose rows have an item in common
//!   would be in each other's way.
//! - Notes go into lists later ([`settle`]), in short transactions of their own: after some thousand of them by whoever
//!   wrote the last, and by VACUUM. A reader that has seen the item and goes on to write may lose to that, once; writers do not.
//! - An item is a hash of 64 bits. Two that are the same by chance make the index say too much, never too little: whatever asks
//!   it looks at the row again ([`query`] promises no more either).

mod class;
mod items;
mod path;
mod postings;
mod query;
mod settle;
mod stream;

pub(crate) use class::{ItemClass, ItemOperator, commuted};
pub(crate) use items::add_items;
pub(crate) use postings::{ListBuilder, Postings, note_key};
pub(crate) use query::Query;
pub(crate) use settle::{Unsettled, settle};
pub(crate) use stream::Stream;

/// What a row has in a column that an inverted index is of.
pub(crate) type Item = u64;
/// Bytes of an item in keys and lists of items.
pub(crate) const ITEM_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::postings::{LIST, NOTE};
    use crate::{Connection, Database};

    fn database() -> (Database, Connection) {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection
            .execute_script(
                "CREATE TABLE t (id int PRIMARY KEY, doc jsonb, n int); CREATE INDEX i ON t USING gin (doc)",
            )
            .unwrap();
        (database, connection)
    }

    /// How many entries of the kind the index has.
    fn count(database: &Database, kind: u8) -> usize {
        let index = database.connect().unwrap().catalog().unwrap().table("t").unwrap().indexes[0].tree;
        let snapshot = database.shared.store.snapshot().unwrap();
        let (low, high) = ([kind], [kind + 1]);
        let mut cursor =
            snapshot.reader().cursor(index, Bound::Included(&low[..]), Bound::Excluded(&high[..])).unwrap();
        let mut count = 0;
        while cursor.next().unwrap().is_some() {
            count += 1;
        }
        count
    }

    #[test]
    fn a_row_that_keeps_its_items_writes_nothing_and_others_write_the_difference() {
        let (database, connection) = database();
        let notes = |sql: &str| {
            connection.execute_script(sql).unwrap();
            database.verify().unwrap();
            count(&database, NOTE)
        };
        assert_eq!(notes(r#"INSERT INTO t VALUES (1, '{"a": 1, "b": [1, "x"]}', 1)"#), 4);
        assert_eq!(notes("VACUUM"), 0);
        assert_eq!(notes("UPDATE t SET n = 2"), 0);
        assert_eq!(notes(r#"UPDATE t SET doc = '{"b": [1, 1, "x"], "a": 1.0}'"#), 0);
        assert_eq!(notes(r#"UPDATE t SET doc = '{"b": [2, "x"], "a": 1}'"#), 1);
        assert_eq!(notes(r#"UPDATE t SET doc = '{"b": [2, "x"], "a": 2}'"#), 2);
        assert_eq!(notes("VACUUM"), 0);
        assert_eq!(notes("UPDATE t SET id = 2"), 8);
        assert_eq!(notes("DELETE FROM t"), 8);
        assert_eq!(notes("VACUUM"), 0);
        assert_eq!(count(&database, LIST), 0);
    }

    #[test]
    fn lists_have_many_rows_however_these_came() {
        let (database, connection) = database();
        let is_short = |rows: usize| {
            database.verify().unwrap();
            // Two items that all rows have, and one of each row's own.
            let lists = count(&database, LIST) - rows;
            assert!(lists <= rows / 20, "{lists} lists of {rows} rows");
        };
        let insert = "INSERT INTO t SELECT g * 7919 % 10007, jsonb_build_object('a', 'b', 'own', g), 1 FROM ";
        connection.execute_script(&format!("{insert} generate_series(1, 6000) g")).unwrap();
        // That many notes are put in order by whoever wrote the last.
        assert_eq!(count(&database, NOTE), 0);
        is_short(6000);
        for start in (6001..9000).step_by(500) {
            connection.execute_script(&format!("{insert} generate_series({start}, {start} + 499) g; VACUUM")).unwrap();
        }
        is_short(9000);
        connection.execute_script("DELETE FROM t WHERE id % 2 = 0; VACUUM").unwrap();
        database.verify().unwrap();
        connection.execute_script("DROP INDEX i; CREATE INDEX i ON t USING gin (doc)").unwrap();
        let rows = 4502;
        is_short(rows);
        connection.execute_script("ALTER TABLE t ALTER n TYPE text; TRUNCATE t").unwrap();
        assert_eq!(count(&database, LIST) + count(&database, NOTE), 0);
    }
}
