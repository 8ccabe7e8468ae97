//! Blocks, runs and merges by themselves. What operators make of them is tested with the operators.

use std::sync::Arc;

use super::file::create_private;
use super::{BatchList, Merge, MergeKey, RunFile, SpillSpace, block};
use crate::columns::{Batch, Vector};
use crate::exec::context::{Cx, ExecContext, Shared};
use crate::exec::row_order::Direction;
use crate::exec::testing::Fixture;
use crate::types::sample_types;
use crate::types::testing::{Random, random_value};
use crate::{DataType, SqlState, Value};

fn batch_of(types: &[DataType], rows: &[Vec<Value>]) -> Batch {
    let column = |(place, data_type): (usize, &DataType)| {
        let values: Vec<Value> = rows.iter().map(|row| row[place].clone()).collect();
        Arc::new(Vector::from_values(*data_type, &values).unwrap())
    };
    Batch::new(types.iter().enumerate().map(column).collect(), rows.len())
}

fn with_context(change: impl Fn(&mut ExecContext), test: impl Fn(Cx<'_>)) {
    let fixture = Fixture::new();
    let mut context = fixture.context();
    change(&mut context);
    let shared = Shared::new(context, 0);
    test(Cx { shared: &shared, outer: None, writes: None });
    assert_eq!(shared.context.spill.used(), 0, "a temporary file outlived its users");
}

#[test]
fn blocks_of_every_type_come_back_as_they_were() {
    let mut random = Random::new(11);
    let types: Vec<DataType> = sample_types().into_iter().chain([DataType::Char(0), DataType::Unknown]).collect();
    for rows in [0, 1, 63, 64, 65, 200] {
        for nulls in [0, 4, 1] {
            let mut value = |data_type: &DataType| match (nulls > 0 && random.below(nulls) == 0, data_type) {
                (true, _) => Value::Null,
                (false, DataType::Unknown) => Value::text("untyped"),
                (false, data_type) => random_value(&mut random, *data_type),
            };
            let rows: Vec<Vec<Value>> = (0..rows).map(|_| types.iter().map(&mut value).collect()).collect();
            let batch = batch_of(&types, &rows);
            let mut bytes = vec![];
            block::encode(&batch, &mut bytes).unwrap();
            let back = block::decode(&bytes, &types).unwrap();
            let again: Vec<Vec<Value>> = (0..back.len()).map(|row| back.row(row)).collect();
            assert_eq!(format!("{again:?}"), format!("{rows:?}"));
        }
    }
}

#[test]
fn a_cut_block_is_an_error() {
    let types = [DataType::Integer, DataType::Text, DataType::Numeric(None)];
    let row = vec![Value::Integer(1), Value::text("some text"), Value::Numeric(7.into())];
    let mut bytes = vec![];
    block::encode(&batch_of(&types, &[row.clone(), row]), &mut bytes).unwrap();
    for length in 0..bytes.len() {
        assert!(block::decode(&bytes[..length], &types).is_err(), "{length}");
    }
}

#[test]
fn a_merge_in_passes_is_a_stable_sort() {
    let change = |context: &mut ExecContext| {
        context.work_mem = 1;
        context.batch_sizes.max = 7;
    };
    with_context(change, |cx| {
        let mut random = Random::new(5);
        let types = [DataType::Integer, DataType::BigInt];
        let file = RunFile::create(types.as_slice().into(), cx).unwrap();
        let (mut all, mut runs) = (vec![], vec![]);
        for run in 0..23_i64 {
            let mut rows: Vec<(i32, i64)> =
                (0..random.below(40)).map(|at| (random.below(9) as i32, run * 1000 + at as i64)).collect();
            rows.sort_by_key(|row| row.0);
            all.extend(rows.iter().copied());
            let mut written = file.run();
            for rows in rows.chunks(7) {
                let rows: Vec<_> = rows.iter().map(|&(k, n)| vec![Value::Integer(k), Value::BigInt(n)]).collect();
                written.push(&batch_of(&types, &rows), cx).unwrap();
            }
            runs.push(written);
        }
        all.sort_by_key(|row| row.0);
        let key = MergeKey { column: 0, direction: Direction::ASCENDING };
        let mut merge = Merge::new(runs, vec![key], &types, cx).unwrap();
        let mut merged = vec![];
        while let Some(batch) = merge.next(cx).unwrap() {
            assert!((1..=7).contains(&batch.len()));
            merged.extend((0..batch.len()).map(|row| batch.row(row)));
        }
        let all: Vec<_> = all.into_iter().map(|(k, n)| vec![Value::Integer(k), Value::BigInt(n)]).collect();
        assert_eq!(merged, all);
    });
}

#[test]
fn a_list_reads_the_same_from_memory_and_from_disk() {
    with_context(
        |context| context.work_mem = 100,
        |cx| {
            let mut list = BatchList::default();
            let batch = |n: i32| batch_of(&[DataType::Integer], &vec![vec![Value::Integer(n)]; 10]);
            (0..9).for_each(|n| list.push(&batch(n), cx).unwrap());
            assert_eq!(list.len(), 9);
            for n in (0..9).rev().chain(0..9) {
                assert_eq!(list.get(n as usize, cx).unwrap().unwrap().value(0, 9), Value::Integer(n));
            }
            assert!(list.get(9, cx).unwrap().is_none());
            assert!(cx.context().spill.used() > 0);
            list.clear(cx);
            assert!(list.is_empty());
        },
    );
}

#[test]
fn the_limit_counts_all_files_of_a_session_while_they_live() {
    with_context(
        |context| context.spill = SpillSpace::default().with_limit(Some(300)),
        |cx| {
            let batch = batch_of(&[DataType::Integer], &vec![vec![Value::Integer(1)]; 50]);
            let files = [0, 1].map(|_| RunFile::create([DataType::Integer].as_slice().into(), cx).unwrap());
            let mut runs = files.map(|file| file.run());
            runs[0].push(&batch, cx).unwrap();
            let error = runs[1].push(&batch, cx).unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::CONFIGURATION_LIMIT_EXCEEDED);
            assert_eq!(error.message(), "temporary file size exceeds temp_file_limit (1kB)");
            let [first, mut second] = runs;
            drop(first);
            second.push(&batch, cx).unwrap();
        },
    );
}

#[test]
#[cfg(unix)]
fn temporary_files_are_private_and_have_no_name() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("cairndb-spill-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = create_private(&directory).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    std::fs::remove_dir(&directory).unwrap();
    assert!(create_private(&directory).is_err());
}
