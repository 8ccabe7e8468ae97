//! Which version of each engine was measured.

/// The lock file that this program was built with.
const LOCK: &str = include_str!(env!("CAIRN_BENCH_LOCK"));

/// The version of the engine of this name; empty for what has none (a floor).
pub fn of(engine: &str) -> String {
    match engine {
        "cairndb" => env!("CARGO_PKG_VERSION").to_string(),
        "sqlite" => rusqlite::version().to_string(),
        "lmdb" => heed::lmdb_version().string.to_string(),
        // The library that was linked is not the crate that links it; their settings say it.
        "rocksdb" | "duckdb" => String::new(),
        crate_name => locked(crate_name).unwrap_or_default().to_string(),
    }
}

/// The version of a crate in the lock file.
fn locked(crate_name: &str) -> Option<&'static str> {
    let mut lines = LOCK.lines().skip_while(|line| line.strip_prefix("name = ").map(unquoted) != Some(crate_name));
    lines.nth(1)?.strip_prefix("version = ").map(unquoted)
}

fn unquoted(text: &str) -> &str {
    text.trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_versions_and_floors_have_none() {
        for engine in ["cairndb", "sqlite", "redb", "fjall"] {
            assert!(of(engine).starts_with(|c: char| c.is_ascii_digit()), "{engine}: {:?}", of(engine));
        }
        assert!(of("lmdb").contains("LMDB"));
        assert_eq!(of("floor"), "");
    }
}
