//! Layers know only those below them: no module names one above, and none calls what one above adds to its types.
//!
//! Read off the text of the sources, which `rustfmt` has laid out. Tests beside the code may use the whole engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest to the highest. Those in one line do not know each other.
const LAYERS: &[&[&str]] = &[
    &["broken", "bytes", "counted", "modelled", "simulated"],
    &["names", "wakers"],
    &["error", "held", "sync"],
    &["process"],
    &["io", "stats"],
    &["env", "options"],
    &["log", "page"],
    &["tree"],
    &["engine"],
    &["txn"],
    &["store"],
];

fn layer(module: &str) -> usize {
    let known = LAYERS.iter().position(|layer| layer.contains(&module));
    known.unwrap_or_else(|| panic!("`{module}` is in no layer: put it into the table"))
}

/// A source file without comments and tests.
struct Source {
    path: PathBuf,
    /// From the crate's root.
    modules: Vec<String>,
    text: String,
}

fn collect(folder: &Path, modules: &[String], into: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let inner: Vec<String> = modules.iter().cloned().chain([name.clone()]).collect();
        if path.is_dir() {
            collect(&path, &inner, into);
        } else if !["lib", "tests", "models"].contains(&name.as_str()) {
            let modules = if name == "mod" { modules.to_vec() } else { inner };
            let text = without_tests(&fs::read_to_string(&path).unwrap());
            into.push(Source { path, modules, text });
        }
    }
}

fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (indent, code) = line.split_at(line.len() - line.trim_start().len());
        let is_for_tests = code.starts_with("#[cfg(") && code.contains("test");
        let module = lines.peek().map_or("", |next| next.trim_start());
        if is_for_tests && module.starts_with("mod ") && module.ends_with('{') {
            let end = format!("{indent}}}");
            lines.by_ref().find(|line| *line == end);
        } else if !code.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut sources);
    assert!(sources.len() > 80, "{} files are not the whole engine", sources.len());
    sources
}

/// The modules that the crate's root takes its names from.
fn names_of_root() -> BTreeMap<String, String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let exports = text.split("pub use ").skip(1).map(|rest| rest.split_once(';').unwrap().0);
    let names = exports.flat_map(|export| {
        let (module, _) = export.split_once("::").unwrap();
        heads(&export[module.len() + 2..]).into_iter().map(|name| (name, module.to_string()))
    });
    names.collect()
}

/// The first names of what follows `crate::`: one, or each of those in braces.
fn heads(path: &str) -> Vec<String> {
    let name = |part: &str| part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut part, mut found) = (1, String::new(), Vec::new());
    for c in list.chars() {
        depth = depth + i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 1 => found.push(std::mem::take(&mut part)),
            _ if depth == 0 => break,
            _ => part.push(c),
        }
    }
    found.push(part);
    found.iter().map(|part| name(part.trim())).filter(|name| !name.is_empty()).collect()
}

/// What a file names of the crate's root: by `crate::`, or by as many `super::` as lead there.
fn roots_named(source: &Source) -> Vec<String> {
    let text = &source.text;
    let by_crate = text.match_indices("crate::").map(|(at, found)| at + found.len());
    let up = "super::".repeat(source.modules.len());
    let by_super = text.match_indices(&up).map(|(at, found)| at + found.len());
    by_crate.chain(by_super).flat_map(|at| heads(&text[at..])).collect()
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
                upward.push(format!("{} names {module}", source.path.display()));
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
            upward.extend(callers.map(|caller| format!("{} calls {function}", caller.path.display())));
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}
