//! Whatever is public has an example that runs: each type, trait and function one of its own, each method at least a place in one.
//! The sources are read as text, since there is no lint for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What only this project's own crates use, and what examples of others show whole.
const SHOWN_ELSEWHERE: &[&str] = &[
    // By the async crate, whose examples run it.
    "Pooled",
    "NonBlocking",
    "PlanCache",
    "forget_losses",
    "renew_interrupt",
    "pipelined",
    "end_use",
    // With the storage engine's types, for whoever builds on it.
    "salvage_in",
    // `internals`
    "ById",
    "upserted",
    "left_out",
    "column_of",
    "text_for",
    "refuse_names",
    "sample_types",
];

/// What has the names of public types, and is not public.
const INSIDE: &[&str] = &["catalog", "dml"];

/// A file's lines.
struct Source(Vec<String>);

/// Something public: what it is called, and whether its documentation has an example.
struct Item {
    name: String,
    has_example: bool,
}

impl Source {
    fn read(path: &Path) -> Source {
        Source(fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect())
    }

    /// What is written behind any of these words at the beginning of a line.
    fn items(&self, words: &[&str]) -> Vec<(usize, Item)> {
        let name_of = |line: &String| {
            let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
            let rest = rest.trim_start_matches("const ").trim_start_matches("async ");
            let rest = rest.strip_prefix("fn ").unwrap_or(rest);
            Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>())
        };
        let item = |(at, line): (usize, &String)| {
            let name = name_of(line)?;
            Some((at, Item { name, has_example: self.has_example_above(at) }))
        };
        self.0.iter().enumerate().filter_map(item).collect()
    }

    /// Whether the documentation above this line, and above what attributes it has, has an example.
    fn has_example_above(&self, at: usize) -> bool {
        let above = self.0[..at].iter().rev().map(|line| line.trim_start());
        let is_above = |line: &&str| !line.is_empty() && *line != "}" && !line.starts_with("//!");
        above.take_while(is_above).any(|line| line.contains("```"))
    }

    /// The code of its examples.
    fn examples(&self) -> String {
        let (mut code, mut inside) = (String::new(), false);
        for line in &self.0 {
            let line = line.trim_start();
            let Some(text) = ["///", "//!"].iter().find_map(|sign| line.strip_prefix(sign)) else {
                inside = false;
                continue;
            };
            match text.trim_start().starts_with("```") {
                true => inside = !inside && !text.contains("text"),
                false if inside => code = code + text + "\n",
                false => {}
            }
        }
        code
    }

    /// The names that `pub use` gives out.
    fn given_out(&self) -> Vec<String> {
        let text = self.0.join("\n");
        let lists = text.split("pub use ").skip(1).map(|rest| rest.split_once(';').map_or("", |(list, _)| list));
        let names = lists.flat_map(|list| list.rsplit_once("::").map_or("", |(_, names)| names).split([',', '{', '}']));
        names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, others): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = others.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.chain(folders.iter().flat_map(|folder| files(folder))).collect()
}

/// What lacks an example in a crate.
fn lacking(folder: &Path, faces: &[&str], everything_of: &[&str]) -> Vec<String> {
    let sources: Vec<(PathBuf, Source)> =
        files(folder).into_iter().map(|path| (path.clone(), Source::read(&path))).collect();
    let mut public: BTreeSet<String> =
        faces.iter().flat_map(|face| Source::read(&folder.join(face)).given_out()).collect();
    let kinds = ["pub struct ", "pub enum ", "pub trait "];
    for file in everything_of {
        public.extend(Source::read(&folder.join(file)).items(&kinds).into_iter().map(|(_, item)| item.name));
    }
    let examples: String = sources.iter().map(|(_, source)| source.examples()).collect();
    let is_shown = |name: &str| examples.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let mut lacking = Vec::new();
    for (path, source) in &sources {
        let place = path.strip_prefix(folder).unwrap();
        if INSIDE.iter().any(|inside| place.starts_with(inside)) {
            continue;
        }
        let place = place.display();
        let types = source.items(&[&kinds[..], &["pub fn "]].concat());
        let types = types.into_iter().map(|(_, item)| item).filter(|item| public.contains(&item.name));
        lacking.extend(
            types.filter(|item| !item.has_example).map(|item| (item.name.clone(), format!("{place}: {}", item.name))),
        );
        for (at, method) in source.items(&["    pub fn ", "    pub const fn ", "    pub async fn "]) {
            let head =
                source.0[..at].iter().rev().find(|line| line.starts_with("impl") || line.starts_with("pub trait"));
            let of = head.map_or("", |line| line.trim_end_matches('{').trim());
            let of = of.rsplit(" for ").next().unwrap_or(of);
            let of = of.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| public.contains(*word));
            if let Some(of) = of
                && !method.has_example
                && !is_shown(&method.name)
            {
                lacking.push((method.name.clone(), format!("{place}: {of}::{}", method.name)));
            }
        }
    }
    lacking.into_iter().filter(|(name, _)| !SHOWN_ELSEWHERE.contains(&name.as_str())).map(|(_, text)| text).collect()
}

#[test]
fn everything_public_has_an_example() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let faces = ["lib.rs", "reference/mod.rs", "salvage/mod.rs"];
    let mut found = lacking(&crates.join("cairndb/src"), &faces, &["api/schema.rs"]);
    found.extend(lacking(&crates.join("async/src"), &["lib.rs"], &[]));
    assert!(found.is_empty(), "without an example:\n{}", found.join("\n"));
}
