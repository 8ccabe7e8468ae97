//! Runs the probes and shows what they took.

use super::advice::{Measured, advise};
use super::method::{Method, Space};
use super::probe::{Medium, Probe, Took};
use crate::Result;
use crate::args::SyncArgs;
use crate::machine::{Machine, filesystem_of, load_average};
use crate::table::{align, shown};

const SIZES: [usize; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
const THREADS: [usize; 4] = [1, 2, 4, 8];
const PAGE: usize = 4096;

/// A probe and what it took, or that it does not work here.
type Cell = Option<Took>;

pub fn run(args: &SyncArgs) -> Result<()> {
    let scratch = args.dir.join(format!("cairn-bench-sync-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let outcome = Medium::new(&scratch, args.seconds, THREADS[3]).and_then(|medium| show(args, &medium));
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

fn show(args: &SyncArgs, medium: &Medium) -> Result<()> {
    // Before our own writes count.
    let busy = load_average().filter(|load| *load > 0.5);
    let filesystem = filesystem_of(&args.dir).unwrap_or_default();
    println!("{}; {filesystem}", Machine::here());
    let sizes = by_size(medium);
    println!("\nOne durable write by its size, into space written before, one thread: p50, us\n{}", sizes.shown);
    let (spaces, again) = by_space(medium);
    println!("4 KiB by the space it goes into, one thread: p50 / p99, us\n{spaces}");
    let threads = by_threads(medium);
    println!("4 KiB by the number of threads, into one file: writes a second, all together\n{}", threads.shown);
    if let Some(load) = busy {
        println!("The machine was busy before (load average {load:.1}): measure again when it is not.\n");
    }
    println!("Recommended:");
    let pages = best_of(&sizes.of(PAGE), &again);
    let best = pages.iter().min_by(|a, b| a.1.p50_us.total_cmp(&b.1.p50_us)).map(|(method, _)| *method);
    let rate = |count: usize| threads.of(count).iter().find(|(method, _)| Some(*method) == best).map(|(_, took)| *took);
    let most = THREADS[THREADS.len() - 1];
    let measured = Measured {
        methods: &pages,
        rates: rate(1).zip(rate(most)).map(|(one, many)| (one.per_second, most, many.per_second)),
        large_us: sizes.of(SIZES[7]).iter().find(|(method, _)| Some(*method) == best).map(|(_, took)| took.p50_us),
        in_memory: matches!(filesystem.as_str(), "tmpfs" | "ramfs"),
    };
    advise(&measured).into_iter().for_each(|line| println!("- {line}"));
    Ok(())
}

/// Cells by what was varied, and as text.
struct Grid {
    cells: Vec<(usize, Vec<(Method, Cell)>)>,
    shown: String,
}

impl Grid {
    /// The methods that worked there.
    fn of(&self, key: usize) -> Vec<(Method, Took)> {
        let row = self.cells.iter().find(|(known, _)| *known == key).map(|(_, row)| row.as_slice()).unwrap_or_default();
        row.iter().filter_map(|(method, cell)| cell.map(|took| (*method, took))).collect()
    }
}

fn by_size(medium: &Medium) -> Grid {
    let probe = |bytes, method| Probe { method, space: Space::Written, bytes, threads: 1 };
    grid(medium, "bytes", &SIZES, probe, |took| shown(took.p50_us))
}

fn by_threads(medium: &Medium) -> Grid {
    let probe = |threads, method| Probe { method, space: Space::Written, bytes: PAGE, threads };
    grid(medium, "threads", &THREADS, probe, |took| format!("{:.0}", took.per_second))
}

fn grid(
    medium: &Medium,
    of: &str,
    keys: &[usize],
    probe: impl Fn(usize, Method) -> Probe,
    text: impl Fn(Took) -> String,
) -> Grid {
    let row = |key: &usize| (*key, Method::ALL.map(|method| (method, medium.time(probe(*key, method)).ok())).to_vec());
    let cells: Vec<(usize, Vec<(Method, Cell)>)> = keys.iter().map(row).collect();
    let line = |(key, row): &(usize, Vec<(Method, Cell)>)| {
        let shown = row.iter().map(|(_, cell)| cell.map_or_else(|| "refused".to_string(), &text));
        std::iter::once(key.to_string()).chain(shown).collect()
    };
    let lines: Vec<Vec<String>> = std::iter::once(head(of)).chain(cells.iter().map(line)).collect();
    Grid { cells, shown: align(&lines, &[]) }
}

/// As text, and the cells of space written before.
fn by_space(medium: &Medium) -> (String, Vec<(Method, Took)>) {
    let text = |took: Took| format!("{} / {}", shown(took.p50_us), shown(took.p99_us));
    let mut lines = vec![head("space")];
    let mut written = Vec::new();
    for space in Space::ALL {
        let cells = Method::ALL.map(|method| medium.time(Probe { method, space, bytes: PAGE, threads: 1 }).ok());
        let shown = cells.iter().map(|cell| cell.map_or_else(|| "refused".to_string(), text));
        lines.push(std::iter::once(space.name().to_string()).chain(shown).collect());
        if space == Space::Written {
            written = Method::ALL.into_iter().zip(cells).filter_map(|(method, cell)| Some((method, cell?))).collect();
        }
    }
    (align(&lines, &[0]), written)
}

/// Of two measurements of the same the quicker: what disturbs one only adds to it.
fn best_of(first: &[(Method, Took)], again: &[(Method, Took)]) -> Vec<(Method, Took)> {
    let quicker = |&(method, took): &(Method, Took)| {
        let other = again.iter().find(|(known, _)| *known == method).map(|(_, took)| *took);
        (method, other.filter(|other| other.p50_us < took.p50_us).unwrap_or(took))
    };
    first.iter().map(quicker).collect()
}

fn head(first: &str) -> Vec<String> {
    std::iter::once(first.to_string()).chain(Method::ALL.map(|method| method.name().to_string())).collect()
}
