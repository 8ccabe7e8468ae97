//! What readers cost writers, and point reads themselves: `cargo run --release -p cairn-storage --example readers WHAT [N]`.
//!
//! Everything in memory, one thread beside the store's own. `reads`: N point gets by one session. `writes`: N point puts.
//! `held`: N point puts each with 0, 100, 1,000 and 4,000 snapshots of different versions held, in alternating rounds.
//! `idle`: the same with 1, 100 and 10,000 sessions that do nothing.

use std::time::Instant;

use cairn_storage::{Acknowledge, Durability, Options, Result, Session, Snapshot, Store, TreeId, WriteError};

const TREE: TreeId = TreeId::CATALOG;
const ROWS: u64 = 100_000;
const ROUNDS: usize = 9;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let count: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    match what.as_str() {
        "reads" => {
            let store = loaded()?;
            let mut session = store.session()?;
            let began = Instant::now();
            (0..count).try_for_each(|i| read(&mut session, i))?;
            println!("{:.0} ns a read", began.elapsed().as_nanos() as f64 / count as f64);
        }
        "writes" => {
            let store = loaded()?;
            println!("{:.0} ns a write", writes(&mut store.session()?, count)?);
        }
        "held" => compare(count, &[0, 100, 1000, 4000], held)?,
        "idle" => {
            compare(count, &[1, 100, 10_000], |store, sessions| (0..sessions).map(|_| store.session()).collect())?
        }
        _ => eprintln!("reads, writes, held or idle?"),
    }
    Ok(())
}

fn scattered(i: u64) -> [u8; 8] {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % ROWS).to_be_bytes()
}

fn loaded() -> Result<Store> {
    let mut options = Options::default();
    options.durability = Durability::Off;
    options.max_snapshots = 8192;
    let store = Store::open_in_memory(options)?;
    let transaction = store.begin()?;
    for i in 0..ROWS {
        transaction.put(TREE, &i.to_be_bytes(), &[7; 100])?;
    }
    transaction.commit(Some(Durability::Full))?;
    Ok(store)
}

fn read(session: &mut Session, i: u64) -> Result<()> {
    let found = session.read::<_, ()>(|reader| Ok(reader.get(TREE, &scattered(i))?.map(|value| value[0])));
    assert!(matches!(found, Ok(Some(_))));
    Ok(())
}

/// Nanoseconds a write.
fn writes(session: &mut Session, count: u64) -> Result<f64> {
    let began = Instant::now();
    for i in 0..count {
        let put = session.write::<_, ()>(Acknowledge::Now(None), |writer| {
            writer.put(TREE, &scattered(i), &[i as u8; 100]).map_err(WriteError::from)
        });
        assert!(put.is_ok());
    }
    Ok(began.elapsed().as_nanos() as f64 / count as f64)
}

fn held(store: &Store, snapshots: usize) -> Result<Vec<Snapshot>> {
    let mut session = store.session()?;
    (0..snapshots)
        .map(|_| {
            writes(&mut session, 1)?;
            store.snapshot()
        })
        .collect()
}

/// Times writes beside what `beside` makes, for each number of it, and prints medians and what they are to the first's.
fn compare<T>(count: u64, numbers: &[usize], beside: impl Fn(&Store, usize) -> Result<Vec<T>>) -> Result<()> {
    let mut found = vec![Vec::new(); numbers.len()];
    for _ in 0..ROUNDS {
        for (number, found) in numbers.iter().zip(&mut found) {
            let store = loaded()?;
            let beside = beside(&store, *number)?;
            found.push(writes(&mut store.session()?, count)?);
            drop(beside);
        }
    }
    found.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    for (number, times) in numbers.iter().zip(&found) {
        let (least, median, most) = (times[0], times[ROUNDS / 2], times[ROUNDS - 1]);
        println!("{number}: {median:.0} ns a write ({least:.0} to {most:.0}), {:.2} x", median / found[0][ROUNDS / 2]);
    }
    Ok(())
}
