"""Values there and back."""

import datetime as dt
import decimal
import enum
import json
import math
import uuid

import pytest

import pycairndb
from pycairndb import Interval, Json

UTC = dt.timezone.utc

THERE_AND_BACK = [
    ("boolean", True),
    ("smallint", -32768),
    ("integer", 2**31 - 1),
    ("bigint", -(2**63)),
    ("double precision", 0.1),
    ("double precision", math.inf),
    ("real", 1.5),
    ("numeric", decimal.Decimal("1.20")),
    ("numeric", decimal.Decimal("-0.000000000000000000000000000001")),
    ("numeric", decimal.Decimal(10**60)),
    ("numeric", decimal.Decimal("Infinity")),
    ("text", "grüße 🦀"),
    ("text", ""),
    ("varchar(10)", "x" * 10),
    ("bytea", b"\x00\xff"),
    ("date", dt.date(1, 1, 1)),
    ("date", dt.date(9999, 12, 31)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timetz", dt.time(12, 0, tzinfo=dt.timezone(dt.timedelta(hours=2)))),
    ("timestamp", dt.datetime(1, 1, 1)),
    ("timestamp", dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("timestamptz", dt.datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
    ("interval", dt.timedelta(days=-3, microseconds=5)),
    ("interval", Interval(months=-14, days=3, micros=7)),
    ("uuid", uuid.UUID(int=2**127 + 1)),
    ("jsonb", {"a": [1, 2.5, None, True, "x"], "b": {}}),
    ("json", [1, {"x": "y"}]),
    ("int[]", [1, None, 3]),
    ("int[]", []),
    ("int[]", [[1, 2], [3, 4]]),
    ("text[]", ["a,b", '"', "NULL", None]),
    ("numeric[]", [decimal.Decimal("1.5"), decimal.Decimal("2")]),
    ("timestamptz[]", [dt.datetime(2000, 1, 1, tzinfo=UTC)]),
    ("date[]", [dt.date(2024, 1, 1)]),
    ("jsonb[]", [{"a": 1}, {"b": 2}]),
]


@pytest.mark.parametrize(("of", "value"), THERE_AND_BACK, ids=lambda part: str(part)[:30])
def test_a_value_comes_back_as_it_went_in(db, of, value):
    db.execute(f"CREATE TABLE t (v {of})")
    db.execute("INSERT INTO t VALUES (?)", (value,))
    for back in (db.execute("SELECT v FROM t").fetchone()[0], db.execute(f"SELECT ?::{of}", (value,)).fetchone()[0]):
        assert back == value
        assert type(back) is type(value)


@pytest.mark.parametrize("value", [7, -(2**40), 2.5, "text", True, decimal.Decimal("1.50"), dt.date(2024, 1, 2), b"x",
                                   uuid.UUID(int=5), [1, 2], {"a": 1}, None, dt.timedelta(days=1), 10**30], ids=repr)
def test_a_parameter_that_the_statement_says_nothing_of_is_what_it_is(db, value):
    assert db.execute("SELECT ?", (value,)).fetchone() == (value,)


def test_numbers_that_are_none(db):
    row = db.execute("SELECT ?::float8, ?::numeric", (math.nan, decimal.Decimal("NaN"))).fetchone()
    assert math.isnan(row[0]) and row[1].is_nan()


def test_integers_of_any_size_are_exact(db):
    for size in (63, 64, 127, 128, 1000, 100_000):
        for number in (2**size, 2**size - 1, -(2**size)):
            assert int(db.execute("SELECT ?::numeric", (number,)).fetchone()[0]) == number
    with pytest.raises(pycairndb.DataError) as raised:
        db.execute("SELECT ?", (2**2_000_000,))
    assert raised.value.sqlstate == "22003"
    db.execute("CREATE TABLE small (v smallint)")
    with pytest.raises(pycairndb.DataError) as raised:
        db.execute("INSERT INTO small VALUES (?)", (2**40,))
    assert raised.value.sqlstate == "22003"


def test_what_python_has_no_object_for_is_an_error_that_says_what_to_do(db):
    for value in ("date 'infinity'", "timestamp '-infinity'", "date '0001-01-01 BC'", "time '24:00'", "timestamptz '20000-01-01'"):
        cursor = db.execute(f"SELECT {value}")
        with pytest.raises(pycairndb.DataError) as raised:
            cursor.fetchone()
        assert raised.value.sqlstate == "22008" and "text" in raised.value.hint
        assert isinstance(db.execute(f"SELECT ({value})::text").fetchone()[0], str)


def test_moments_are_shown_in_the_zone_of_the_session(db):
    moment = dt.datetime(2024, 7, 1, 12, tzinfo=UTC)
    db.execute("SET TimeZone = 'Europe/Berlin'")
    shown = db.execute("SELECT ?::timestamptz", (moment,)).fetchone()[0]
    assert shown == moment and shown.utcoffset() == dt.timedelta(hours=2)
    db.execute("SET TimeZone = '+03'")
    assert db.execute("SELECT ?::timestamptz", (moment,)).fetchone()[0] == moment


def test_moments_at_the_ends_of_the_calendar(db):
    for zone, local in (("America/Chicago", "9999-12-31 23:59:59.999999"), ("Etc/GMT-9", "0001-01-01 00:00:00")):
        db.execute(f"SET TimeZone = '{zone}'")
        shown = db.execute("SELECT ?::text::timestamptz", (local,)).fetchone()[0]
        assert shown.replace(tzinfo=None) == dt.datetime.fromisoformat(local) and str(shown.tzinfo) == zone
    # There is one in UTC, and none here.
    db.execute("SET TimeZone = 'Asia/Tokyo'")
    with pytest.raises(pycairndb.DataError) as raised:
        db.execute("SELECT '9999-12-31 23:30:00+00'::timestamptz").fetchone()
    assert raised.value.sqlstate == "22008"
    with pytest.raises(pycairndb.DataError):
        db.execute("SELECT 'infinity'::timestamptz").fetchone()


def test_buffers_are_bytes(db):
    import array

    for value in (bytearray(b"ab"), memoryview(b"ab"), memoryview(b"xaxbx")[1::2], array.array("B", b"ab")):
        assert db.execute("SELECT ?::bytea", (value,)).fetchone() == (b"ab",)


def test_json_is_json_whatever_it_is(db):
    for value in ("text", None, 5, [1], {"a": None}, [], {}):
        assert db.execute("SELECT ?::jsonb", (Json(value),)).fetchone() == (value,)
        assert db.execute("SELECT jsonb_build_array(?)", (Json(value),)).fetchone() == ([value],)
    with pytest.raises(pycairndb.DataError):
        db.execute("SELECT ?::jsonb", ({"a": object()},))
    # By a writer of one's own.
    texts = lambda value: json.dumps(value, default=str)  # noqa: E731
    assert db.execute("SELECT ?::jsonb", (Json({"a": dt.date(2024, 1, 2)}, texts),)).fetchone() == ({"a": "2024-01-02"},)
    for dumps in (lambda value: "{@", lambda value: b"1", lambda value: 1 / 0):
        with pytest.raises(pycairndb.Error) as raised:
            db.execute("SELECT ?::jsonb", (Json(1, dumps=dumps),))
        assert raised.value.sqlstate in ("22P02", "42804", "22023")


class Mood(enum.Enum):
    happy = 1
    sad = 2


class Level(enum.IntEnum):
    low = 10


def test_enums(db):
    db.execute("CREATE TYPE mood AS ENUM ('happy', 'sad')")
    db.execute("CREATE TABLE t (m mood)")
    db.execute("INSERT INTO t VALUES (?)", (Mood.sad,))
    assert db.execute("SELECT m FROM t").fetchone() == ("sad",)
    assert db.execute("SELECT ?, ?", (Mood.sad, Level.low)).fetchone() == (2, 10)


def test_adapters_and_converters(db):
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    class Conforming:
        def __conform__(self, protocol):
            return "conforms" if protocol is pycairndb.PrepareProtocol else None

    from pycairndb import _types

    pycairndb.register_adapter(Point, lambda point: [point.x, point.y])
    pycairndb.register_converter("uuid", lambda value: value.hex)
    try:
        assert db.execute("SELECT ?::int[]", (Point(1, 2),)).fetchone() == ([1, 2],)
        assert db.execute("SELECT ?", (Conforming(),)).fetchone() == ("conforms",)
        assert db.execute("SELECT ?::uuid, NULL::uuid", (uuid.UUID(int=1),)).fetchone() == (uuid.UUID(int=1).hex, None)
    finally:
        _types.adapters.clear()
        _types.converters.clear()


@pytest.mark.parametrize("value", [object(), {1, 2}, lambda: 1, 1j, type], ids=repr)
def test_what_is_no_value_is_refused(db, value):
    with pytest.raises(pycairndb.ProgrammingError) as raised:
        db.execute("SELECT ?", (value,))
    assert raised.value.sqlstate == "42804"
    assert db.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("value", [[1, "a"], [[1], [2, 3]], [[1], 2], [1, [2]], [[[[[[[1]]]]]]]], ids=repr)
def test_lists_that_are_no_arrays_are_refused(db, value):
    with pytest.raises(pycairndb.Error) as raised:
        db.execute("SELECT ?", (value,))
    assert raised.value.sqlstate in ("42804", "2202E", "54000")


def test_text_that_is_none_is_refused(db):
    for value in ("\ud800", "a\0b"):
        with pytest.raises(pycairndb.DataError) as raised:
            db.execute("SELECT ?", (value,))
        assert raised.value.sqlstate == "22021"
    with pytest.raises(pycairndb.DataError):
        db.execute("SELECT '\ud800'")
    with pytest.raises(pycairndb.Error):
        db.execute("SELECT 'a\0b'")


class Lying(list):
    def __len__(self):
        return 1


def test_sequences_that_lie_are_found_out(db):
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute("SELECT ?", Lying([1, 2]))


def test_a_datetime_of_a_broken_zone_raises_what_that_raises(db):
    class Broken(dt.tzinfo):
        def utcoffset(self, moment):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.execute("SELECT ?", (dt.datetime(2024, 1, 1, tzinfo=Broken()),))
    assert db.execute("SELECT 1").fetchone() == (1,)
