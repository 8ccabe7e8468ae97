//! Triggers that see the rows of a statement as tables.

use super::super::case::Step;
use super::super::change::Changes;
use super::{Block, Dialect, change, rows};

pub(super) fn transitions(b: &mut Block<'_>) -> Option<Vec<Step>> {
    let table = b.table();
    // Where foreign keys cascade, PostgreSQL fires a statement's triggers once for each row referred to.
    if table.parent.is_some() {
        return None;
    }
    let (name, number) = (&table.name, b.number);
    let (event, referencing, before, after) = *b.random.pick(&[
        ("INSERT", "NEW TABLE AS fresh", "NULL", "(SELECT sum(k) FROM fresh)"),
        ("DELETE", "OLD TABLE AS gone", "(SELECT count(*) FROM gone)", "(SELECT max(k) FROM gone)"),
        ("UPDATE", "OLD TABLE gone NEW TABLE AS fresh", "(SELECT sum(k) FROM gone)", "(SELECT count(*) FROM fresh)"),
        ("UPDATE", "OLD TABLE AS gone NEW TABLE fresh", "0", "(SELECT count(*) FROM gone JOIN fresh USING (k))"),
    ]);
    let level = *b.random.pick(&["STATEMENT", "STATEMENT", "ROW"]);
    let mut steps = vec![
        change(format!(
            "CREATE FUNCTION f_seen{number}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO audit VALUES (TG_NAME, TG_OP, {before}, {after}); RETURN NULL; END $$"
        )),
        change(format!(
            "CREATE TRIGGER seen{number} AFTER {event} ON {name} REFERENCING {referencing} FOR EACH {level} \
             EXECUTE FUNCTION f_seen{number}()"
        )),
    ];
    for _ in 0..3 {
        let choice = b.random.below(4);
        let mut make = Changes { random: b.random, dialect: Dialect::Postgres, tables: b.tables };
        steps.push(match choice {
            0 => make.insert(&table),
            1 => make.update(&table),
            2 => make.delete(&table),
            _ => make.insert_select(&table),
        });
    }
    steps.push(rows(format!("SELECT * FROM audit WHERE relation = 'seen{number}'")));
    steps.push(change(format!("DROP TRIGGER seen{number} ON {name}")));
    Some(steps)
}
