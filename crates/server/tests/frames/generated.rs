//! Conversations that nobody thought of.

use std::path::Path;
use std::thread;

use crate::Both;
use crate::talk::{Line, Talk};

/// How many are held; more: `CAIRN_CONVERSATIONS=1000000 cargo test -p cairn-server --test frames`, from another than the first: CAIRN_SEED.
const CONVERSATIONS: u64 = 20_000;
/// How many are said at once over a connection: their bytes find room in a socket, whatever is heard meanwhile.
const TOGETHER: usize = 16;
/// How many are held between two comparisons, by both servers at once.
const COMPARED: u64 = 1_024;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

const TEXTS: [&str; 29] = [
    "SELECT id, name FROM t ORDER BY id",
    "SELECT $1::int + 1",
    "SELECT 1/(id-id) FROM t",
    "SELECT nope",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "RELEASE s",
    "INSERT INTO t VALUES (100)",
    "DELETE FROM t WHERE id = 100",
    "UPDATE t SET n = 1 WHERE id = 1 RETURNING id",
    "",
    "SELEC",
    "SHOW server_encoding",
    "PREPARE b AS SELECT name FROM t ORDER BY id",
    "DEALLOCATE a",
    "DEALLOCATE b",
    "DECLARE p CURSOR FOR SELECT id FROM t ORDER BY id",
    "DECLARE q CURSOR WITH HOLD FOR SELECT name FROM t ORDER BY id",
    "FETCH p",
    "FETCH 2 FROM q",
    "FETCH ALL FROM p",
    "MOVE q",
    "CLOSE p",
    "CLOSE q",
    "CLOSE ALL",
    "SELECT name, is_holdable, is_scrollable FROM pg_cursors WHERE name <> '' ORDER BY name",
];

/// Messages that make sense together, mostly.
fn some(random: &mut Random) -> Talk {
    let mut talk = Talk::new();
    for _ in 0..2 + random.below(14) {
        let name = random.of(&["", "", "", "a", "a", "b", "b", "e"]);
        // Not the one without a name: PostgreSQL 15 keeps that of a simple query that has failed, and the process dies that is
        // asked for it again.
        let portal = random.of(&["p", "q"]);
        talk = match random.below(20) {
            0..=2 => talk.query(random.of(&TEXTS)),
            3 => talk.query(&format!("{}; {}", random.of(&TEXTS), random.of(&TEXTS))),
            4 => talk.query(&format!("{}; {}; {}", random.of(&TEXTS), random.of(&TEXTS), random.of(&TEXTS))),
            5..=7 => match random.of(&TEXTS) {
                // SQL does not know what has nothing to run.
                "" => talk.parse("e", "", &[]),
                text => talk.parse(name, text, &[]),
            },
            8..=9 => talk.bind(portal, name, &[], random.below(2) == 0),
            10 => talk.bind(portal, name, &[Some(random.of(&["1", "x"]))], false),
            11..=13 => talk.execute(portal, random.of(&[0, 0, 1, 2])),
            14 => match random.below(2) {
                0 => talk.describe('S', name),
                _ => talk.describe('P', portal),
            },
            15 => talk.close('S', name).close('P', portal),
            16 => talk.run(random.of(&TEXTS), &[]),
            _ => talk.sync(),
        };
    }
    let talk = talk.sync().query("ROLLBACK").query("SELECT count(*) FROM t");
    talk.query("DELETE FROM t WHERE id = 100").query("DEALLOCATE ALL").query("CLOSE ALL")
}

/// PostgreSQL warns of portals whose end it has left to nobody, and takes FETCH from one that returns no rows for an error of its own.
fn without_warnings(heard: &str) -> String {
    let lines = heard.lines().filter(|line| !line.contains("skipping cleanup for portal"));
    let theirs = "CXX000 Munsupported portal strategy";
    let told = |line: &str| {
        let ours = ["p", "q"].map(|name| format!("C55000 Mportal \"{name}\" returns no rows"));
        ours.iter().fold(line.to_owned(), |line, ours| line.replace(ours, theirs))
    };
    lines.map(told).collect::<Vec<_>>().join("\n")
}

/// What is heard of each, over one connection; behind one that ended it nothing is.
fn held(socket: &Path, seeds: &[u64]) -> Vec<String> {
    let mut line = Line::new(socket);
    let mut heard = Vec::new();
    for seeds in seeds.chunks(TOGETHER) {
        let talk = |seed: &u64| some(&mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let talks: Vec<Talk> = seeds.iter().map(talk).collect();
        if !line.hold(&talks, &mut heard) {
            break;
        }
    }
    heard
}

#[test]
fn generated_conversations_come_out_as_in_postgresql() {
    let Some(both) = Both::start() else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first = number("CAIRN_SEED").unwrap_or(1);
    let mut left = number("CAIRN_CONVERSATIONS").unwrap_or(CONVERSATIONS);
    let mut next = first;
    while left > 0 {
        let seeds: Vec<u64> = (next..next + left.min(COMPARED)).collect();
        let [ours, theirs] = both.sockets().map(|socket| {
            let seeds = seeds.clone();
            thread::spawn(move || held(&socket, &seeds))
        });
        let (ours, theirs) = (ours.join().expect("ours"), theirs.join().expect("theirs"));
        for ((seed, ours), theirs) in seeds.iter().zip(&ours).zip(&theirs) {
            assert_eq!(without_warnings(ours), without_warnings(theirs), "seed {seed}");
        }
        assert_eq!(ours.len(), theirs.len(), "from seed {next}");
        // Those behind one that ended its connection are held over the next.
        let held = ours.len() as u64;
        (next, left) = (next + held, left - held);
    }
}
