//! What the pages say: their links lead somewhere, their SQL runs, and each is in the table of contents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Those for readers, by their path from the root.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(PathBuf::from).into();
    for folder in ["docs", "docs/decisions"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = Path::new(folder).join(entry.unwrap().file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn text(page: &Path) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// A page's lines outside of blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let outside = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// What stands in `](..)`, and not in code.
fn links(prose: &str) -> Vec<String> {
    let plain: String = prose.split('`').enumerate().filter_map(|(at, part)| (at % 2 == 0).then_some(part)).collect();
    let links = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.to_owned()).collect()
}

/// The anchors of a page's headings, as they are made of their words.
fn anchors(page: &Path) -> BTreeSet<String> {
    let prose = prose(&text(page));
    let headings = prose.lines().filter_map(|line| {
        let words = line.strip_prefix('#')?.trim_start_matches('#').trim();
        let kept = words
            .to_lowercase()
            .chars()
            .filter(|ch| ch.is_alphanumeric() || matches!(ch, ' ' | '-' | '_'))
            .collect::<String>();
        Some(kept.replace(' ', "-"))
    });
    headings.collect()
}

/// Blocks of this language, one after the other.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for page in pages() {
        for link in links(&prose(&text(&page))) {
            count += 1;
            if link.starts_with("https://") {
                continue;
            }
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            // (Pages that lie beside the folder of pages are beside them in the site.)
            let is_contents =
                page.ends_with("SUMMARY.md") && matches!(file, "README.md" | "CHANGELOG.md" | "CONTRIBUTING.md");
            let folder = if is_contents { Path::new("") } else { page.parent().unwrap() };
            let target = if file.is_empty() { page.clone() } else { folder.join(file) };
            assert!(root().join(&target).exists(), "{}: {link} leads nowhere", page.display());
            if let Some(anchor) = anchor {
                assert!(anchors(&target).contains(anchor), "{}: {link}: no such heading", page.display());
            }
        }
    }
    assert!(count > 100, "{count} links are all that was found");
}

#[test]
fn each_page_is_in_the_contents_once() {
    let contents = Path::new("docs/SUMMARY.md");
    let mut listed = links(&text(contents));
    listed.sort();
    let name = |page: PathBuf| page.strip_prefix("docs").map_or(page.clone(), Path::to_owned).display().to_string();
    let mut there: Vec<String> = pages().into_iter().filter(|page| page != contents).map(name).collect();
    there.sort();
    assert_eq!(listed, there);
}

/// Each page's in a database of its own, in their order. (`sql.md`'s are run by `sql_reference`, each by itself.)
#[test]
fn the_pages_statements_run() {
    let mut count = 0;
    for page in pages().into_iter().filter(|page| !page.ends_with("sql.md")) {
        let script = blocks(&text(&page), "sql").join("\n");
        if script.is_empty() {
            continue;
        }
        count += 1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.sql");
        fs::write(&path, script).unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_cairn")).arg(":memory:").arg("-f").arg(&path).output().unwrap();
        assert!(run.status.success(), "{}: {}", page.display(), String::from_utf8_lossy(&run.stderr));
    }
    assert!(count >= 8, "{count} pages with statements are all that was found");
}
