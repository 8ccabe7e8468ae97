//! Statements, rows, transactions, under more than one runtime.

mod common;

use std::time::Duration;

use cairndb::{Result, SqlState, params};
use cairndb_async::{Database, Options};
use common::{file, polled, under_each_runtime};
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};

async fn numbers() -> Result<Database> {
    let db = Database::open_in_memory().await?;
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL); CREATE TABLE s (id serial PRIMARY KEY, v text)",
    )
    .await?;
    db.execute("INSERT INTO t SELECT g, 10 * g FROM generate_series(1, 3000) g", ()).await?;
    Ok(db)
}

async fn count(db: &Database, table: &str) -> Result<i64> {
    db.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).await
}

#[test]
fn statements_give_what_they_give_when_they_are_waited_for() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        assert_eq!(db.execute("UPDATE t SET n = n + 1 WHERE id <= 10", ()).await?, 10);
        assert_eq!(db.query_row("SELECT n FROM t WHERE id = $1", (7,), |row| row.get::<i32>(0)).await?, 71);
        let missing = db.query_optional("SELECT n FROM t WHERE id = $1", (-1,), |row| row.get::<i32>(0)).await?;
        assert_eq!(missing, None);
        let none = db.query_row("SELECT n FROM t WHERE id = -1", (), |row| row.get::<i32>(0)).await.unwrap_err();
        assert_eq!(none.sqlstate(), SqlState("P0002"));
        for expected in 1..=40 {
            let id =
                db.query_row("INSERT INTO s (v) VALUES ($1) RETURNING id", ("x",), |row| row.get::<i32>(0)).await?;
            assert_eq!(id, expected);
        }
        let twice = db.execute("INSERT INTO t VALUES ($1, $2)", (1, 1)).await.unwrap_err();
        assert_eq!(twice.sqlstate(), SqlState::UNIQUE_VIOLATION);
        let wrong = db.execute("SELEKT", ()).await.unwrap_err();
        assert_eq!(wrong.sqlstate(), SqlState::SYNTAX_ERROR);
        db.close().await
    });
}

#[test]
fn rows_come_in_batches_one_by_one_and_as_streams() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        let mut rows = db.query("SELECT id, n FROM t ORDER BY id", ()).await?;
        assert_eq!(rows.columns().len(), 2);
        let mut expected = 0;
        while let Some(row) = rows.next().await? {
            expected += 1;
            assert_eq!((row.get::<i32>("id")?, row.get::<i32>("n")?), (expected, 10 * expected));
        }
        assert_eq!(expected, 3000);
        let ids = db.query("SELECT id FROM t ORDER BY id", ()).await?.mapped(|row| row.get::<i32>(0));
        let ids = ids.collect::<Vec<_>>().await.into_iter().collect::<Result<Vec<_>>>()?;
        assert!(ids.into_iter().eq(1..=3000));
        let (mut batches, mut total, mut most) = (db.query("SELECT id FROM t", ()).await?, 0, 0);
        // One row first: the batch goes on behind it.
        assert!(batches.next().await?.is_some());
        while let Some(batch) = StreamExt::next(&mut batches).await {
            let mut batch = batch?;
            let mut rows = 0;
            while batch.next()?.is_some() {
                rows += 1;
            }
            (total, most) = (total + rows, most.max(rows));
        }
        assert_eq!(total, 2999);
        assert!(most < 2999, "all rows came at once");
        db.close().await
    });
}

#[test]
fn statements_by_key_are_answered_in_the_first_poll() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        let read = |id: i32| db.query_point("SELECT n FROM t WHERE id = $1", (id,), |row| row.get_i64(0));
        // Somebody has to plan them.
        read(1).await?;
        db.execute("INSERT INTO t VALUES ($1, $2)", (-1, 0)).await?;
        db.execute("INSERT INTO s (v) VALUES ($1)", ("a",)).await?;
        assert_eq!(read(2).now_or_never().expect("an answer")?, Some(Some(20)));
        assert_eq!(db.execute("INSERT INTO t VALUES ($1, $2)", (-2, 0)).now_or_never().expect("an answer")?, 1);
        assert_eq!(db.execute("INSERT INTO s (v) VALUES ($1)", ("b",)).now_or_never().expect("an answer")?, 1);
        // And again when the schema has changed.
        db.execute("ALTER TABLE t ADD COLUMN more int", ()).await?;
        read(3).await?;
        assert_eq!(read(4).now_or_never().expect("an answer")?, Some(Some(40)));
        db.close().await
    });
}

#[test]
fn what_would_change_a_session_is_refused() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        for statement in ["SET work_mem = '1MB'", "BEGIN", "CREATE TEMP TABLE x (a int)", "PREPARE p AS SELECT 1"] {
            let error = db.execute(statement, ()).await.unwrap_err();
            assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{statement}");
            assert!(error.hint().is_some());
        }
        // Nothing of it stays.
        db.execute("INSERT INTO s (v) VALUES ('a')", ()).await?;
        let work_mem: String = db.query_row("SHOW work_mem", (), |row| row.get(0)).await?;
        assert_ne!(work_mem, "1MB");
        let last = db.query_row("SELECT currval('s_id_seq')", (), |row| row.get::<i64>(0)).await.unwrap_err();
        assert_eq!(last.sqlstate(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        db.close().await
    });
}

#[test]
fn connections_are_as_the_options_ask_for() {
    let options =
        Options::default().on_connect(|connection| connection.execute("SET timezone = 'Asia/Tokyo'", ()).map(drop));
    pollster::block_on(async {
        let db = Database::open_in_memory_with(options).await?;
        db.execute_script(
            "CREATE TABLE t (id int PRIMARY KEY, at timestamptz); INSERT INTO t VALUES (1, '2024-01-01 00:00+00')",
        )
        .await?;
        for _ in 0..3 {
            let read = "SELECT at::text FROM t WHERE id = $1";
            let text: String = db.query_row(read, (1,), |row| row.get(0)).await?;
            assert_eq!(text, "2024-01-01 09:00:00+09");
        }
        db.close().await
    })
    .unwrap();
}

#[test]
fn parameters_have_names() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        for _ in 0..3 {
            let n: i32 = db.query_row("SELECT n FROM t WHERE id = :id", params! { id: 7 }, |row| row.get(0)).await?;
            assert_eq!(n, 70);
            db.execute("UPDATE t SET n = :n WHERE id = :id", params! { n: 80, id: 8 }).await?;
        }
        let wrong = db.execute("UPDATE t SET n = $1 WHERE id = $2", params! { n: 1, id: 8 }).await;
        assert_eq!(wrong.unwrap_err().sqlstate(), SqlState::UNDEFINED_PARAMETER);
        let batch = db.execute_batch("UPDATE t SET n = $1", [params! { n: 1 }]).await;
        assert_eq!(batch.unwrap_err().sqlstate(), SqlState::UNDEFINED_PARAMETER);
        let update = "UPDATE t SET n = :n WHERE id = :id";
        let sets = [params! { id: 5, n: 55 }, params! { id: 6, n: 66 }, params! { n: 77, id: 9 }];
        assert_eq!(db.execute_batch(update, sets).await?, 3);
        db.transaction(async |tx| tx.execute_batch(update, [params! { n: 11, id: 1 }]).await.map(drop)).await?;
        let ids = "SELECT string_agg(id::text, ' ' ORDER BY id) FROM t WHERE n = id * 11";
        let changed: String = db.query_row(ids, (), |row| row.get(0)).await?;
        assert_eq!(changed, "1 5 6");
        let changed: i32 = db.query_row("SELECT n FROM t WHERE id = 9", (), |row| row.get(0)).await?;
        assert_eq!(changed, 77);
        let n: i32 = db.query_row("SELECT n FROM t WHERE id = $1", (8,), |row| row.get(0)).await?;
        assert_eq!(n, 80);
        db.close().await
    });
}

#[test]
fn a_batch_of_parameter_sets_is_done_as_a_whole() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        let insert = "INSERT INTO t VALUES ($1, $2)";
        assert_eq!(db.execute_batch(insert, (0..500).map(|n| (-n, n))).await?, 500);
        let before = count(&db, "t").await?;
        let error = db.execute_batch(insert, [(10_001, 0), (10_002, 0), (1, 0)]).await.unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
        assert_eq!(count(&db, "t").await?, before);
        assert_eq!(db.execute_batch(insert, std::iter::empty::<(i32, i32)>()).await?, 0);
        db.close().await
    });
}

#[test]
fn a_transaction_is_committed_rolled_back_or_run_again() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        let sum = db
            .transaction(async |tx| {
                tx.execute("UPDATE t SET n = 0 WHERE id = $1", (1,)).await?;
                tx.execute_batch("INSERT INTO s (v) VALUES ($1)", [("a",), ("b",)]).await?;
                let mut rows = tx.query("SELECT n FROM t WHERE id <= 2000 ORDER BY id", ()).await?;
                let mut sum = 0;
                while let Some(row) = rows.next().await? {
                    sum += i64::from(row.get::<i32>(0)?);
                }
                Ok(sum)
            })
            .await?;
        assert_eq!(sum, 10 * (2000 * 2001 / 2) - 10);
        assert_eq!(count(&db, "s").await?, 2);
        let mut kept = None;
        let failed: Result<()> = db
            .transaction(|tx| {
                kept = Some(tx.clone());
                async move {
                    tx.execute("DELETE FROM t", ()).await?;
                    tx.execute("SELECT 1 / 0", ()).await.map(drop)
                }
            })
            .await;
        assert_eq!(failed.unwrap_err().sqlstate(), SqlState::DIVISION_BY_ZERO);
        assert_eq!(count(&db, "t").await?, 3000);
        let over = kept.expect("a clone").execute("DELETE FROM t", ()).await.unwrap_err();
        assert_eq!(over.sqlstate(), SqlState::NO_ACTIVE_SQL_TRANSACTION);
        let by_hand = db.transaction(async |tx| tx.execute("COMMIT", ()).await).await.unwrap_err();
        assert_eq!(by_hand.sqlstate(), SqlState::INVALID_TRANSACTION_STATE);
        let swallowed = db.transaction(async |tx| {
            tx.execute("DELETE FROM t", ()).await?;
            let _ = tx.execute("SELECT 1 / 0", ()).await;
            Ok(())
        });
        assert_eq!(swallowed.await.unwrap_err().sqlstate(), SqlState::IN_FAILED_SQL_TRANSACTION);
        assert_eq!(count(&db, "t").await?, 3000);
        // A settings of a transaction's connection is not the next one's.
        db.transaction(async |tx| tx.execute("SET work_mem = '1MB'", ()).await).await?;
        let work_mem: String =
            db.transaction(async |tx| tx.query_row("SHOW work_mem", (), |row| row.get(0)).await).await?;
        assert_ne!(work_mem, "1MB");
        db.close().await
    });
}

/// And futures of the API may go from thread to thread.
#[test]
fn transactions_that_lose_to_others_run_again() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("tokio");
    runtime
        .block_on(async {
            let db = numbers().await?;
            let tasks = (0..8).map(|_| {
                let db = db.clone();
                tokio::spawn(async move {
                    for _ in 0..20 {
                        db.transaction(async |tx| {
                            let n: i32 = tx.query_row("SELECT n FROM t WHERE id = 1", (), |row| row.get(0)).await?;
                            tokio::task::yield_now().await;
                            tx.execute("UPDATE t SET n = $1 WHERE id = 1", (n + 1,)).await
                        })
                        .await?;
                    }
                    Ok::<(), cairndb::Error>(())
                })
            });
            for task in join_all(tasks).await {
                task.expect("no panic")?;
            }
            let n: i32 = db.query_row("SELECT n FROM t WHERE id = 1", (), |row| row.get(0)).await?;
            assert_eq!(n, 10 + 8 * 20);
            db.close().await
        })
        .unwrap();
}

#[test]
fn channels_are_streams_and_their_commits_are_told() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        let mut heard = db.listen(["a", "Of t"]).await?;
        db.execute("NOTIFY a", ()).await?;
        db.execute("SELECT pg_notify('Of t', $1)", ("one",)).await?;
        db.transaction(async |tx| {
            tx.execute("INSERT INTO s (v) VALUES ('x')", ()).await?;
            tx.execute("NOTIFY a, 'inserted'", ()).await
        })
        .await?;
        let failed: Result<()> = db
            .transaction(async |tx| {
                tx.execute("NOTIFY a, 'never'", ()).await?;
                Err(cairndb::Error::new(SqlState("P0001"), "no"))
            })
            .await;
        assert!(failed.is_err());
        db.execute("INSERT INTO s (v) SELECT pg_notify('a', 'by a worker')", ()).await?;
        for expected in [("a", ""), ("Of t", "one"), ("a", "inserted"), ("a", "by a worker")] {
            let told = StreamExt::next(&mut heard).await.expect("a notification");
            assert_eq!((told.channel(), told.payload()), expected);
        }
        assert!(heard.next_notification().now_or_never().is_none());
        // There is no session that could listen, and no thread that could wait for a statement's changes.
        let refused = db.execute("LISTEN a", ()).await.unwrap_err();
        assert_eq!(refused.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
        let refused = db.query("SUBSCRIBE SELECT id FROM t", ()).await.expect_err("no thread for it");
        assert_eq!(refused.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
        db.close().await?;
        assert!(heard.next_notification().await.is_none());
        Ok(())
    });
}

#[test]
fn live_queries_are_streams() {
    under_each_runtime(|| async {
        let db = numbers().await?;
        let mut live = db.live("SELECT id, n FROM t WHERE n < 30", ()).await?;
        let first = StreamExt::next(&mut live).await.expect("the result")?;
        assert_eq!((first.is_first(), first.added().count()), (true, 2));
        db.execute("DELETE FROM t WHERE id = 1", ()).await?;
        let change = live.next_change().await?.expect("a change");
        assert_eq!(change.removed().count(), 1);
        let error = db.live("DELETE FROM t", ()).await.err().expect("no query");
        assert!(!error.message().is_empty());
        db.close().await?;
        assert!(live.next_change().await?.is_none());
        Ok(())
    });
}

#[test]
fn procedures_commit_and_what_follows_sees_it() {
    under_each_runtime(|| async {
        let (_folder, path) = file();
        let db = Database::open_with(&path, Options::default().workers(2)).await?;
        db.execute_script(
            "CREATE TABLE t (id int PRIMARY KEY);
             CREATE PROCEDURE fill(INOUT n int, fails boolean) LANGUAGE plpgsql AS $$ BEGIN
                 FOR i IN 1..n LOOP INSERT INTO t VALUES (i); COMMIT; END LOOP;
                 INSERT INTO t VALUES (0);
                 IF fails THEN RAISE EXCEPTION 'it fails'; END IF;
                 n := (SELECT count(*) FROM t);
             END $$",
        )
        .await?;
        assert_eq!(db.query_row("CALL fill($1, false)", (20,), |row| row.get::<i32>(0)).await?, 21);
        assert_eq!(count(&db, "t").await?, 21);
        db.execute("DELETE FROM t", ()).await?;
        assert_eq!(db.execute("CALL fill(5, true)", ()).await.unwrap_err().sqlstate(), SqlState("P0001"));
        assert_eq!(count(&db, "t").await?, 5);
        db.execute("DELETE FROM t", ()).await?;
        // Dropped wherever it is, it has committed some, in order, and is over soon.
        let mut dropped = Box::pin(db.execute("CALL fill(1000000, false)", ()));
        assert!(polled(1, &mut dropped).is_none());
        while count(&db, "t").await? == 0 {}
        drop(dropped);
        let (mut before, mut now) = (0, count(&db, "t").await?);
        while before != now {
            std::thread::sleep(Duration::from_millis(50));
            (before, now) = (now, count(&db, "t").await?);
        }
        assert_eq!(db.query_row("SELECT max(id)::bigint FROM t", (), |row| row.get::<i64>(0)).await?, now);
        db.close().await
    });
}

#[test]
fn what_is_written_is_in_the_file_that_is_opened_again() {
    under_each_runtime(|| async {
        let (_folder, path) = file();
        let db = Database::open(&path).await?;
        db.execute("CREATE TABLE t (id int PRIMARY KEY)", ()).await?;
        let (one, other) = (&db, &db);
        let writes = (0..200).map(|n| async move { one.execute("INSERT INTO t VALUES ($1)", (n,)).await });
        let longer = (200..220).map(|n| async move { other.execute("INSERT INTO t SELECT $1::int", (n,)).await });
        for done in join_all(writes).await.into_iter().chain(join_all(longer).await) {
            assert_eq!(done?, 1);
        }
        db.close().await?;
        let db = Database::open(&path).await?;
        assert_eq!(count(&db, "t").await?, 220);
        db.close().await
    });
}

#[test]
fn a_file_that_is_open_can_not_be_opened_again() {
    let (_folder, path) = file();
    let db = pollster::block_on(Database::open(&path)).unwrap();
    assert!(pollster::block_on(Database::open(&path)).is_err());
    assert!(polled(0, db.close()).is_none());
}
