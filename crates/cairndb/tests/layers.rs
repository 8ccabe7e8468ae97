//! Layers know only those below them. What has to ask above gets a trait of its own layer, which is implemented there
//! (`types::FunctionCalls`, `system::BoundViews`, `routine::StatementHost`).

use std::collections::BTreeSet;

#[path = "../../storage/tests/layers/sources.rs"]
mod sources;

use sources::{Source, names_of_root, roots_named};

/// From the lowest to the highest.
const LAYERS: [&str; 28] = [
    "error",
    "clock",
    "notice",
    "types",
    "columns",
    "state",
    "inverted",
    "functions",
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
