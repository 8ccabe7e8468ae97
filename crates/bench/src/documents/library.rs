//! The library by itself, in memory: what finding a document by an indexed path takes beside a point SELECT, and whether the time that a refusal
//! takes tells what rules hide from what is not there. What is compared is asked by turns.

use cairndb::{Collection, Connection, Database, Rules};

use crate::Result;
use crate::latency::Latencies;
use crate::table::align;

/// Questions of a round.
const QUESTIONS: u64 = 20_000;
/// Documents that are inserted together.
const BATCH: u64 = 10_000;
/// Who asks, and who owns what he does not see.
const CLAIMS: &str = r#"{"sub": "ada"}"#;

pub fn run(documents: u64, rounds: usize) -> Result<()> {
    let database = Database::open_in_memory()?;
    let connection = database.connect()?;
    let load = filled(&connection, documents)?;
    let mut lines = vec![["what", "p50 us", "p95 us", "p99 us"].map(str::to_owned).to_vec()];
    lines.extend(finding(&connection, &load, documents, rounds)?);
    let mut rules = Rules::default();
    let own = Some("doc -> 'by' = claims -> 'sub'".to_owned());
    (rules.view, rules.update, rules.delete) = (own.clone(), own.clone(), own);
    load.set_rules(&rules)?;
    let of_ada = connection.collection("load")?.for_claims(CLAIMS.parse()?)?;
    lines.extend(hidden(&of_ada, documents, rounds)?);
    print!("{}", align(&lines, &[0]));
    Ok(())
}

/// A collection of so many documents, of which none is Ada's, with an index on a path.
fn filled(connection: &Connection, documents: u64) -> Result<Collection<'_>> {
    let load = connection.create_collection("load")?;
    for first in (0..documents).step_by(BATCH as usize) {
        let text = "x".repeat(60);
        connection.transaction(|_| {
            for n in first..documents.min(first + BATCH) {
                load.insert_as(format!("d{n}"), format!(r#"{{"n": {n}, "by": "bob", "text": "{text}"}}"#))?;
            }
            Ok(())
        })?;
    }
    load.create_index("n")?;
    Ok(load)
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn finding(connection: &Connection, load: &Collection<'_>, documents: u64, rounds: usize) -> Result<Vec<Vec<String>>> {
    let sql = "SELECT doc FROM load WHERE id = $1";
    let mut prepared = connection.prepare(sql)?;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut all = [Latencies::new()?, Latencies::new()?, Latencies::new()?];
    for _ in 0..rounds as u64 * QUESTIONS {
        // (Each of another document: who asks for one that was just found has it in the processor's cache.)
        let [n, first, second] = [(); 3].map(|()| random.below(documents));
        let [id, first, second] = [n, first, second].map(|n| format!("d{n}"));
        let filter = format!(r#"{{"n": {n}}}"#);
        let found = all[0].time(|| Ok(load.find(filter.as_str()).one()?))?;
        if found.is_none_or(|found| found.id_text() != id) {
            return Err(format!("{filter} has found something else").into());
        }
        let by_text = all[1].time(|| Ok(connection.query(sql, (first.as_str(),))?.next()?.is_some()))?;
        let by_plan = all[2].time(|| Ok(prepared.query((second.as_str(),))?.next()?.is_some()))?;
        if !(by_text && by_plan) {
            return Err(format!("{first} or {second} is not there").into());
        }
    }
    let names = ["find by an indexed path", "point SELECT by its text", "point SELECT, prepared"];
    let mut lines: Vec<_> = names.iter().zip(&all).map(|(name, of)| line(name, of)).collect();
    let ratio = |of: &Latencies| format!("{:.2}", all[0].quantile_us(0.5) / of.quantile_us(0.5));
    for (name, of) in names.iter().zip(&all).skip(1) {
        lines.push(vec![format!("find to {name}, p50"), ratio(of), String::new(), String::new()]);
    }
    Ok(lines)
}

/// What a refusal takes.
type Attempt<'a> = (&'a str, &'a dyn Fn(&str) -> cairndb::Result<bool>);

fn hidden(of_ada: &Collection<'_>, documents: u64, rounds: usize) -> Result<Vec<Vec<String>>> {
    let attempts: [Attempt<'_>; 4] = [
        ("view", &|id| Ok(of_ada.get(id)?.is_some())),
        ("replace", &|id| Ok(of_ada.replace(id, r#"{"by": "ada"}"#)?.is_some())),
        ("delete", &|id| of_ada.delete(id)),
        ("patch", &|id| Ok(of_ada.update(id, r#"{"by": "ada"}"#)?.is_some())),
    ];
    let mut lines = Vec::new();
    for (name, attempt) in attempts {
        let mut random = Random(0xD1B5_4A32_D192_ED03);
        let mut all = [Latencies::new()?, Latencies::new()?];
        for turn in 0..rounds as u64 * QUESTIONS {
            let n = random.below(documents);
            // (As long, and lying at the same place in the tree.)
            let ids = [format!("d{n}"), format!("d{}e", n / 10)];
            let order = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
            for at in order {
                if all[at].time(|| Ok(attempt(&ids[at])?))? {
                    return Err(format!("{name} {}: it is not hidden", ids[at]).into());
                }
            }
        }
        for (what, of) in ["hidden", "not there"].iter().zip(&all) {
            lines.push(line(&format!("{name}, {what}"), of));
        }
    }
    Ok(lines)
}

fn line(name: &str, of: &Latencies) -> Vec<String> {
    let us = |share: f64| format!("{:.2}", of.quantile_us(share));
    vec![name.to_owned(), us(0.5), us(0.95), us(0.99)]
}
