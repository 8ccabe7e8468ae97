//! The drivers' own tests, as their makers wrote them: a part of them, and all with `CAIRN_SUITES=1`. What is left out stands in `skips.tsv`,
//! each with its reason.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::installed::{has, installed};
use crate::served::Served;
use crate::tools::scripts;

/// What a driver's source has: its tests, and its version.
struct Suite {
    name: &'static str,
    source: &'static str,
    /// What is run without being asked for more.
    part: &'static [&'static str],
    all: &'static [&'static str],
    /// So many at least of the part, and of all, are to pass.
    passed: (usize, usize),
}

const ASYNCPG: Suite = Suite {
    name: "asyncpg",
    source: "asyncpg-0.32.0",
    part: &[
        "tests/test_prepare.py",
        "tests/test_codecs.py",
        "tests/test_listeners.py",
        "tests/test_cache_invalidation.py",
    ],
    all: &[
        "tests/test_cache_invalidation.py",
        "tests/test_cancellation.py",
        "tests/test_codecs.py",
        "tests/test_copy.py",
        "tests/test_cursor.py",
        "tests/test_exceptions.py",
        "tests/test_execute.py",
        "tests/test_listeners.py",
        "tests/test_logging.py",
        "tests/test_pool.py",
        "tests/test_prepare.py",
        "tests/test_record.py",
        "tests/test_timeout.py",
        "tests/test_transaction.py",
        "tests/test_types.py",
        "tests/test_utils.py",
    ],
    passed: (69, 252),
};

const SQLALCHEMY: Suite = Suite {
    name: "sqlalchemy",
    source: "sqlalchemy-2.1.9",
    part: &[
        "test/dialect/test_suite.py",
        "-k",
        "Insert or Returning or RowFetch or CTE or FetchLimit or Json or JSON or Numeric or DateTime or Sequence or Identity or LastrowId",
    ],
    all: &["test/dialect/test_suite.py"],
    passed: (607, 1800),
};

impl Suite {
    /// Its tests without its own modules: those that are installed are tried.
    fn hold(&self, set_up: &str, more: impl FnOnce(&mut Command, &Served)) {
        let Some(folder) = sources() else { return };
        let is_whole = std::env::var_os("CAIRN_SUITES").is_some();
        let (tests, passed) = if is_whole { (self.all, self.passed.1) } else { (self.part, self.passed.0) };
        let served = Served::new();
        served.database.connect().and_then(|conn| conn.execute_script(set_up)).expect("what it begins with");
        let mut pytest = Command::new(folder.join("venv/bin/python"));
        pytest.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=60"]).args(tests);
        pytest.args(self.skips()).current_dir(folder.join(self.name));
        more(&mut pytest, &served);
        let said = served.said(pytest, Duration::from_secs(900));
        let count = said.lines().last().and_then(passed_of).unwrap_or_default();
        assert!(count >= passed, "{count} passed, at least {passed} were to:\n{said}");
        println!("{}", said.lines().last().unwrap_or_default());
    }

    fn skips(&self) -> Vec<String> {
        skipped(self.name).iter().map(|test| format!("--deselect={test}")).collect()
    }
}

/// The tests of a suite that are left out.
fn skipped(suite: &str) -> Vec<String> {
    let skips = std::fs::read_to_string(scripts().join("suites/skips.tsv")).expect("what is left out");
    let of_line = |line: &str| {
        let mut fields = line.split('\t');
        let (Some(of), Some(test), Some(_)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("a line is a suite, a test and a reason: {line}");
        };
        (of == suite).then(|| test.to_owned())
    };
    skips.lines().filter_map(of_line).collect()
}

/// Of a line like `5 failed, 1876 passed in 7 s`.
fn passed_of(line: &str) -> Option<usize> {
    let (before, _) = line.split_once(" passed")?;
    before.rsplit([' ', ',']).next()?.parse().ok()
}

/// The tests of each, and a Python that has what they need.
fn sources() -> Option<PathBuf> {
    if !has("python3", "--version") {
        return None;
    }
    let requirements = scripts().join("suites/requirements.txt");
    let manifest = std::fs::read_to_string(&requirements).expect("what is needed");
    installed("suites", &manifest, |folder| {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(folder.join("venv"));
        let pip = |arguments: &[&str]| {
            let mut pip = Command::new(folder.join("venv/bin/pip"));
            pip.args(["--disable-pip-version-check", "--quiet"]).args(arguments).current_dir(folder);
            pip
        };
        let mut install = pip(&["install", "-r"]);
        install.arg(&requirements);
        let of_source = ["asyncpg==0.32.0", "SQLAlchemy==2.1.9"];
        // (What pip builds them with, to read their metadata, is not built from its source.)
        let download = pip(&[&["download", "--no-deps", "--no-binary", "asyncpg,SQLAlchemy"][..], &of_source].concat());
        let unpack = |suite: &Suite, what: &[&str]| {
            let mut unpack = Command::new("tar");
            unpack.arg("-xzf").arg(folder.join(format!("{}.tar.gz", suite.source)));
            unpack.args([format!("--one-top-level={}", suite.name), "--strip-components=1".to_owned()]);
            unpack.args(what.iter().map(|what| format!("{}/{what}", suite.source))).current_dir(folder);
            unpack
        };
        let (asyncpg, sqlalchemy) =
            (unpack(&ASYNCPG, &["tests"]), unpack(&SQLALCHEMY, &["lib", "test", "setup.cfg", "pyproject.toml"]));
        vec![make, install, download, asyncpg, sqlalchemy]
    })
}

#[test]
fn asyncpg_passes_its_own_tests() {
    ASYNCPG.hold("", |_, _| {});
}

#[test]
fn sqlalchemy_passes_its_own_tests() {
    SQLALCHEMY.hold("CREATE SCHEMA test_schema", |pytest, served| {
        let url = format!(
            "postgresql+psycopg://{}@localhost:{}/{}",
            crate::served::USER,
            served.port(),
            crate::served::DATABASE
        );
        pytest.args(["--dburi", &url, "-p", "no_extensions"]);
        let plugins: [&Path; 2] = [Path::new("lib"), &scripts().join("suites")];
        pytest.env("PYTHONPATH", std::env::join_paths(plugins).expect("paths"));
    });
}

/// pgx's, of Go: its packages that ask a database, and how many of their tests are to pass.
const PGX: [(&str, usize); 4] = [(".", 250), ("pgconn", 192), ("pgxpool", 71), ("stdlib", 44)];
const PGX_VERSION: &str = "github.com/jackc/pgx/v5@v5.13.0";

/// The programs that its packages' tests are, beside their sources.
fn pgx() -> Option<PathBuf> {
    if !has("go", "version") {
        return None;
    }
    installed("pgx", PGX_VERSION, |folder| {
        let mut fetch = Command::new("sh");
        let copy = format!(
            "cp -R \"$(go mod download -json {PGX_VERSION} | sed -n 's/.*\"Dir\": \"\\(.*\\)\",/\\1/p')\" pgx && chmod -R u+w pgx"
        );
        fetch.args(["-c", &copy]).current_dir(folder);
        let build = |(package, _): &(&str, usize)| {
            let mut build = Command::new("go");
            build.args(["test", "-c", "-o", "tests"]).current_dir(folder.join("pgx").join(package));
            build
        };
        [fetch].into_iter().chain(PGX.iter().map(build)).collect()
    })
}

#[test]
fn pgx_passes_its_own_tests() {
    if std::env::var_os("CAIRN_SUITES").is_none() {
        return println!("LEFT OUT: pgx's own tests are run with CAIRN_SUITES=1");
    }
    let Some(folder) = pgx() else { return };
    let skipped = format!("^({})$", skipped("pgx").join("|"));
    for (package, least) in PGX {
        let served = Served::with(&rcgen::PKCS_ECDSA_P256_SHA256, |options| options.connections_max = 300);
        let conn = served.database.connect().expect("connects");
        conn.execute("CREATE DOMAIN uint64 AS numeric(20, 0)", ()).expect("what it begins with");
        let (user, password, database) = (crate::served::USER, crate::served::PASSWORD, crate::served::DATABASE);
        let port = served.port();
        let url =
            format!("host=127.0.0.1 port={port} user={user} password='{password}' dbname={database} sslmode=require");
        let sources = folder.join("pgx").join(package);
        // Some of them have servers of their own.
        let mut tests = Command::new("env");
        tests.args(["-u", "PGSSLROOTCERT", "-u", "PGSSLMODE"]).arg(sources.join("tests"));
        tests.args(["-test.v", "-test.timeout=300s", "-test.skip", &skipped]).current_dir(&sources);
        tests.env("PGX_TEST_DATABASE", url);
        let said = served.said(tests, Duration::from_secs(400));
        let passed = said.lines().filter(|line| line.starts_with("--- PASS")).count();
        assert!(passed >= least, "{package}: {passed} passed, at least {least} were to:\n{said}");
        println!("{package}: {passed} passed");
    }
}
