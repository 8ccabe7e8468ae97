//! The client in TypeScript, made from the OpenAPI document, against a server. (`CAIRN_INSIST=1` fails where npm is missing.)
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::installed::{has, installed};
use super::*;

/// What its script says that holds.
const ITEMS: [&str; 6] = ["documents", "errors", "batches", "stream", "resumed", "ended"];

const SOURCES: [&str; 5] = ["package.json", "package-lock.json", "tsconfig.json", "src/index.ts", "test/client.mjs"];
const DOCUMENT: &str = "crates/http/src/openapi.json";

fn built() -> Option<PathBuf> {
    if !has("node", "--version") || !has("npm", "--version") {
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files: Vec<PathBuf> = SOURCES.iter().map(|name| Path::new("clients/typescript").join(name)).collect();
    let files: Vec<PathBuf> = files.into_iter().chain([DOCUMENT.into()]).collect();
    let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(root.join(file)).unwrap()).collect();
    let folder = installed("typescript", &texts.concat(), |folder| {
        for (file, text) in files.iter().zip(&texts) {
            let to = folder.join(file);
            std::fs::create_dir_all(to.parent().unwrap()).and_then(|()| std::fs::write(to, text)).unwrap();
        }
        let npm = |arguments: &[&str]| {
            let mut command = Command::new("npm");
            command.args(arguments).current_dir(folder.join("clients/typescript"));
            command
        };
        vec![npm(&["ci", "--no-audit", "--no-fund", "--ignore-scripts"]), npm(&["run", "build"])]
    })?;
    Some(folder.join("clients/typescript"))
}

#[test]
fn its_client_in_typescript_does_what_it_does() {
    let Some(folder) = built() else { return };
    let served = Served::new();
    let mut script = Command::new("node");
    script.arg(folder.join("test/client.mjs")).env("CAIRN_CLIENT", folder.join("dist/index.js"));
    script.env("CAIRN_URL", format!("http://{}", served.client.address)).env("CAIRN_TOKEN", &served.client.secret);
    let output = script.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let held: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    assert_eq!(held, ITEMS, "{said}{}", String::from_utf8_lossy(&output.stderr));
}
