//! Rows of SQL as Arrow's stream.

use std::io::{BufReader, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;

use super::client::{read_chunk, read_head};
use super::*;

const ARROW: &str = "application/vnd.apache.arrow.stream";

/// The bytes of an answer, and whether they came to their end.
pub fn asked(client: &Client, sql: &str) -> (u16, Vec<u8>, bool) {
    let body = json!({ "sql": sql }).to_string();
    let length = body.len().to_string();
    let headers = [("Content-Type", "application/json"), ("Accept", ARROW), ("Content-Length", &length)];
    let mut stream = client.connect();
    stream.write_all(client.head("POST", "/db/shop/sql", &headers).as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let (status, headers) = read_head(&mut reader);
    if status == 200 && sql.starts_with("SELECT") {
        assert!(headers.contains(&("content-type".to_owned(), ARROW.to_owned())), "{headers:?}");
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = read_chunk(&mut reader) {
        bytes.extend(chunk);
    }
    let is_whole = bytes.ends_with(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    (status, bytes, is_whole)
}

pub fn batches(bytes: &[u8]) -> Vec<RecordBatch> {
    StreamReader::try_new(bytes, None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn rows_come_as_arrows_stream_where_that_is_asked_for() {
    let served = Served::with_notes();
    let sql = "SELECT n, n::numeric(10,2) / 4 AS quarter, CASE WHEN n % 2 = 0 THEN 'even' END AS name FROM generate_series(1, 100000) AS n";
    let (status, bytes, is_whole) = asked(&served.client, sql);
    assert_eq!((status, is_whole), (200, true));
    let batches = batches(&bytes);
    let schema = batches[0].schema();
    assert_eq!(schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["n", "quarter", "name"]);
    assert!(batches.len() > 1 && batches.iter().all(|batch| batch.schema() == schema));
    let numbers = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec());
    assert!(numbers.eq(1..=100_000));
    assert_eq!(batches.iter().map(|batch| batch.column(2).null_count()).sum::<usize>(), 50_000);
    assert_eq!(batches[0].column(2).as_string::<i32>().value(1), "even");

    let (_, bytes, _) = asked(&served.client, "SELECT sum(n)::numeric, 1.5 FROM generate_series(1, 3) AS n");
    let one = self::batches(&bytes);
    assert_eq!(one[0].column(0).as_primitive::<Decimal128Type>().value_as_string(0), "6");
    assert_eq!(one[0].column(1).as_primitive::<Decimal128Type>().value_as_string(0), "1.5");

    let (status, bytes, is_whole) = asked(&served.client, "SELECT 1 AS nothing WHERE false");
    assert_eq!((status, is_whole, self::batches(&bytes).len()), (200, true, 0));
}

#[test]
fn an_error_in_the_middle_ends_the_stream_without_its_end() {
    let served = Served::with_notes();
    let (status, bytes, is_whole) =
        asked(&served.client, "SELECT 1 / (90000 - n) FROM generate_series(1, 100000) AS n");
    assert!(status == 200 && !is_whole && !bytes.is_empty(), "{status}");
    assert_eq!(asked(&served.client, "SELECT 1 / 0").0, 400, "before there are rows it is an answer");
    assert_eq!(asked(&served.client, "SELECT 'infinity'::date").0, 400, "so is what Arrow has not");
    let (status, ..) = asked(&served.client, "CREATE TABLE t (id int)");
    assert_eq!(status, 200, "what gives no rows is told as JSON");
}
