//! Runs the scenarios in `tests/scenarios`: each file is one run of the binary, with its arguments, its input and
//! everything it must write.
//!
//! A file is cut into sections by lines that begin with `=== `: `args`, `file NAME` (created beforehand), `stdin`,
//! `stdout`, `stderr`, `created NAME` (a file that must exist afterwards) and `exit CODE`. With `CAIRN_BLESS=1` in the
//! environment the expectations are rewritten with what the binary does; read the difference before you keep it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Default)]
struct Scenario {
    comment: String,
    sections: Vec<(String, String)>,
}

impl Scenario {
    fn parse(text: &str) -> Scenario {
        let mut scenario = Scenario::default();
        for line in text.split_inclusive('\n') {
            match (line.strip_prefix("=== "), scenario.sections.last_mut()) {
                (Some(name), _) => scenario.sections.push((name.trim_end().to_string(), String::new())),
                (None, Some((_, body))) => body.push_str(line),
                (None, None) => scenario.comment.push_str(line),
            }
        }
        scenario
    }

    fn section(&self, name: &str) -> &str {
        self.sections.iter().find(|(found, _)| found == name).map_or("", |(_, body)| body)
    }

    fn files(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        let prefix = format!("{kind} ");
        let named = move |(name, body)| Some((str::strip_prefix(name, &prefix)?, body));
        self.sections.iter().map(|(name, body)| (name.as_str(), body.as_str())).filter_map(named)
    }

    fn exit(&self) -> i32 {
        self.files("exit").next().map_or(0, |(code, _)| code.parse().expect("an exit code"))
    }

    /// The scenario as it came out.
    fn run(&self) -> Scenario {
        let folder = tempfile::tempdir().unwrap();
        for (name, body) in self.files("file") {
            fs::write(folder.path().join(name), unescape(body)).unwrap();
        }
        let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(self.section("args").lines())
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that stops at an error does not read the rest.
        let _ = child.stdin.take().unwrap().write_all(self.section("stdin").as_bytes());
        let output = child.wait_with_output().unwrap();
        let mut outcome = Scenario { comment: self.comment.clone(), sections: Vec::new() };
        for (name, body) in &self.sections {
            let keep = name == "args" || name == "stdin" || name.starts_with("file ");
            let created = name.strip_prefix("created ").map(|name| fs::read(folder.path().join(name)));
            match created {
                Some(bytes) => outcome.push(name, &bytes.unwrap_or_else(|error| error.to_string().into_bytes())),
                None if keep => outcome.sections.push((name.clone(), body.clone())),
                None => {}
            }
        }
        outcome.push("stdout", &output.stdout);
        if !output.stderr.is_empty() {
            outcome.push("stderr", &output.stderr);
        }
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            outcome.push(&format!("exit {code}"), b"");
        }
        outcome
    }

    fn push(&mut self, name: &str, bytes: &[u8]) {
        self.sections.push((name.to_string(), String::from_utf8_lossy(bytes).into_owned()));
    }

    fn text(&self) -> String {
        let mut text = self.comment.clone();
        for (name, body) in &self.sections {
            text.push_str(&format!("=== {name}\n{body}"));
            if !body.is_empty() && !body.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    }
}

/// `\xFF` in a file's text stands for that byte.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let (digits, after) = after.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn scenario_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}

#[test]
fn every_scenario_comes_out_as_written() {
    let files = scenario_files();
    assert!(files.len() >= 10, "the scenarios were not found");
    let mut different = Vec::new();
    for path in files {
        let expected = Scenario::parse(&fs::read_to_string(&path).unwrap());
        let actual = expected.run();
        if std::env::var_os("CAIRN_BLESS").is_some() {
            fs::write(&path, actual.text()).unwrap();
        } else if (expected.text(), expected.exit()) != (actual.text(), actual.exit()) {
            different.push(format!("{}\n--- what came out:\n{}", path.display(), actual.text()));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}
