"""Results by column, and what comes in by column."""

import datetime
import decimal
import gc
import threading
import uuid

import pytest

import pycairndb

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")

EVERY = """
    SELECT true AS flag, 1::smallint AS small, 2 AS int, 3::bigint AS big, 1.5::real AS real, 2.5::float8 AS double,
        12.34::numeric(10,2) AS price, 'é' AS text, '\\x00ff'::bytea AS bytes, date '2000-02-29' AS day, time '12:34:56' AS time,
        timestamp '1969-12-31 23:59:59.5' AS at, timestamptz '2024-01-01 00:00+00' AS moment, interval '1 day 2 hours' AS span,
        '123e4567-e89b-12d3-a456-426614174000'::uuid AS id, '{"a": [1]}'::jsonb AS doc, ARRAY[1, NULL] AS list
"""


def test_arrow_has_every_type(db):
    table = db.execute(EVERY).arrow()
    row = table.to_pylist()[0]
    assert row["price"] == decimal.Decimal("12.34") and row["text"] == "é" and row["bytes"] == b"\0\xff"
    assert row["day"] == datetime.date(2000, 2, 29) and row["list"] == [1, None] and row["time"] == datetime.time(12, 34, 56)
    assert str(table.schema.field("price").type) == "decimal128(10, 2)"
    assert str(table.schema.field("moment").type) == "timestamp[us, tz=UTC]"
    assert table.schema.field("doc").type.extension_name == "arrow.json"
    assert db.execute(EVERY.replace("SELECT", "SELECT NULL::text AS nothing,")).arrow().column("nothing").null_count == 1


def test_numpy_sees_where_values_lie(db):
    arrays = db.execute("SELECT n, n / 2.0::float8 AS half, nullif(n, 2) AS some, n::text AS text FROM generate_series(1, 3) AS n").fetchnumpy()
    assert arrays["n"].dtype == "int32" and arrays["n"].tolist() == [1, 2, 3]
    assert arrays["half"].tolist() == [0.5, 1.0, 1.5]
    assert arrays["some"].tolist() == [1, None, 3] and isinstance(arrays["some"], numpy.ma.MaskedArray)
    assert arrays["text"].tolist() == ["1", "2", "3"]
    arrays["n"][0] = 9
    kept = arrays["n"]
    del arrays
    gc.collect()
    assert kept.tolist() == [9, 2, 3], "the memory lives as long as the array"
    assert db.execute("SELECT 1 AS n WHERE false").fetchnumpy()["n"].shape == (0,)


def test_pandas_has_its_dtypes(db):
    frame = db.execute(EVERY).df()
    kinds = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert (kinds["int"], kinds["big"], kinds["double"], kinds["price"]) == ("int32", "int64", "float64", "float64")
    assert kinds["at"] == "datetime64[us]" and kinds["day"] == "datetime64[us]" and kinds["moment"] == "datetime64[us, UTC]"
    row = frame.iloc[0]
    assert row["price"] == 12.34 and row["id"] == uuid.UUID("123e4567-e89b-12d3-a456-426614174000")
    assert row["doc"] == {"a": [1]} and row["list"] == [1, None]
    nulls = db.execute("SELECT NULL::int AS i, NULL::date AS d, NULL::boolean AS b, NULL::text AS t, NULL::numeric AS n").df()
    assert nulls.isna().all(axis=None) and str(nulls["i"].dtype) == "float64"
    db.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    moods = db.execute("SELECT * FROM (VALUES ('happy'::mood), (NULL), ('sad')) AS m(mood)").df()["mood"]
    assert moods.cat.categories.tolist() == ["sad", "happy"] and moods.isna().tolist() == [False, True, False]
    same = db.execute("SELECT 1 AS a, 2 AS a").df()
    assert same.columns.tolist() == ["a", "a_1"]


def test_polars_and_duckdb_take_the_stream(db):
    query = "SELECT n::bigint AS n, n::text AS text FROM generate_series(1, 100000) AS n"
    frame = db.execute(query).pl()
    assert frame.height == 100_000 and frame["n"].sum() == 5_000_050_000
    duckdb = pytest.importorskip("duckdb")
    result = db.execute(query)  # noqa: F841
    assert duckdb.sql("SELECT sum(n), max(length(text)) FROM result").fetchall() == [(5_000_050_000, 6)]


def test_a_stream_tells_its_errors(db):
    cursor = db.execute("SELECT 1 / (150000 - n) AS x FROM generate_series(1, 200000) AS n")
    with pytest.raises(Exception, match="22012"):
        pyarrow.table(cursor)
    with pytest.raises(pycairndb.DataError) as error:
        db.execute("SELECT 'infinity'::date AS d").df()
    assert error.value.sqlstate == "22008"
    with pytest.raises(Exception, match="Cast the column to text"):
        db.execute("SELECT 'infinity'::date AS d").arrow()
    with pytest.raises(pycairndb.Error):
        db.execute("CREATE TABLE nothing (id int)").df()


def test_a_stream_whose_result_was_let_go_of_says_so(db):
    cursor = db.execute("SELECT n FROM generate_series(1, 300000) AS n")
    reader = pyarrow.RecordBatchReader.from_stream(cursor)
    reader.read_next_batch()
    cursor.execute("SELECT 1")
    with pytest.raises(Exception, match="34000"):
        for _ in range(10):
            reader.read_next_batch()


def test_a_result_outlives_its_transaction_by_column_too():
    with pycairndb.connect(":memory:") as db:
        db.execute("CREATE TABLE t (n int)")
        db.execute("INSERT INTO t SELECT n FROM generate_series(1, 200000) AS n")
        reader = pyarrow.RecordBatchReader.from_stream(db.execute("SELECT n FROM t"))
        first = reader.read_next_batch().num_rows
        db.commit()
        rest = sum(batch.num_rows for batch in reader)
        assert first + rest == 200_000
    db.close()


def test_rows_that_were_fetched_are_not_in_the_stream(db):
    cursor = db.execute("SELECT n FROM generate_series(1, 5000) AS n")
    assert cursor.fetchone() == (1,) and len(cursor.fetchmany(10)) == 10
    assert cursor.arrow().column(0)[0].as_py() == 12


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "result"])
def test_data_frames_go_in(db, kind):
    data = {"id": [1, 2, 3], "name": ["a", None, "ü"], "price": [1.25, None, 3.0]}
    frame = {
        "pandas": lambda: pandas.DataFrame(data),
        "polars": lambda: polars.DataFrame(data),
        "arrow": lambda: pyarrow.table(data),
        "result": lambda: db.execute(
            "SELECT * FROM (VALUES (1, 'a', 1.25::float8), (2, NULL, NULL), (3, 'ü', 3)) AS v(id, name, price)"
        ),
    }[kind]()
    db.execute("CREATE TABLE item (price numeric(8,2), name varchar(5), id bigint PRIMARY KEY, kept int DEFAULT 7)")
    if kind == "result":
        other = db.again()
        frame = other.execute("SELECT * FROM (VALUES (1, 'a', 1.25::float8), (2, NULL, NULL), (3, 'ü', 3)) AS v(id, name, price)")
    assert db.insert_from("item", frame) == 3
    assert db.execute("SELECT id, name, price, kept FROM item ORDER BY id").fetchall() == [
        (1, "a", decimal.Decimal("1.25"), 7),
        (2, None, None, 7),
        (3, "ü", decimal.Decimal("3.00"), 7),
    ]
    with pytest.raises(pycairndb.IntegrityError) as error:
        db.insert_from("item", pandas.DataFrame({"id": [4, 3]}))
    assert error.value.sqlstate == "23505" and db.execute("SELECT count(*) FROM item").fetchone() == (3,)


def test_what_speaks_arrow_is_a_table(db):
    assert db.register("frame", polars.DataFrame({"n": [1, 2, 3], "s": ["x", "y", None]})) == 3
    assert db.execute("SELECT sum(n), count(s) FROM frame").fetchone() == (6, 2)
    assert db.register("frame", pyarrow.table({"n": [5]})) == 1
    assert db.execute("SELECT n FROM frame").fetchall() == [(5,)]
    db.unregister("frame")
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute("SELECT n FROM frame")
    assert db.register('od"d', pandas.DataFrame({'a"b': [1.5]})) == 1
    assert db.execute('SELECT "a""b" FROM "od""d"').fetchone() == (1.5,)


def test_a_variable_is_a_table_where_the_connection_allows_it(db):
    numbers = pandas.DataFrame({"n": [1, 2, 3]})  # noqa: F841
    with pytest.raises(pycairndb.ProgrammingError):
        db.query("SELECT sum(n) FROM numbers")
    db.variables = True
    assert db.query("SELECT sum(n) FROM numbers").fetchone() == (6,)
    with pytest.raises(pycairndb.ProgrammingError):
        db.query("SELECT sum(n) FROM there_is_none")
    with pycairndb.connect(":memory:") as other:
        other.variables = True
        other.execute("CREATE TABLE kept (id int)")
        assert other.query("SELECT count(*) FROM numbers WHERE n > ?", (1,)).fetchone() == (2,)
        assert other.query("SELECT count(*) FROM kept").fetchone() == (0,), "what was done before stays"
    other.close()


def test_what_lies_is_refused(db):
    class NoCapsule:
        def __arrow_c_stream__(self, requested_schema=None):
            return 1

    class WrongCapsule:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.array([1]).__arrow_c_array__()[1]

    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("mine")

    used = pyarrow.table({"n": [1]}).__arrow_c_stream__()
    db.execute("CREATE TABLE t (n int)")
    db._insert_stream("t", None, used)

    class Used:
        def __arrow_c_stream__(self, requested_schema=None):
            return used

    for data, error in [
        (NoCapsule(), TypeError),
        (WrongCapsule(), pycairndb.Error),
        (Raises(), KeyError),
        (Used(), pycairndb.Error),
        (1, pycairndb.Error),
        (pyarrow.table({"n": [{"a": 1}]}), pycairndb.NotSupportedError),
    ]:
        with pytest.raises(error):
            db.insert_from("t", data)
    def failing():
        yield pyarrow.record_batch({"n": [1]})
        raise RuntimeError("in the middle")

    schema = pyarrow.schema([("n", pyarrow.int64())])
    with pytest.raises(pycairndb.Error, match="none"):
        db.insert_from("t", pyarrow.RecordBatchReader.from_batches(schema, failing()))
    assert db.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_others_run_while_columns_are_made(db):
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    db.execute("SELECT sum(n) AS s FROM generate_series(1, 2000000) AS n").fetchnumpy()
    stop.set()
    thread.join()
    assert ticks[0] > before


def test_pandas_reads_and_writes_sql(db):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("cairndb://")
    frame = pandas.DataFrame({"n": [1, 2], "s": ["a", None], "at": pandas.to_datetime(["2024-01-01", "2024-01-02"])})
    assert frame.to_sql("frame", engine, index=False) == 2
    assert frame.to_sql("frame", engine, index=False, if_exists="append") == 2
    back = pandas.read_sql("SELECT * FROM frame ORDER BY n", engine)
    assert back["n"].tolist() == [1, 1, 2, 2] and back["at"].iloc[0] == pandas.Timestamp("2024-01-01")
    assert pandas.read_sql_table("frame", engine).shape == (4, 3)
    engine.dispose()


def test_a_notebook_shows_a_table(db):
    html = db.execute("SELECT n, '<b>' AS text, NULL AS nothing FROM generate_series(1, 100) AS n")._repr_html_()
    assert html.count("<tr>") == 51 and "&lt;b&gt;" in html and "<i>NULL</i>" in html and "first 50" in html
    assert db.execute("CREATE TABLE t (id int)")._repr_html_() is None
