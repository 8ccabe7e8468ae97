//! The sources of a crate, and what of its own modules they name. Read off the text, which `rustfmt` has laid out; tests beside
//! the code are left out: they may use the whole crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file without comments and tests.
pub struct Source {
    /// From the crate's root.
    pub modules: Vec<String>,
    pub text: String,
}

impl Source {
    /// As its folder has it.
    pub fn name(&self) -> String {
        self.modules.join("/")
    }
}

/// Those of the crate whose test this is.
pub fn sources() -> Vec<Source> {
    let (mut sources, mut of_tests) = (Vec::new(), Vec::new());
    collect(&root(), &[], &mut sources, &mut of_tests);
    sources.retain(|source| !of_tests.iter().any(|test| source.modules.starts_with(test)));
    sources
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// `of_tests` gets the modules that tests alone have.
fn collect(folder: &Path, modules: &[String], into: &mut Vec<Source>, of_tests: &mut Vec<Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let inner: Vec<String> = modules.iter().cloned().chain([name.clone()]).collect();
        if path.is_dir() {
            collect(&path, &inner, into, of_tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let modules = if ["mod", "lib"].contains(&name.as_str()) { modules.to_vec() } else { inner };
            let (text, tests) = without_tests(&fs::read_to_string(&path).unwrap());
            of_tests.extend(tests.into_iter().map(|test| modules.iter().cloned().chain([test]).collect()));
            if !modules.is_empty() {
                into.push(Source { modules, text });
            }
        }
    }
}

/// The text without comments and tests, and the files of tests that it names.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut kept, mut files) = (String::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (indent, code) = line.split_at(line.len() - line.trim_start().len());
        let is_for_tests = code.starts_with("#[cfg(") && code.contains("test");
        let next = lines.peek().map_or("", |next| next.trim_start());
        let module = next.trim_start_matches("pub ").trim_start_matches("pub(crate) ").strip_prefix("mod ");
        match module.filter(|_| is_for_tests) {
            Some(module) if module.ends_with('{') => {
                let end = format!("{indent}}}");
                lines.by_ref().find(|line| *line == end);
            }
            Some(module) => files.push(module.trim_end_matches(';').to_string()),
            None if !code.starts_with("//") => {
                kept.push_str(line);
                kept.push('\n');
            }
            None => {}
        }
    }
    (kept, files)
}

/// The modules that the crate's root takes its names from.
pub fn names_of_root() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("lib.rs")).unwrap();
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
pub fn roots_named(source: &Source) -> Vec<String> {
    let text = &source.text;
    let by_crate = text.match_indices("crate::").map(|(at, found)| at + found.len());
    let up = "super::".repeat(source.modules.len());
    let by_super = text.match_indices(&up).map(|(at, found)| at + found.len());
    by_crate.chain(by_super).flat_map(|at| heads(&text[at..])).collect()
}
