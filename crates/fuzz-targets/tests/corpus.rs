//! Every target over its seed corpus and a fixed number of deterministic mutations: what runs where there is no
//! `cargo fuzz`. `CAIRN_FUZZ=N` runs N mutations of each target instead, `CAIRN_SEED=N` takes others.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use cairn_fuzz_targets::{Mutator, TARGETS, Target};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs the target; the input is kept in a file meanwhile, for ends that leave no chance to say anything.
fn run(name: &str, target: Target, input: &[u8]) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.input"));
    fs::write(&file, input).unwrap();
    if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
        panic!("{name} fails on {} (in {})", input.escape_ascii(), file.display());
    }
}

fn check(name: &str, mutations: u64) {
    let (_, target) = *TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let seeds = seeds(name);
    assert!(seeds.len() >= 4, "{name} has only {} seeds", seeds.len());
    seeds.iter().for_each(|seed| run(name, target, seed));
    let mutations = number("CAIRN_FUZZ").unwrap_or(mutations);
    let mut mutator = Mutator::new(&seeds, number("CAIRN_SEED").unwrap_or(1));
    for _ in 0..mutations {
        run(name, target, &mutator.input());
    }
    println!("{name}: {} seeds and {mutations} mutations", seeds.len());
}

#[test]
fn sql_text_neither_panics_nor_damages() {
    check("sql_text", 1500);
}

#[test]
fn what_parses_is_printed_as_what_means_the_same() {
    check("parse_and_print", 10_000);
}

#[test]
fn damaged_files_under_sql_give_right_rows_or_typed_errors() {
    check("sql_and_file", 1500);
}

#[test]
fn damaged_files_and_logs_give_the_acknowledged_state_or_typed_errors() {
    check("database_and_log", 4000);
}

#[test]
fn rows_and_keys_decode_or_are_damaged() {
    check("row_and_key", 40_000);
}

#[test]
fn csv_is_imported_whole_or_not_at_all() {
    check("csv_import", 1500);
}

#[test]
fn documents_patches_and_filters_mean_what_they_say() {
    check("documents", 2000);
}

#[test]
fn bodies_of_requests_are_answered_and_done_whole_or_not_at_all() {
    check("http_bodies", 1000);
}

#[test]
fn bytes_of_a_client_are_answered_alike_however_they_come() {
    check("wire_bytes", 20_000);
}

#[test]
fn messages_of_a_client_are_answered_alike_however_they_come() {
    check("wire_messages", 20_000);
}
