//! What `docs/architecture.md` names is there: files, and what stands in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Words of Rust and SQL that the document has beside names of ours.
const OTHERS: [&str; 3] = ["Send", "pg_settings", "pg_stat_progress_create_index"];
/// What stands before a name that is defined.
const DEFINING: [&str; 9] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "macro_rules!"];

/// Paths of the repository, with what is defined in those that are Rust.
struct Tree(BTreeMap<String, BTreeSet<String>>);

impl Tree {
    fn of(root: &Path) -> Tree {
        let mut tree = Tree(BTreeMap::new());
        for folder in ["bindings", "crates", "docs"] {
            tree.collect(&root.join(folder), folder);
        }
        tree
    }

    fn collect(&mut self, folder: &Path, name: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            if file.starts_with('.') || file == "target" {
                continue;
            }
            let inner = format!("{name}/{file}");
            if path.is_dir() {
                self.0.insert(inner.clone(), BTreeSet::new());
                self.collect(&path, &inner);
            } else {
                let defined =
                    if file.ends_with(".rs") { defined(&fs::read_to_string(&path).unwrap()) } else { BTreeSet::new() };
                self.0.insert(inner, defined);
            }
        }
    }

    /// Those that end so.
    fn paths(&self, end: &str) -> Vec<&String> {
        let end = end.trim_end_matches('/');
        self.0
            .keys()
            .filter(|path| path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
            .collect()
    }

    /// Whether a name is defined in one of these files and folders; in any, where there are none.
    fn defines(&self, name: &str, within: &[&String]) -> bool {
        let is_within = |path: &String| within.iter().any(|one| path.starts_with(*one));
        self.0.iter().any(|(path, defined)| (within.is_empty() || is_within(path)) && defined.contains(name))
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && !"_!".contains(c)).filter(|word| !word.is_empty())
}

/// Names of items, and what begins a line: fields, variants.
fn defined(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let words: Vec<&str> = words(line).filter(|word| !["pub", "crate", "super"].contains(word)).collect();
        let items = words.windows(2).filter(|pair| DEFINING.contains(&pair[0])).map(|pair| pair[1]);
        found.extend(items.chain(words.first().copied()).map(str::to_owned));
    }
    found
}

/// What a document has in backticks outside of its pictures, each with what stands between it and the one before.
fn named(document: &str) -> Vec<(String, String)> {
    let prose: String = document.split("```").step_by(2).collect();
    let parts: Vec<&str> = prose.split('`').collect();
    parts.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].replace('\n', " "))).collect()
}

fn is_path(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_./-".contains(c));
    is_plain && (name.contains('/') || [".rs", ".md", ".tsv", ".txt"].iter().any(|end| name.ends_with(end)))
}

fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "_:".contains(c))
}

/// What is named and not there. A name that directly follows a file's is looked for in that file.
fn missing(document: &str, tree: &Tree) -> Vec<String> {
    let (mut missing, mut before) = (Vec::new(), Vec::new());
    for (between, name) in named(document) {
        if !between.trim().is_empty() {
            before.clear();
        }
        if is_path(&name) {
            before = tree.paths(&name);
            if before.is_empty() {
                missing.push(name);
            }
        } else if is_name(&name) {
            let last = name.rsplit("::").next().unwrap();
            let is_there = OTHERS.contains(&last) || tree.defines(last, &before);
            if !is_there && (!before.is_empty() || tree.paths(last).is_empty()) {
                missing.push(name);
            }
        }
    }
    missing
}

#[test]
fn what_the_tour_of_the_code_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    assert!(named(&document).len() > 300, "the document is read");
    let missing = missing(&document, &Tree::of(&root));
    assert!(
        missing.is_empty(),
        "docs/architecture.md names what is not there, or not in the file that it stands behind: {missing:#?}"
    );
}

#[test]
fn what_is_not_there_is_found() {
    let files =
        [("crates/a/src/x.rs", "pub(crate) fn one() {}"), ("crates/a/src/y.rs", "struct Two {\n    three: u8,\n}")];
    let mut tree = Tree(files.iter().map(|(path, text)| (path.to_string(), defined(text))).collect());
    tree.0.insert("crates/a/src".to_owned(), BTreeSet::new());
    assert!(missing("`a/src`, `x.rs` `one`; `y.rs` `Two`, `three`. `UPDATE t SET a = 1`", &tree).is_empty());
    assert_eq!(missing("`z.rs`, `x.rs` `Two`, `four`", &tree), ["z.rs", "Two", "four"]);
}
