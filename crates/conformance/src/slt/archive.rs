//! The sample of SQLite's suite, which lies beside the repository where it is present.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The sample, unpacked in memory.
pub struct Sample {
    /// Its scripts, by name.
    pub files: Vec<SampleFile>,
}

/// One script of the sample.
pub struct SampleFile {
    /// Its path in the archive, such as `index/between/10/slt_good_1.test`.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Lines of the records that PostgreSQL fails too.
    pub known_failures: HashSet<usize>,
}

impl Sample {
    /// Where the sample lies when it is present: `../shared/data/slt` from the workspace's root.
    pub fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/slt")
    }

    /// Reads the sample; `None` when it is not there.
    pub fn read(folder: &Path) -> io::Result<Option<Sample>> {
        let archive = folder.join("dev.tar.xz");
        if !archive.is_file() {
            return Ok(None);
        }
        let mut known = known_failures(&fs::read_to_string(folder.join("postgresql-also-fails.tsv"))?);
        let mut files = unpack(&archive)?;
        for file in &mut files {
            file.known_failures = known.remove(&file.name).unwrap_or_default();
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(Sample { files }))
    }
}

fn unpack(archive: &Path) -> io::Result<Vec<SampleFile>> {
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut BufReader::new(File::open(archive)?), &mut bytes)
        .map_err(|error| io::Error::other(format!("{error:?}")))?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(bytes.as_slice()).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
        if name.ends_with(".test") {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            files.push(SampleFile { name, text, known_failures: HashSet::new() });
        }
    }
    Ok(files)
}

/// Lines of `file<TAB>line`.
fn known_failures(table: &str) -> HashMap<String, HashSet<usize>> {
    let mut known: HashMap<String, HashSet<usize>> = HashMap::new();
    let fields = table.lines().filter_map(|line| line.split_once('\t'));
    for (file, line) in fields.filter_map(|(file, line)| Some((file, line.trim().parse().ok()?))) {
        known.entry(file.trim_start_matches("./").to_owned()).or_default().insert(line);
    }
    known
}
