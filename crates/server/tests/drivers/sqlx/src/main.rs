//! sqlx, and its pool.

use std::str::FromStr;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolCopyExt, PgPoolOptions, PgSslMode};
use sqlx::{Connection, Executor, PgPool, Row};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn how() -> PgConnectOptions {
    let root = std::env::var("PGSSLROOTCERT").expect("the authority");
    PgConnectOptions::new().ssl_mode(PgSslMode::VerifyFull).ssl_root_cert(root)
}

async fn connect() -> Result<PgConnection> {
    Ok(PgConnection::connect_with(&how()).await?)
}

fn code(error: &sqlx::Error) -> String {
    error.as_database_error().and_then(|error| error.code()).map_or_else(|| error.to_string(), |code| code.into_owned())
}

async fn login() -> Result {
    connect().await?.ping().await?;
    let refused = PgConnection::connect_with(&how().password("wrong")).await.err().expect("it is wrong");
    assert_eq!(code(&refused), "28P01");
    Ok(())
}

/// Values that go and come in binary, NULL, and arrays of both.
async fn types(conn: &mut PgConnection) -> Result {
    macro_rules! back {
        ($($of:literal, $type:ty, $value:expr;)*) => {$({
            let value: $type = $value;
            let text = format!("SELECT $1::{0}, $2::{0}, $3::{0}[]", $of);
            let row = sqlx::query(&text).bind(value.clone()).bind(None::<$type>).bind(vec![Some(value.clone()), None]);
            let row = row.fetch_one(&mut *conn).await?;
            assert_eq!((row.get::<$type, _>(0), row.get::<Option<$type>, _>(1)), (value.clone(), None), $of);
            assert_eq!(row.get::<Vec<Option<$type>>, _>(2), [Some(value), None], $of);
        })*};
    }
    back! {
        "bool", bool, true;
        "int2", i16, -32768;
        "int4", i32, 2147483647;
        "int8", i64, i64::MIN;
        "float4", f32, 1.25;
        "float8", f64, -1e-300;
        "numeric", rust_decimal::Decimal, rust_decimal::Decimal::from_str("-12345678901234567890.0123")?;
        "text", String, "Ä \"quoted\", {braces} \\ and 😀".to_owned();
        "varchar", String, "varying".to_owned();
        "bytea", Vec<u8>, vec![0, 255];
        "date", chrono::NaiveDate, chrono::NaiveDate::from_str("2024-02-29")?;
        "time", chrono::NaiveTime, chrono::NaiveTime::from_str("23:59:59.999999")?;
        "timestamp", chrono::NaiveDateTime, chrono::NaiveDateTime::from_str("1999-12-31T23:59:59.123456")?;
        "timestamptz", chrono::DateTime<chrono::Utc>, chrono::DateTime::from_str("2026-11-29T07:00:00.5Z")?;
        "uuid", uuid::Uuid, uuid::Uuid::from_str("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")?;
        "jsonb", serde_json::Value, serde_json::json!({"a": [1, null, "x"]});
    }
    #[derive(Clone, Debug, PartialEq, sqlx::Type)]
    #[sqlx(type_name = "mood", rename_all = "lowercase")]
    enum Mood {
        Fine,
    }
    let row = sqlx::query("SELECT $1::mood, $1::text").bind(Mood::Fine).fetch_one(&mut *conn).await?;
    assert_eq!((row.get::<Mood, _>(0), row.get::<String, _>(1)), (Mood::Fine, "fine".to_owned()));
    Ok(())
}

async fn ten(conn: &mut PgConnection) -> Result {
    conn.execute("CREATE TABLE ten (id int PRIMARY KEY, name text)").await?;
    for id in 0..10 {
        sqlx::query("INSERT INTO ten VALUES ($1, $2)").bind(id).bind(format!("name {id}")).execute(&mut *conn).await?;
        let name: String =
            sqlx::query_scalar("SELECT name FROM ten WHERE id = $1").bind(id).fetch_one(&mut *conn).await?;
        assert_eq!(name, format!("name {id}"));
    }
    Ok(())
}

/// Several statements at once, and rows that are taken one after the other.
async fn batch(conn: &mut PgConnection) -> Result {
    let mut done = conn.execute_many("INSERT INTO ten VALUES (100); INSERT INTO ten VALUES (101), (102)");
    let mut counts = Vec::new();
    while let Some(one) = done.try_next().await? {
        counts.push(one.rows_affected());
    }
    drop(done);
    assert_eq!(counts, [1, 2]);
    let mut rows = sqlx::query_scalar::<_, i32>("SELECT id FROM ten ORDER BY id").fetch(&mut *conn);
    let mut count = 0;
    while rows.try_next().await?.is_some() {
        count += 1;
    }
    assert_eq!(count, 13);
    Ok(())
}

async fn copy(pool: &PgPool) -> Result {
    pool.execute("CREATE TABLE copied (id int, name text)").await?;
    let lines: String = (0..1000).map(|id| format!("{id}\tn {id}\n")).collect();
    let mut into = pool.copy_in_raw("COPY copied FROM STDIN").await?;
    into.send(lines.as_bytes()).await?;
    assert_eq!(into.finish().await?, 1000);
    let out = pool.copy_out_raw("COPY (SELECT * FROM copied ORDER BY id) TO STDOUT").await?;
    let out: Vec<u8> = out
        .try_fold(Vec::new(), |mut all, part| async move {
            all.extend_from_slice(&part);
            Ok(all)
        })
        .await?;
    assert_eq!(String::from_utf8(out)?, lines);
    Ok(())
}

/// It has no cancelling of its own: a limit of time stands for it.
async fn cancel(conn: &mut PgConnection) -> Result {
    conn.execute("SET statement_timeout = '200ms'").await?;
    let error = conn.execute("SELECT count(*) FROM generate_series(1, 100000000000)").await.unwrap_err();
    assert_eq!(code(&error), "57014");
    conn.execute("RESET statement_timeout").await?;
    Ok(())
}

async fn errors(conn: &mut PgConnection) -> Result {
    conn.execute("CREATE TABLE failing (id int CONSTRAINT one_only PRIMARY KEY); INSERT INTO failing VALUES (1)")
        .await?;
    let error = sqlx::query("INSERT INTO failing VALUES ($1)").bind(1).execute(&mut *conn).await.unwrap_err();
    let error = error.into_database_error().expect("of the server");
    assert!(error.is_unique_violation());
    assert_eq!((error.table(), error.constraint()), (Some("failing"), Some("one_only")));
    Ok(())
}

async fn retry(conn: &mut PgConnection) -> Result {
    conn.execute("CREATE TABLE account (id int PRIMARY KEY, n int); INSERT INTO account VALUES (1, 0)").await?;
    let mut turns = 0;
    loop {
        turns += 1;
        match add_one(conn, turns == 1).await {
            Ok(()) => break,
            Err(error) => assert_eq!(code(&error), "40001"),
        }
    }
    let n: i32 = sqlx::query_scalar("SELECT n FROM account").fetch_one(conn).await?;
    assert_eq!((turns, n), (2, 11));
    Ok(())
}

async fn add_one(conn: &mut PgConnection, is_disturbed: bool) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin().await?;
    let n: i32 = sqlx::query_scalar("SELECT n FROM account").fetch_one(&mut *tx).await?;
    if is_disturbed {
        let mut other = PgConnection::connect_with(&how()).await?;
        other.execute("UPDATE account SET n = n + 10").await?;
    }
    sqlx::query("UPDATE account SET n = $1").bind(n + 1).execute(&mut *tx).await?;
    tx.commit().await
}

async fn listen(pool: &PgPool) -> Result {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen("news").await?;
    pool.execute("SELECT pg_notify('news', 'at last')").await?;
    let heard = tokio::time::timeout(Duration::from_secs(5), listener.recv()).await??;
    assert_eq!((heard.channel(), heard.payload()), ("news", "at last"));
    Ok(())
}

async fn pool() -> Result {
    let options = PgPoolOptions::new().max_connections(1).after_release(|conn, _| {
        Box::pin(async move {
            conn.execute("RESET ALL").await?;
            Ok(true)
        })
    });
    let pool = options.connect_with(how()).await?;
    pool.execute("SET work_mem = '1MB'").await?;
    let is: String = sqlx::query_scalar("SHOW work_mem").fetch_one(&pool).await?;
    assert_ne!(is, "1MB");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let ok = |item: &str| println!("ok {item}");
    login().await?;
    ok("login");
    let mut conn = connect().await?;
    let shared = PgPool::connect_with(how()).await?;
    types(&mut conn).await?;
    ok("types");
    ten(&mut conn).await?;
    ok("ten");
    batch(&mut conn).await?;
    ok("batch");
    copy(&shared).await?;
    ok("copy");
    cancel(&mut conn).await?;
    ok("cancel");
    errors(&mut conn).await?;
    ok("errors");
    retry(&mut conn).await?;
    ok("retry");
    listen(&shared).await?;
    ok("listen");
    pool().await?;
    ok("pool");
    Ok(())
}
