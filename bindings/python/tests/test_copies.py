"""Copies of a database as statements."""

import datetime
import decimal
import uuid

import pytest

import pycairndb

SCHEMA = r"""
CREATE TYPE mood AS ENUM ('sad', 'it''s', 'happy');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TABLE every (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, flag boolean, number numeric(12, 3), real_one double precision, words text, raw bytea,
    day date, at timestamptz, span interval, who uuid, doc jsonb, list text[], feeling mood, plus positive, twice int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE "Odd one" ("select" int REFERENCES every, padded char(5), UNIQUE ("select"));
CREATE TABLE nothing ();
CREATE TABLE notes () WITH (collection = on, change_feed = on);
CREATE FUNCTION half(n int) RETURNS int LANGUAGE sql AS $$ SELECT n / 2 $$;
CREATE VIEW some_of_them AS SELECT id, half(id) AS half FROM every WHERE words LIKE '%;%';
CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM every;
CREATE INDEX by_words ON every (lower(words));
COMMENT ON TABLE every IS 'one; of ''each''';
"""

ROW = {
    "flag": True,
    "number": decimal.Decimal("-12.345"),
    "real_one": float("inf"),
    "words": "it's; \\ \n\t'$$' \u6f22",
    "raw": b"\x00\xff'",
    "day": datetime.date(2026, 1, 31),
    "at": datetime.datetime(2026, 1, 31, 12, 30, 1, 5, tzinfo=datetime.timezone.utc),
    "span": datetime.timedelta(3, 4, 5),
    "who": uuid.UUID(int=7),
    "doc": {"a": ["\\", None]},
    "list": ["a,b", 'c"d', None],
    "feeling": "it's",
    "plus": 3,
}


@pytest.fixture
def full(path):
    db = pycairndb.connect(path)
    db.executescript(SCHEMA)
    insert = f"INSERT INTO every ({', '.join(ROW)}) VALUES ({', '.join('?' * len(ROW))})"
    db.execute(insert, tuple(ROW.values()))
    db.execute(insert, (None,) * len(ROW))
    db.executemany("INSERT INTO every (words) VALUES (?)", [("x" * 100,)] * 3000)
    db.execute("INSERT INTO \"Odd one\" VALUES (1, 'ab'), (NULL, NULL)")
    db.collection("notes").insert_many([{"n": 1}, {"n": 2}], ids=["a", "b"])
    db.execute("REFRESH MATERIALIZED VIEW counted")
    db.commit()
    yield db
    db.close()


def test_statements_make_the_database_anew(full):
    full.execute('DELETE FROM "Odd one"')  # What is not committed is not in it.
    statements = list(full.iterdump())
    assert all(statement.endswith(";\n") for statement in statements) and len(statements) < 60
    full.rollback()
    copy = pycairndb.connect(":memory:")
    copy.executescript("".join(statements))
    copy.commit()
    for table in ("every", '"Odd one"', "nothing", "notes", "some_of_them", "counted"):
        rows = [sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for db in (full, copy)]
        assert rows[0] == rows[1], table
    assert list(copy.iterdump()) == statements
    # Counters go on, and a collection is one.
    assert copy.execute("INSERT INTO every DEFAULT VALUES RETURNING id, twice").fetchone() == (3003, 6006)
    assert copy.collection("notes").update("a", {"n": 3}) > copy.collection("notes").get("b").version
    copy.close()
    # One by one, too.
    copy = pycairndb.connect(":memory:", autocommit=True)
    for statement in statements:
        copy.execute(statement)
    assert list(copy.iterdump()) == statements
    copy.close()


def test_a_dump_that_nobody_reads_on_holds_nothing(full, path):
    dump = full.iterdump()
    next(dump)
    full.close()
    assert sum(1 for _ in dump) > 10
    other = pycairndb.connect(path)
    left = other.iterdump()
    next(left)
    del left
    other.close()
    with pytest.raises(pycairndb.OperationalError):
        next(other.iterdump())
