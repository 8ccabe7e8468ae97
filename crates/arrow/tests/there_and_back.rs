//! Every type to Arrow and back: what comes back is what went.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType as Arrow, Field, Schema, TimeUnit};
use cairndb::{Connection, DataType, Database};
use cairndb_arrow::{Incoming, Outgoing, batch_of, sql_type};

fn connection() -> Connection {
    let conn = Database::open_in_memory().unwrap().connect().unwrap();
    conn.execute_script("CREATE TYPE mood AS ENUM ('sad', 'so so', 'happy'); CREATE TYPE point AS (x int, y text)")
        .unwrap();
    conn
}

/// Types of columns, and texts of values of them.
const VALUES: &[(&str, &[&str])] = &[
    ("boolean", &["true", "false"]),
    ("smallint", &["-32768", "0", "32767"]),
    ("integer", &["-2147483648", "7", "2147483647"]),
    ("bigint", &["-9223372036854775808", "1", "9223372036854775807"]),
    ("oid", &["0", "4294967295"]),
    ("real", &["-1.5", "NaN", "Infinity", "1e-30"]),
    ("double precision", &["-1.5", "NaN", "-Infinity", "1e300"]),
    ("numeric(5,2)", &["-999.99", "0.01", "5"]),
    ("numeric(38,10)", &["-1234567890123456789012345678.0123456789", "0.0000000001"]),
    ("numeric(60,20)", &["-1234567890123456789012345678901234567890.01234567890123456789", "3"]),
    ("numeric(5,-2)", &["-9999900", "100"]),
    ("numeric(2,4)", &["0.0012", "-0.0099"]),
    ("numeric(200,100)", &["1.5", "NaN"]),
    ("numeric", &["1", "-2.50", "123456789012345678.000000001"]),
    ("numeric", &["1e50", "-0.00000000000000000001"]),
    ("numeric", &["NaN", "Infinity", "1.50"]),
    ("text", &["", "a", "é\u{1F980}", "longer than twelve bytes, so that a view has it elsewhere"]),
    ("varchar(7)", &["", "seven 7"]),
    ("char(5)", &["a", "abcde"]),
    ("bytea", &["", "\\x00ff", "\\x00112233445566778899aabbccddeeff"]),
    ("date", &["4713-01-01 BC", "1969-12-31", "2000-02-29", "9999-12-31"]),
    ("time", &["00:00", "23:59:59.999999"]),
    ("time(2)", &["12:34:56.78"]),
    ("timestamp", &["4713-01-01 BC", "1969-12-31 23:59:59.999999", "290000-01-01"]),
    ("timestamp(0)", &["2000-01-01 12:00:01"]),
    ("timestamptz", &["1969-12-31 23:59:59.999999+00", "2024-02-29 12:00+02"]),
    ("timetz", &["12:00:00+02", "00:00:00-15"]),
    ("interval", &["1 year 2 months -3 days 04:05:06.000007", "-00:00:00.000001", "0"]),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "123e4567-e89b-12d3-a456-426614174000"]),
    ("inet", &["10.1.2.3", "10.1.2.3/8", "::1/10"]),
    ("cidr", &["10.0.0.0/8", "::1/128"]),
    ("macaddr", &["08:00:2b:01:02:03"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05"]),
    ("json", &["{\"b\": 1,  \"a\": [null]}", "\"x\""]),
    ("jsonb", &["{\"a\": [null, 1.50], \"b\": {}}", "3"]),
    ("jsonpath", &["$.\"a\"[*]"]),
    ("mood", &["happy", "sad", "so so", "happy"]),
    ("point", &["(1,up)", "(,\"a,b\")"]),
    ("integer[]", &["{1,NULL,3}", "{}", "{7}"]),
    ("text[]", &["{a,\"b,c\",NULL}", "{\"\"}"]),
    ("numeric(6,3)[]", &["{1.500,NULL}", "{-999.999}"]),
    ("numeric[]", &["{1.5,NULL,NaN}"]),
    ("uuid[]", &["{123e4567-e89b-12d3-a456-426614174000}"]),
    ("cidr[]", &["{10.0.0.0/8,NULL,::1/128}"]),
    ("timestamptz[]", &["{\"2024-02-29 12:00:00+00\",NULL}"]),
    ("mood[]", &["{happy,NULL,sad}"]),
    ("jsonb[]", &["{\"{\\\"a\\\": 1}\",NULL}"]),
    ("bytea[]", &["{\"\\\\x00ff\"}"]),
    ("boolean[]", &["{t,f,NULL}"]),
    ("date[]", &["{2000-01-01}"]),
    ("interval[]", &["{\"1 mon\"}"]),
];

/// A table of so many rows of these values, every so often NULL.
fn filled(conn: &Connection, of: &str, values: &[&str], rows: usize, nulls: usize) {
    conn.execute_script("DROP TABLE IF EXISTS there, back").unwrap();
    conn.execute_script(&format!("CREATE TABLE there (n int, v {of}); CREATE TABLE back (n int, v {of})")).unwrap();
    let row = |n: usize| {
        let value = if nulls > 0 && n.is_multiple_of(nulls) { None } else { Some(values[n % values.len()]) };
        (n as i32, value)
    };
    conn.append("there", &[], (0..rows).map(row)).unwrap();
}

fn shown(conn: &Connection, table: &str) -> Vec<Option<String>> {
    conn.query(&format!("SELECT v::text FROM {table} ORDER BY n"), ())
        .unwrap()
        .read_as::<Option<String>>()
        .collect::<Result<_, _>>()
        .unwrap()
}

/// (Of numerics without a scale zeros at the end may come or go.)
fn same(conn: &Connection, of: &str, what: &str) {
    let differing = match of {
        "numeric" => "SELECT count(*) FROM there FULL JOIN back USING (n) WHERE there.v IS DISTINCT FROM back.v",
        _ => "SELECT count(*) FROM there FULL JOIN back USING (n) WHERE there.v::text IS DISTINCT FROM back.v::text",
    };
    let count: i64 = conn.query_row_as(differing, ()).unwrap();
    assert_eq!(count, 0, "{of}, {what}: {:?} came back as {:?}", shown(conn, "there"), shown(conn, "back"));
}

#[test]
fn every_type_comes_back_as_it_went() {
    let conn = connection();
    for (of, values) in VALUES {
        for (rows, nulls) in [(0, 0), (1, 0), (1, 1), (10, 3), (2500, 7)] {
            filled(&conn, of, values, rows, nulls);
            let outgoing = Outgoing::of_rows(conn.query("SELECT n, v FROM there", ()).unwrap()).unwrap();
            // As one library hands them to another.
            let mut stream = outgoing.into_stream();
            // SAFETY: it is a stream of ours, and nobody else's.
            let incoming = unsafe { Incoming::of_stream(&raw mut stream) }.unwrap();
            let count = conn.append_batches("back", &[], incoming);
            assert_eq!(count.map_err(|error| format!("{of}: {error}")), Ok(rows as u64));
            same(&conn, of, &format!("{rows} rows"));
        }
    }
}

#[test]
fn parts_of_arrays_come_back_as_those_rows() {
    let conn = connection();
    for (of, values) in VALUES {
        filled(&conn, of, values, 100, 5);
        let outgoing = Outgoing::of_rows(conn.query("SELECT n, v FROM there ORDER BY n", ()).unwrap()).unwrap();
        let rows = outgoing.map(Result::unwrap).next().unwrap();
        let parts = [(0, 3), (3, 0), (3, 61), (64, 36)].map(|(at, count)| batch_of(&rows.slice(at, count)));
        assert_eq!(conn.append_batches("back", &[], parts).unwrap(), 100, "{of}");
        same(&conn, of, "in parts");
    }
}

#[test]
fn a_result_of_many_batches_has_one_schema_and_all_rows() {
    let conn = connection();
    let sql = "SELECT n, n::numeric / 4, repeat('x', n % 9) FROM generate_series(1, 200000) AS n";
    let outgoing = Outgoing::of_rows(conn.query(sql, ()).unwrap()).unwrap();
    let schema = outgoing.schema();
    let batches: Vec<RecordBatch> = outgoing.map(Result::unwrap).collect();
    assert!(batches.len() > 1 && batches.iter().all(|batch| batch.schema() == schema));
    assert!(matches!(schema.field(1).data_type(), Arrow::Decimal128(38, _)), "{schema}");
    let sum: i64 = batches
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec())
        .map(i64::from)
        .sum();
    assert_eq!(sum, 200_000 * 200_001 / 2);
}

#[test]
fn decimals_without_a_scale_have_that_of_their_values() {
    let conn = connection();
    let type_of = |sql: &str| {
        let outgoing = Outgoing::of_rows(conn.query(sql, ()).unwrap()).unwrap();
        outgoing.schema().field(0).data_type().clone()
    };
    assert_eq!(type_of("SELECT sum(n) FROM (VALUES (1::bigint), (2)) AS v(n)"), Arrow::Decimal128(38, 0));
    assert_eq!(type_of("VALUES (1.5), (NULL), (2.25)"), Arrow::Decimal128(38, 2));
    assert_eq!(type_of("SELECT 1e50::numeric"), Arrow::Decimal256(51, 0));
    assert_eq!(type_of("SELECT 'NaN'::numeric"), Arrow::Utf8);
    assert_eq!(type_of("SELECT 1.5 WHERE false"), Arrow::Decimal128(38, 0));
    // What comes later and does not fit is an error, which the stream tells.
    let sql = "SELECT CASE WHEN n < 190000 THEN 1 ELSE 1e30 + 1e-20 END FROM generate_series(1, 200000) AS n";
    let told: Result<Vec<_>, ArrowError> = Outgoing::of_rows(conn.query(sql, ()).unwrap()).unwrap().collect();
    assert!(told.unwrap_err().to_string().contains("22003"));
}

#[test]
fn what_arrow_has_not_is_told_with_what_to_do() {
    let conn = connection();
    for (sql, code) in [
        ("SELECT 'infinity'::date", "22008"),
        ("SELECT '-infinity'::timestamptz", "22008"),
        ("SELECT '24:00'::time", "22008"),
        ("SELECT 'NaN'::numeric(5,2)", "22003"),
        ("SELECT ARRAY[[1,2],[3,4]]", "0A000"),
        ("SELECT interval '300 years' - interval '1 hour' * 24 * 365 * 300", "22008"),
        ("SELECT 1 / 0", "22012"),
    ] {
        let told = Outgoing::of_rows(conn.query(sql, ()).unwrap())
            .map_err(|error| format!("{}: {}", error.sqlstate().as_str(), error.message()))
            .and_then(|outgoing| outgoing.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string()));
        assert!(told.as_ref().is_err_and(|error| error.contains(code)), "{sql}: {told:?}");
        // A NULL of that type is none of it.
        let null = format!("SELECT nullif(v, v) FROM ({sql}) AS of(v)");
        if code != "22012" {
            let outgoing = Outgoing::of_rows(conn.query(&null, ()).unwrap()).unwrap();
            assert_eq!(outgoing.map(|batch| batch.unwrap().column(0).null_count()).sum::<usize>(), 1, "{sql}");
        }
    }
}

/// An array as the only column of a table, and back as text.
fn taken(array: ArrayRef, field: Field) -> Result<(DataType, Vec<Option<String>>), cairndb::Error> {
    let conn = connection();
    let of = sql_type(&field)?;
    conn.execute_script(&format!("CREATE TABLE back (n int GENERATED ALWAYS AS IDENTITY, v {of})"))?;
    let schema = Arc::new(Schema::new(vec![field.with_name("v")]));
    let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    conn.append_batches("back", &["v"], Incoming::of_reader(reader)?)?;
    Ok((of, shown(&conn, "back")))
}

fn taken_plain(array: ArrayRef) -> (DataType, Vec<Option<String>>) {
    let field = Field::new("v", array.data_type().clone(), true);
    taken(array, field).unwrap()
}

fn texts(all: &[Option<&str>]) -> Vec<Option<String>> {
    all.iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn what_arrow_has_besides_comes_in() {
    let bytes = |array: ArrayRef, of: DataType, shown: &[Option<&str>]| {
        let name = array.data_type().to_string();
        assert_eq!(taken_plain(array), (of, texts(shown)), "{name}");
    };
    bytes(Arc::new(Int8Array::from(vec![Some(-128), None])), DataType::SmallInt, &[Some("-128"), None]);
    bytes(Arc::new(UInt8Array::from(vec![255])), DataType::SmallInt, &[Some("255")]);
    bytes(Arc::new(UInt16Array::from(vec![65535])), DataType::Integer, &[Some("65535")]);
    bytes(Arc::new(UInt32Array::from(vec![u32::MAX])), DataType::BigInt, &[Some("4294967295")]);
    let most = DataType::Numeric(Some((20, 0)));
    bytes(Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])), most, &[Some("18446744073709551615"), None]);
    bytes(Arc::new(NullArray::new(2)), DataType::Text, &[None, None]);
    let long = "longer than twelve bytes";
    bytes(
        Arc::new(LargeStringArray::from(vec![Some(long), None, Some("")])),
        DataType::Text,
        &[Some(long), None, Some("")],
    );
    bytes(
        Arc::new(StringViewArray::from(vec![Some(long), None, Some("é")])),
        DataType::Text,
        &[Some(long), None, Some("é")],
    );
    bytes(Arc::new(LargeBinaryArray::from(vec![&b"\0\xff"[..]])), DataType::Bytea, &[Some("\\x00ff")]);
    bytes(Arc::new(BinaryViewArray::from(vec![Some(&b"\0\xff"[..]), None])), DataType::Bytea, &[Some("\\x00ff"), None]);
    let fixed = FixedSizeBinaryArray::try_from_iter([[1_u8, 2]].into_iter()).unwrap();
    bytes(Arc::new(fixed), DataType::Bytea, &[Some("\\x0102")]);
    bytes(Arc::new(Date64Array::from(vec![951_782_400_000])), DataType::Date, &[Some("2000-02-29")]);
    bytes(Arc::new(Time32SecondArray::from(vec![3661])), DataType::TIME, &[Some("01:01:01")]);
    bytes(Arc::new(Time64NanosecondArray::from(vec![1_500])), DataType::TIME, &[Some("00:00:00.000002")]);
    let at = |array: ArrayRef| bytes(array, DataType::TIMESTAMP, &[Some("1969-12-31 23:59:59")]);
    at(Arc::new(TimestampSecondArray::from(vec![-1])));
    at(Arc::new(TimestampMillisecondArray::from(vec![-1000])));
    at(Arc::new(TimestampNanosecondArray::from(vec![-1_000_000_000])));
    let zoned = TimestampNanosecondArray::from(vec![Some(1), None]).with_timezone("America/New_York");
    bytes(Arc::new(zoned), DataType::TIMESTAMPTZ, &[Some("1970-01-01 00:00:00+00"), None]);
    bytes(Arc::new(DurationMillisecondArray::from(vec![61_001])), DataType::INTERVAL, &[Some("00:01:01.001")]);
    bytes(Arc::new(IntervalYearMonthArray::from(vec![14])), DataType::INTERVAL, &[Some("1 year 2 mons")]);
    let keys = Int8Array::from(vec![Some(1), None, Some(0)]);
    let dictionary = DictionaryArray::new(keys, Arc::new(StringArray::from(vec![Some("a"), None])));
    bytes(Arc::new(dictionary), DataType::Text, &[None, None, Some("a")]);
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let integers = DataType::BigInt.array().unwrap();
    bytes(Arc::new(list), integers, &[Some("{1,NULL}"), None, Some("{}")]);
    let fixed = FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), Some(2)])], 2);
    bytes(Arc::new(fixed), integers, &[Some("{1,2}")]);
    let negative = Decimal128Array::from(vec![Some(12), None]).with_precision_and_scale(5, -2).unwrap();
    bytes(Arc::new(negative), DataType::Numeric(Some((5, -2))), &[Some("1200"), None]);
    let small = Decimal32Array::from(vec![-125]).with_precision_and_scale(5, 2).unwrap();
    bytes(Arc::new(small), DataType::Numeric(Some((5, 2))), &[Some("-1.25")]);
}

#[test]
fn what_no_column_takes_is_refused() {
    let refused = |array: ArrayRef, code: &str| {
        let field = Field::new("v", array.data_type().clone(), true);
        let error = taken(array, field).unwrap_err();
        assert_eq!(error.sqlstate().as_str(), code, "{error}");
    };
    let parts: Vec<(Arc<Field>, ArrayRef)> =
        vec![(Arc::new(Field::new("x", Arrow::Int32, true)), Arc::new(Int32Array::from(vec![1])))];
    refused(Arc::new(StructArray::from(parts)), "0A000");
    refused(Arc::new(StringArray::from(vec!["a\0b"])), "22021");
    refused(Arc::new(TimestampSecondArray::from(vec![i64::MAX])), "22008");
    refused(Arc::new(Date32Array::from(vec![i32::MAX])), "22008");
    refused(Arc::new(Time64MicrosecondArray::from(vec![-1])), "22008");
    let inner = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, 1]));
    refused(Arc::new(ListArray::new(field, offsets, Arc::new(inner), None)), "0A000");
    let zoned = Field::new("v", Arrow::Timestamp(TimeUnit::Second, Some("nonsense".into())), true);
    assert_eq!(sql_type(&zoned).unwrap(), DataType::TIMESTAMPTZ, "a zone says nothing of which moment it is");
}

#[test]
fn what_nobody_saw_is_given_back() {
    let conn = connection();
    let (sender, unread) = std::sync::mpsc::channel();
    let rows = conn.query("SELECT n FROM generate_series(1, 200000) AS n", ()).unwrap();
    let mut outgoing = Outgoing::of_rows(rows).unwrap().giving_back(move |ahead| sender.send(ahead).unwrap());
    let first = outgoing.next().unwrap().unwrap().num_rows();
    drop(outgoing);
    let ahead = unread.recv().unwrap();
    assert_eq!(ahead[0].value(0, 0), cairndb::Value::Integer(first as i32 + 1));
}

/// Streams that lie: each is refused, and what it holds is let go of.
mod lies {
    use std::ffi::c_int;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
    use arrow_array::ffi_stream::FFI_ArrowArrayStream;
    use arrow_buffer::Buffer;
    use arrow_data::ArrayData;

    use super::*;

    static RELEASED: AtomicUsize = AtomicUsize::new(0);

    /// What a stream gives: its schema, and its only batch.
    struct Given {
        schema: Schema,
        batch: Option<ArrayData>,
    }

    unsafe extern "C" fn schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
        // SAFETY: `stream` is one of ours, and `out` a place for a schema.
        unsafe {
            let given = &*(*stream).private_data().cast::<Given>();
            out.write(FFI_ArrowSchema::try_from(&given.schema).unwrap());
        }
        0
    }

    unsafe extern "C" fn next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
        // SAFETY: as above.
        unsafe {
            let given = &mut *(*stream).private_data().cast::<Given>();
            let batch = given.batch.take();
            out.write(batch.map_or_else(FFI_ArrowArray::empty, |batch| FFI_ArrowArray::new(&batch)));
        }
        0
    }

    unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
        // SAFETY: as above; it is called once.
        unsafe {
            drop(Box::from_raw((*stream).private_data().cast::<Given>()));
            (*stream).set_release(None);
        }
        RELEASED.fetch_add(1, Ordering::Relaxed);
    }

    /// What comes of a stream with this column, which is said to be of this type.
    fn told(said: Arrow, column: ArrayData) -> cairndb::Error {
        let field = |of: &Arrow| Field::new("v", of.clone(), true);
        // SAFETY: of what it says it is nothing has to hold for the tests: that is looked at by who takes it.
        let batch = unsafe {
            let of = Arrow::Struct(vec![field(column.data_type())].into());
            ArrayData::builder(of).len(column.len()).add_child_data(column).build_unchecked()
        };
        let given = Box::new(Given { schema: Schema::new(vec![field(&said)]), batch: Some(batch) });
        // SAFETY: the functions are those of what is given.
        let mut stream = unsafe {
            FFI_ArrowArrayStream::new_unchecked(
                Some(schema),
                Some(next),
                None,
                Some(release),
                Box::into_raw(given).cast(),
            )
        };
        let before = RELEASED.load(Ordering::Relaxed);
        // SAFETY: it is nobody else's.
        let mut incoming = unsafe { Incoming::of_stream(&raw mut stream) }.unwrap();
        let error = incoming.try_for_each(|batch| batch.map(drop)).expect_err("it was believed");
        drop(incoming);
        assert_eq!(RELEASED.load(Ordering::Relaxed), before + 1, "it was not let go of");
        error
    }

    fn data(of: Arrow, len: usize, buffers: &[Buffer]) -> ArrayData {
        // SAFETY: see `told`.
        unsafe { ArrayData::builder(of).len(len).buffers(buffers.to_vec()).build_unchecked() }
    }

    #[test]
    fn none_is_believed() {
        let offsets = |offsets: [i32; 3]| Buffer::from_slice_ref(offsets);
        let bytes = Buffer::from_slice_ref(*b"abcd");
        let foul = Buffer::from_slice_ref([0xff_u8, 0xfe, b'a', b'b']);
        for (what, said, column) in [
            ("offsets that go back", Arrow::Utf8, data(Arrow::Utf8, 2, &[offsets([0, 4, 2]), bytes.clone()])),
            ("offsets below 0", Arrow::Utf8, data(Arrow::Utf8, 2, &[offsets([-2, 2, 4]), bytes.clone()])),
            ("text that is none", Arrow::Utf8, data(Arrow::Utf8, 2, &[offsets([0, 2, 4]), foul])),
            ("another type than was said", Arrow::Utf8, data(Arrow::Int32, 1, &[Buffer::from_slice_ref([1_i32])])),
        ] {
            assert_eq!(told(said, column).sqlstate().as_str(), "22P03", "{what}");
        }
        let values = StringArray::from(vec!["a"]).to_data();
        // SAFETY: see `told`.
        let beyond = unsafe {
            let keys = Buffer::from_slice_ref([0_i32, 5]);
            ArrayData::builder(keys_type()).len(2).add_buffer(keys).add_child_data(values).build_unchecked()
        };
        assert_eq!(told(keys_type(), beyond).sqlstate().as_str(), "22P03", "a key of no value");
    }

    fn keys_type() -> Arrow {
        Arrow::Dictionary(Box::new(Arrow::Int32), Box::new(Arrow::Utf8))
    }

    #[test]
    fn a_stream_that_is_used_up_is_refused() {
        let mut stream = FFI_ArrowArrayStream::empty();
        // SAFETY: it is nobody else's.
        let error = unsafe { Incoming::of_stream(&raw mut stream) }.err().expect("it was believed");
        assert_eq!(error.sqlstate().as_str(), "22P03");
    }
}
