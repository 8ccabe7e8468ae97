//! The project's own scenarios, one per file, are the specification of our SQL (`slt/*.slt`) and of what transactions
//! see of each other (`slt/isolation/*.slt`: the hermitage suite and more).

use std::fs;
use std::path::{Path, PathBuf};

use cairn_conformance::engine::{CairnEngine, Engine, PostgresEngine, PostgresServer, PrintedEngine};
use cairn_conformance::slt::{Dialect, Selection, Summary, run_script};
use cairndb::Options;

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("slt");
    [folder.join("isolation"), folder].iter().flat_map(|folder| scripts(folder)).collect()
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "slt")).collect();
    files.sort();
    files
}

fn run_all<'a, E: Engine + 'a>(label: &str, fresh: impl Fn() -> E) -> Summary {
    run_each(label, fresh, |_| ())
}

/// Runs every scenario in a database of its own; `after` sees the database then.
fn run_each<'a, E: Engine + 'a>(label: &str, fresh: impl Fn() -> E, mut after: impl FnMut(&E)) -> Summary {
    let mut summary = Summary::default();
    for path in scenarios() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let engine = fresh();
        let report = run_script(&text, label, Dialect::Scenario, &Selection::default(), &engine);
        after(&engine);
        summary.add(name.clone(), report.unwrap_or_else(|error| panic!("{name}: {error}")));
    }
    summary
}

fn assert_all_passed(summary: &Summary) {
    println!("{summary}");
    assert_eq!(summary.failed(), 0, "{}\n{summary}", summary.categories());
    assert!(summary.passed() > 300, "only {} records ran", summary.passed());
}

#[test]
fn every_scenario_passes() {
    assert_all_passed(&run_all("cairndb", || CairnEngine::create().unwrap()));
}

/// Sorts, joins, groups and the rest go to temporary files from their first byte on: rows and their order stay the same.
#[test]
fn every_scenario_passes_without_memory_for_queries() {
    let fresh = || CairnEngine::create_with(Options::default().work_mem(1)).unwrap();
    let mut spilled = 0;
    assert_all_passed(&run_each("cairndb", fresh, |engine| spilled += engine.spilled_bytes()));
    println!("{spilled} bytes spilled");
    assert!(spilled > 0, "nothing spilled");
}

/// What the parser prints means what was written.
#[test]
fn every_scenario_passes_as_printed() {
    let mut printed = 0;
    let fresh = || PrintedEngine::before(CairnEngine::create().unwrap());
    assert_all_passed(&run_each("cairndb", fresh, |engine| printed += engine.printed()));
    assert!(printed > 50, "only {printed} statements came out in other words");
}

/// Scenarios marked `skipif postgresql` are where we promise something else.
#[test]
fn postgresql_passes_the_scenarios_too() {
    let Some(server) = PostgresServer::start_for_test() else { return };
    assert_all_passed(&run_all("postgresql", || PostgresEngine::create(&server).unwrap()));
}
