//! The example's facts are consistent with each other: each query finds what contradicts another fact, so it must find
//! nothing.

use std::fs;
use std::path::Path;

use cairndb::{Connection, Database};

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apollo").join(name);
    fs::read_to_string(path).unwrap()
}

fn loaded() -> Connection {
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    connection.execute_script(&text("schema.sql")).unwrap();
    connection.execute_script(&text("data.sql")).unwrap();
    connection
}

fn number(connection: &Connection, query: &str) -> i64 {
    connection.query_row(query, (), |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error:?}"))
}

/// What the facts must not contain, in words and as a query.
const CONTRADICTIONS: [(&str, &str); 14] = [
    (
        "a crew of other than three",
        "SELECT m.mission_id FROM missions m LEFT JOIN crew c ON c.mission_id = m.mission_id
         GROUP BY m.mission_id HAVING count(c.astronaut_id) <> 3",
    ),
    (
        "a duration that is not splashdown minus launch",
        "SELECT mission_id FROM missions WHERE splashdown_at - launched_at <> duration",
    ),
    (
        "an EVA whose duration is not its end minus its start",
        "SELECT eva_id FROM evas WHERE ended_at - started_at <> duration",
    ),
    (
        "moonwalks that do not add up to the mission's total",
        "SELECT l.mission_id FROM landings l JOIN evas e ON e.mission_id = l.mission_id AND e.place = 'surface'
         GROUP BY l.mission_id, l.moonwalk_total HAVING sum(e.duration) <> l.moonwalk_total",
    ),
    (
        "a stay on the Moon that is not liftoff minus landing",
        "SELECT mission_id FROM landings WHERE lifted_off_at - landed_at <> surface_stay",
    ),
    (
        "a moonwalk outside of its stay",
        "SELECT e.eva_id FROM evas e JOIN landings l ON l.mission_id = e.mission_id
         WHERE e.place <> 'deep space' AND (e.started_at <= l.landed_at OR e.ended_at >= l.lifted_off_at)",
    ),
    (
        "an event outside of its mission",
        "SELECT e.event_id FROM events e JOIN missions m ON m.mission_id = e.mission_id
         WHERE e.happened_at < m.launched_at OR e.happened_at > m.splashdown_at",
    ),
    (
        "a landing that is not among the events",
        "SELECT l.mission_id FROM landings l WHERE NOT EXISTS (
             SELECT 1 FROM events e WHERE e.mission_id = l.mission_id AND e.happened_at = l.landed_at
             AND e.what = 'landing on the Moon')",
    ),
    (
        "someone on an EVA who was not in the crew",
        "SELECT x.eva_id FROM eva_crew x JOIN evas e ON e.eva_id = x.eva_id
         WHERE x.astronaut_id NOT IN (SELECT c.astronaut_id FROM crew c WHERE c.mission_id = e.mission_id)",
    ),
    (
        "a command module pilot on the Moon",
        "SELECT x.eva_id FROM eva_crew x JOIN evas e ON e.eva_id = x.eva_id
         JOIN crew c ON c.mission_id = e.mission_id AND c.astronaut_id = x.astronaut_id
         WHERE e.place = 'surface' AND c.seat = 'command module pilot'",
    ),
    (
        "samples heavier than what was brought home",
        "SELECT l.mission_id FROM landings l JOIN samples s ON s.mission_id = l.mission_id
         GROUP BY l.mission_id, l.returned_kg HAVING sum(s.mass_g) > l.returned_kg * 1000",
    ),
    (
        "a sample number of another mission",
        "SELECT sample_no FROM samples WHERE mission_id <> CASE WHEN sample_no < 11000 THEN 11
         WHEN sample_no < 16000 THEN sample_no / 1000 ELSE sample_no / 10000 + 10 END",
    ),
    (
        "missions that overlap",
        "SELECT a.mission_id FROM missions a JOIN missions b ON a.mission_id < b.mission_id
         WHERE a.splashdown_at >= b.launched_at",
    ),
    (
        "a mission without its three vehicles (Apollo 8 flew without a lunar module)",
        "SELECT m.mission_id FROM missions m JOIN spacecraft s ON s.mission_id = m.mission_id GROUP BY m.mission_id
         HAVING count(*) <> CASE WHEN m.mission_id = 8 THEN 2 ELSE 3 END",
    ),
];

#[test]
fn the_facts_do_not_contradict_each_other() {
    let connection = loaded();
    for (what, query) in CONTRADICTIONS {
        let found = number(&connection, &format!("SELECT count(*) FROM ({query}) AS contradictions"));
        assert_eq!(found, 0, "{what}");
    }
}

#[test]
fn the_well_known_totals_come_out() {
    let connection = loaded();
    assert_eq!(number(&connection, "SELECT count(*) FROM missions"), 9);
    assert_eq!(number(&connection, "SELECT count(*) FROM astronauts"), 24, "24 people flew to the Moon");
    assert_eq!(number(&connection, "SELECT count(DISTINCT astronaut_id) FROM crew"), 24);
    assert_eq!(number(&connection, "SELECT count(*) FROM moonwalkers"), 12, "12 walked on it");
    assert_eq!(number(&connection, "SELECT count(*) FROM landings WHERE rover"), 3);
    let kilograms: String =
        connection.query_row("SELECT sum(returned_kg)::text FROM landings", (), |row| row.get(0)).unwrap();
    assert_eq!(kilograms, "381.72");
    let heaviest: String = connection
        .query_row("SELECT nickname FROM samples ORDER BY mass_g DESC LIMIT 1", (), |row| row.get(0))
        .unwrap();
    assert_eq!(heaviest, "Big Muley");
}

#[test]
fn several_hundred_facts_are_there_and_every_question_has_an_answer() {
    let connection = loaded();
    let names: Vec<String> = connection.schema().unwrap().tables().map(|(table, _)| table.name.clone()).collect();
    let rows: i64 = names.iter().map(|name| number(&connection, &format!("SELECT count(*) FROM {name}"))).sum();
    assert!(names.len() >= 6 && rows >= 390, "{} tables with {rows} rows", names.len());
    let mut answered = 0;
    connection
        .run(&text("questions.sql"), |outcome| {
            let statement = outcome.statement().to_string();
            let rows = outcome.rows().expect("a question returns rows");
            assert!(rows.next()?.is_some(), "{statement}");
            answered += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(answered, 6);
}
