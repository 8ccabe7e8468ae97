//! Layers know only those below them, but for what is listed here: a list that only gets shorter.

use std::collections::BTreeSet;

#[path = "../../storage/tests/layers/sources.rs"]
mod sources;

use sources::{Source, names_of_root, roots_named};

/// From the lowest to the highest.
const LAYERS: [&str; 29] = [
    "error",
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
    "salvage",
    "reference",
];

/// Files that name modules above their own, by what keeps them from not doing so.
const UPWARD: &[(&str, &[(&str, &str)])] = &[
    (
        "the context of values knows who runs bodies",
        &[
            ("dml/triggers", "routine"),
            ("exec/scroll", "routine"),
            ("types/context", "routine"),
            ("types/context", "state"),
        ],
    ),
    (
        "views are bound for the types of their columns, which system relations tell",
        &[("system/relation", "bind"), ("system/functions", "bind"), ("system/information_schema/relations", "bind")],
    ),
    ("entries of the schema's functions know their routine", &[("functions/catalogue", "catalog")]),
    ("single uses", &[("catalog/store", "change_feed"), ("types/from_syntax", "sql")]),
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
fn no_module_names_one_above_but_those_listed() {
    let sources = sources::sources();
    assert!(sources.len() > 500, "{} files are not the whole crate", sources.len());
    let found = upward(&sources);
    let listed: BTreeSet<(String, String)> = UPWARD
        .iter()
        .flat_map(|(_, uses)| *uses)
        .map(|(file, module)| (file.to_string(), module.to_string()))
        .collect();
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(new.is_empty(), "these name modules above their own: {new:#?}");
    assert!(gone.is_empty(), "these do not any more; take them from the list: {gone:#?}");
}
