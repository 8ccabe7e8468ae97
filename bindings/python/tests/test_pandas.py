"""pandas' `read_sql` and `to_sql`, through PEP 249's connection and through SQLAlchemy's engine."""

import datetime
import decimal
import warnings

import numpy
import pandas
import pytest
import sqlalchemy

import pycairndb

NOON = datetime.datetime(2026, 11, 30, 12, 0, 0, 250_000)


@pytest.fixture
def engine(path):
    engine = sqlalchemy.create_engine(f"cairndb:///{path}")
    yield engine
    engine.dispose()


@pytest.fixture
def frame():
    return pandas.DataFrame(
        {
            "id": [1, 2, 3],
            "small": numpy.array([1, -2, 3], dtype="int16"),
            "maybe": pandas.array([1, None, 3], dtype="Int64"),
            "ratio": [0.5, None, float("inf")],
            "done": [True, False, True],
            "name": ["a", None, "ü"],
            "at": pandas.to_datetime([NOON, None, NOON]),
            "zoned": pandas.to_datetime([NOON, None, NOON], utc=True),
            "day": [datetime.date(2026, 1, 1), None, datetime.date(1, 1, 1)],
            "price": [decimal.Decimal("1.10"), None, decimal.Decimal("-99999999999.25")],
            "data": [b"\0x", None, b""],
            "doc": [{"a": [1]}, None, {}],
        }
    )


# (pandas takes what it does not know for text, bytes too.)
TYPES = {"price": sqlalchemy.Numeric(20, 2), "doc": sqlalchemy.JSON(none_as_null=True), "day": sqlalchemy.Date, "data": sqlalchemy.LargeBinary}


def rows(engine, sql):
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sqlalchemy.text(sql))]


@pytest.mark.parametrize("how", [{}, {"method": "multi"}, {"chunksize": 2}, {"chunksize": 2, "method": "multi"}])
def test_a_frame_goes_in_and_comes_back(engine, frame, how):
    assert frame.to_sql("t", engine, index=False, dtype=TYPES, **how) in (None, 3)
    types = {column["name"]: str(column["type"]) for column in sqlalchemy.inspect(engine).get_columns("t")}
    assert types["id"] == "BIGINT" and types["small"] == "SMALLINT" and types["maybe"] == "BIGINT" and types["done"] == "BOOLEAN"
    assert types["price"] == "NUMERIC(20, 2)" and types["day"] == "DATE" and types["data"] == "BYTEA"
    back = pandas.read_sql("SELECT * FROM t ORDER BY id", engine)
    assert list(back.columns) == list(frame.columns)
    assert (back["id"].dtype, back["small"].dtype, back["done"].dtype, back["ratio"].dtype) == ("int64", "int64", "bool", "float64")
    assert back["maybe"].tolist()[::2] == [1.0, 3.0] and pandas.isna(back["maybe"][1])
    assert back["ratio"][0] == 0.5 and numpy.isnan(back["ratio"][1]) and numpy.isinf(back["ratio"][2])
    assert back["name"].tolist()[::2] == ["a", "ü"] and pandas.isna(back["name"][1])
    assert back["at"].dtype.kind == "M" and back["at"][0] == pandas.Timestamp(NOON) and pandas.isna(back["at"][1])
    assert back["zoned"][0] == pandas.Timestamp(NOON, tz="UTC") and pandas.isna(back["zoned"][1])
    assert back["day"][0] == datetime.date(2026, 1, 1) and pandas.isna(back["day"][1])
    assert bytes(back["data"][0]) == b"\0x" and pandas.isna(back["data"][1])
    assert back["doc"][0] == {"a": [1]} and pandas.isna(back["doc"][1])
    assert rows(engine, "SELECT price FROM t ORDER BY id") == [(decimal.Decimal("1.10"),), (None,), (decimal.Decimal("-99999999999.25"),)]
    # Decimals are floats unless that is not wanted.
    assert back["price"].dtype == "float64" and back["price"][0] == 1.1
    exact = pandas.read_sql("SELECT price FROM t WHERE id = 1", engine, coerce_float=False)
    assert exact["price"][0] == decimal.Decimal("1.10")


def test_a_table_that_is_there(engine):
    frame = pandas.DataFrame({"n": [1, 2]})
    frame.to_sql("t", engine, index=False)
    with pytest.raises(ValueError, match="already exists"):
        frame.to_sql("t", engine, index=False)
    assert rows(engine, "SELECT count(*) FROM t") == [(2,)]
    frame.to_sql("t", engine, index=False, if_exists="append")
    assert rows(engine, "SELECT count(*) FROM t") == [(4,)]
    pandas.DataFrame({"s": ["x"]}).to_sql("t", engine, index=False, if_exists="replace")
    assert rows(engine, "SELECT * FROM t") == [("x",)]
    # What does not fit leaves nothing, of the rows before it either.
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("ALTER TABLE t ADD CHECK (s <> 'bad')"))
    with pytest.raises(Exception, match="check constraint"):
        pandas.DataFrame({"s": ["good", "bad"]}).to_sql("t", engine, index=False, if_exists="append", chunksize=1)
    assert rows(engine, "SELECT * FROM t") == [("x",)]


def test_an_index_and_a_schema(engine):
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE SCHEMA other"))
    frame = pandas.DataFrame({"n": [1, 2]}, index=pandas.Index(["a", "b"], name="key"))
    frame.to_sql("t", engine, schema="other")
    back = pandas.read_sql_table("t", engine, schema="other", index_col="key", columns=["n"])
    assert back.to_dict() == {"n": {"a": 1, "b": 2}} and back.index.name == "key"
    assert [index["column_names"] for index in sqlalchemy.inspect(engine).get_indexes("t", schema="other")] == [["key"]]


def test_reading_in_parts(engine):
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE t AS SELECT n, n * 0.5 AS half FROM generate_series(1, 2500) AS s(n)"))
    with engine.connect().execution_options(stream_results=True) as connection:
        parts = list(pandas.read_sql("SELECT * FROM t ORDER BY n", connection, chunksize=1000))
    assert [len(part) for part in parts] == [1000, 1000, 500]
    assert pandas.concat(parts)["n"].sum() == 2500 * 2501 // 2
    assert [len(part) for part in pandas.read_sql("SELECT * FROM t WHERE n < 0", engine, chunksize=10)] == [0]


@pytest.mark.parametrize("parameters", [("SELECT ? + 1 AS n", (4,)), ("SELECT :n + 1 AS n", {"n": 4}), ("SELECT %(n)s + 1 AS n", {"n": 4})])
def test_through_pep_249(db, parameters):
    sql, values = parameters
    with warnings.catch_warnings():
        # That it knows SQLAlchemy and sqlite3 alone.
        warnings.simplefilter("ignore", UserWarning)
        db.execute("CREATE TABLE t (id int, at timestamptz, price numeric(8, 2), doc jsonb, tags text[])")
        db.execute("INSERT INTO t VALUES (1, '2026-11-30 12:00+00', 1.5, '{\"a\": 1}', '{x,y}'), (2, NULL, NULL, NULL, NULL)")
        back = pandas.read_sql("SELECT * FROM t ORDER BY id", db, parse_dates=["at"])
        assert back["at"][0] == pandas.Timestamp("2026-11-30 12:00", tz="UTC") and pandas.isna(back["at"][1])
        assert back["price"][0] == 1.5 and numpy.isnan(back["price"][1])
        assert back["doc"][0] == {"a": 1} and back["tags"][0] == ["x", "y"] and back["tags"][1] is None
        assert pandas.read_sql_query(sql, db, params=values)["n"].tolist() == [5]
        parts = list(pandas.read_sql("SELECT id FROM t ORDER BY id", db, chunksize=1))
        assert [part["id"].tolist() for part in parts] == [[1], [2]]
        assert pandas.read_sql("SELECT id FROM t", db, dtype={"id": "float32"})["id"].dtype == "float32"
        with pytest.raises(Exception) as raised:
            pandas.read_sql("SELECT * FROM missing", db)
    assert isinstance(raised.value, pycairndb.Error) or isinstance(raised.value.__cause__, pycairndb.Error)
