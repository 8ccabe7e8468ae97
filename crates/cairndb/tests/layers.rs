//! Layers know only those below them. What has to ask above gets a trait of its own layer, which is implemented there
//! (`types::FunctionCalls`, `system::BoundViews`, `routine::StatementHost`). What the tour of them names is there.

use std::collections::BTreeSet;

#[path = "layers/architecture.rs"]
mod architecture;
#[path = "../../storage/tests/layers/sources.rs"]
mod sources;

use sources::{Source, names_of_root, roots_named};

/// From the lowest to the highest.
const LAYERS: [&str; 33] = [
    "sync",
    "error",
    "interrupt",
    "clock",
    "notice",
    "types",
    "columns",
    "state",
    "inverted",
    "functions",
    "settings",
    "catalog",
    "change_feed",
    "sql",
    "copy",
    "command",
    "plan",
    "system",
    "bind",
    "exec",
    "result",
    "dml",
    "point",
    "prepared",
    "routine",
    "ddl",
    "session",
    "verify",
    "api",
    "documents",
    "dump",
    "salvage",
    "reference",
];

fn layer(module: &str) -> usize {
    let known = LAYERS.iter().position(|layer| *layer == module);
    known.unwrap_or_else(|| panic!("`{module}` is in no layer: put it into the table"))
}

/// The upward uses of the sources, a file and a module each.
fn upward(sources: &[Source]) -> BTreeSet<(String, String)> {
    let names = names_of_root();
    let mut upward = BTreeSet::new();
    for source in sources {
        let own = &source.modules[0];
        for name in roots_named(source) {
            // (What is neither is another crate's, or a macro.)
            let Some(module) =
                LAYERS.iter().find(|layer| **layer == name).copied().or(names.get(&name).map(String::as_str))
            else {
                continue;
            };
            if LAYERS.contains(&module) && layer(module) > layer(own) {
                upward.insert((source.name(), module.to_string()));
            }
        }
    }
    upward
}

#[test]
fn no_module_names_one_above() {
    let sources = sources::sources();
    assert!(sources.len() > 500, "{} files are not the whole crate", sources.len());
    let found = upward(&sources);
    assert!(found.is_empty(), "these name modules above their own: {found:#?}");
}

/// What a simulation could not own. (Tests beside the code are left out of the sources.)
const STDS: [&str; 12] = [
    "Condvar",
    "Instant::now",
    "Mutex",
    "MutexGuard",
    "PoisonError",
    "RwLock",
    "SystemTime::now",
    "elapsed()",
    "std::thread",
    "thread::scope",
    "thread::sleep",
    "thread::spawn",
];

/// The names of std's that a text takes: of `use std::sync::..` each, others wherever they stand.
fn taken_of_std(text: &str) -> Vec<&'static str> {
    let imported = text.split("use std::sync::").skip(1).map(|rest| rest.split(';').next().unwrap());
    let words: Vec<&str> = imported.flat_map(|list| list.split(|c: char| !c.is_alphanumeric())).collect();
    let is_taken = |name: &&&str| match name.contains([':', '(']) {
        true => text.contains(**name),
        false => words.contains(*name) || text.contains(&format!("std::sync::{name}")),
    };
    STDS.iter().filter(is_taken).copied().collect()
}

#[test]
fn locks_threads_and_the_clock_are_taken_from_one_file() {
    let sources = sources::sources();
    let taking = sources.iter().filter(|source| source.name() != "sync");
    let taking =
        taking.map(|source| (source.name(), taken_of_std(&source.text))).filter(|(_, taken)| !taken.is_empty());
    let taking: Vec<_> = taking.collect();
    assert!(taking.is_empty(), "take these from `crate::sync`: {taking:#?}");
}

#[test]
fn what_is_taken_of_std_is_seen() {
    assert_eq!(taken_of_std("use std::sync::{Arc, Mutex};\n"), ["Mutex"]);
    assert_eq!(
        taken_of_std("let began = Instant::now();\nstd::thread::sleep(a);"),
        ["Instant::now", "std::thread", "thread::sleep"]
    );
    assert!(taken_of_std("use crate::sync::Mutex;\nuse std::sync::Arc;\n").is_empty());
}
