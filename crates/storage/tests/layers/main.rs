//! Layers know only those below them: no module names one above, and none calls what one above adds to its types.

mod sources;

use std::collections::BTreeSet;

use sources::{Source, names_of_root, roots_named};

/// From the lowest to the highest. Those in one line do not know each other.
const LAYERS: &[&[&str]] = &[
    &["broken", "bytes", "counted", "modelled", "simulated", "system_memory", "waits"],
    &["names", "progress", "wakers"],
    &["error", "held", "sync"],
    &["crew", "process", "seam"],
    &["budget"],
    &["io", "stats"],
    &["env", "options"],
    &["log", "page"],
    &["tree"],
    &["engine"],
    &["txn"],
    &["store"],
];

fn sources() -> Vec<Source> {
    let sources = sources::sources();
    assert!(sources.len() > 80, "{} files are not the whole engine", sources.len());
    sources
}

fn layer(module: &str) -> usize {
    let known = LAYERS.iter().position(|layer| layer.contains(&module));
    known.unwrap_or_else(|| panic!("`{module}` is in no layer: put it into the table"))
}

#[test]
fn no_module_names_one_above() {
    let names = names_of_root();
    let mut upward = Vec::new();
    for source in sources() {
        let own = &source.modules[0];
        for name in roots_named(&source) {
            let module = if LAYERS.concat().contains(&name.as_str()) { &name } else { &names[&name] };
            if module != own && layer(module) >= layer(own) {
                upward.push(format!("{} names {module}", source.name()));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

/// The types that a text defines.
fn types(text: &str) -> impl Iterator<Item = &str> {
    let definitions = ["struct ", "enum "].into_iter().flat_map(|keyword| text.split(keyword).skip(1));
    definitions.map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap())
}

/// The type and the functions of each `impl` of a text that other layers can call, those of traits left out.
fn methods(text: &str) -> Vec<(&str, Vec<&str>)> {
    let blocks = text.split("\nimpl").skip(1).filter_map(|rest| {
        let (head, body) = rest.split_once('{')?;
        let name = head.rsplit(' ').find(|word| !word.is_empty())?.split('<').next()?;
        let body = body.split("\n}").next()?;
        let seen = ["pub fn ", "pub(crate) fn "].into_iter().flat_map(|seen| body.split(seen).skip(1));
        let functions = seen.map(|rest| rest.split(['(', '<']).next().unwrap());
        (!head.contains(" for ")).then(|| (name, functions.collect()))
    });
    blocks.collect()
}

/// A type's methods may stand in a layer above it, where they are needed; nothing says so where they are called.
#[test]
fn no_module_calls_what_one_above_adds_to_a_type() {
    let sources = sources();
    let mut defined = BTreeSet::new();
    for source in &sources {
        defined.extend(types(&source.text).map(|name| (name, layer(&source.modules[0]))));
    }
    let is_below =
        |name: &str, own: usize| !defined.contains(&(name, own)) && (0..own).any(|at| defined.contains(&(name, at)));
    let mut upward = Vec::new();
    for above in &sources {
        let own = layer(&above.modules[0]);
        let added = methods(&above.text).into_iter().filter(|(name, _)| is_below(name, own));
        for function in added.flat_map(|(_, functions)| functions) {
            let calls = [format!(".{function}("), format!("::{function}(")];
            let below = sources.iter().filter(|source| layer(&source.modules[0]) < own);
            let callers = below.filter(|source| calls.iter().any(|call| source.text.contains(call)));
            upward.extend(callers.map(|caller| format!("{} calls {function}", caller.name())));
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}
