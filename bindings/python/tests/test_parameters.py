"""The ways to write parameters."""

import collections
import decimal

import pytest

import pycairndb

WAYS = [
    ("SELECT ?, ?", (1, 2), (1, 2)),
    ("SELECT :1, :2, :1", (1, 2), (1, 2, 1)),
    ("SELECT :a, :b, :a", {"a": 1, "b": 2}, (1, 2, 1)),
    ("SELECT :a, :b", (1, 2), (1, 2)),
    ("SELECT %s, %s", (1, 2), (1, 2)),
    ("SELECT %(a)s, %(b)s", {"a": 1, "b": 2}, (1, 2)),
    ("SELECT $1, $2", (1, 2), (1, 2)),
    ("SELECT ?,?+1", [1, 2], (1, 3)),
    # What is no placeholder.
    ("SELECT '?', \"a?\", $$?$$, ? -- ?\n/* ? */ FROM (SELECT 1 AS \"a?\") s", (5,), ("?", 1, "?", 5)),
    ("SELECT ':a %s', E'\\'?', :a", {"a": 1}, (":a %s", "'?", 1)),
    ("SELECT 7 % 4, %s", (1,), (3, 1)),
    ("SELECT 7 %% 4, %s, '100%%'", (1,), (3, 1, "100%")),
    ("SELECT 7 % 4, '100%%', ?", (1,), (3, "100%%", 1)),
    ("SELECT 'x'::text, (ARRAY[1,2,3])[2:3], :n", {"n": 1}, ("x", [2, 3], 1)),
    ("SELECT '{\"a\":1}'::jsonb ? 'a', ?", (1,), (True, 1)),
    ("SELECT doc ? ?, doc ?| ?, doc ?& ? FROM (SELECT '{\"a\":1}'::jsonb AS doc) s", ("a", ["a", "b"], ["a", "b"]),
     (True, True, False)),
    ("SELECT data ? ? FROM (SELECT '{\"a\":1}'::jsonb AS data) s", ("b",), (False,)),
    ("SELECT '{\"a\":1}'::jsonb @? ?", ("$.a",), (True,)),
    ("SELECT 1 WHERE 1=? AND 2 BETWEEN ? AND ? LIMIT ? OFFSET ?", (1, 1, 3, 1, 0), (1,)),
    ("SELECT 'abc' LIKE ? ESCAPE ?, substring('abc' FROM ?)", ("a%", "\\", 2), (True, "bc")),
    ("SELECT x %s FROM (SELECT 7 AS x, 4 AS s) v", (), (3,)),
    ("SELECT CASE WHEN ? THEN ? ELSE ? END", (True, 1, 2), (1,)),
    ("SELECT DISTINCT ON (a) ?, (a) % 2, ? FROM (SELECT 3 AS a) s", (1, 2), (1, 1, 2)),
    ("SELECT DISTINCT ON (coalesce((a), 1), (a + 2)) %s AS b FROM (SELECT 3 AS a) s", (5,), (5,)),
    ("SELECT (SELECT DISTINCT ON (a) a FROM (SELECT 3 AS a) t ORDER BY (a)) % 2, ?", (5,), (1, 5)),
]


@pytest.mark.parametrize(("sql", "parameters", "row"), WAYS, ids=[way[0][:40] for way in WAYS])
def test_a_way_to_write_parameters(db, sql, parameters, row):
    assert db.execute(sql, parameters).fetchone() == row


def test_parameters_by_name_come_of_any_mapping(db):
    class Generous(collections.defaultdict):
        pass

    assert db.execute("SELECT :a", collections.ChainMap({"a": 1})).fetchone() == (1,)
    assert db.execute("SELECT :a", {"a": 1, "unused": 2}).fetchone() == (1,)


@pytest.mark.parametrize(("sql", "parameters"), [
    ("SELECT ?", ()),
    ("SELECT ?", None),
    ("SELECT ?", (1, 2)),
    ("SELECT 1", (1,)),
    ("SELECT :a", {"b": 1}),
    ("SELECT :a", (1, 2)),
    ("SELECT ?", {"a": 1}),
    ("SELECT ?", 5),
    ("SELECT ?", "x"),
    ("SELECT ?, :a", (1, 2)),
    ("SELECT ?, %s", (1, 2)),
])
def test_parameters_that_do_not_fit_are_refused(db, sql, parameters):
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute(sql, parameters)
    assert db.execute("SELECT ?", (1,)).fetchone() == (1,)


def test_positions_of_errors_are_in_the_text_as_it_was_written(db):
    for sql, parameters in (("SELECT ?, ?, nothing", (1, 2)), ("SELECT 'ä%%', %s, nothing", (1,)),
                            ("SELECT nothing, ?", (1,))):
        with pytest.raises(pycairndb.ProgrammingError) as raised:
            db.execute(sql, parameters)
        assert raised.value.position == sql.index("nothing") + 1, sql


def test_a_statement_whose_types_change_with_its_parameters(db):
    for value in (1, "x", 2.5, None, 1, "y"):
        assert db.execute("SELECT ?", (value,)).fetchone() == (value,)
    assert db.execute("SELECT ? * ?", (3, 4)).fetchone() == (12,)
    assert db.execute("SELECT ? * ?", (3, 0.5)).fetchone() == (1.5,)


def test_what_a_statement_is_tried_with_does_not_fail_the_transaction():
    db = pycairndb.connect(":memory:")
    db.execute("CREATE TABLE t (v text)")
    assert db.execute("SELECT ? * ?", (3, 4)).fetchone() == (12,)
    # An integer that is compared with text is compared as text.
    db.execute("INSERT INTO t VALUES (?)", (5,))
    assert db.execute("SELECT v FROM t WHERE v = ?", (5,)).fetchone() == ("5",)
    db.commit()
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute("SELECT nothing")
    with pytest.raises(pycairndb.InternalError) as raised:
        db.execute("SELECT 1")
    assert raised.value.sqlstate == "25P02"
    db.rollback()
    assert db.execute("SELECT v FROM t").fetchall() == [("5",)]


def test_numbers_with_a_fraction_are_compared_with_whole_ones(db):
    db.executescript("CREATE TABLE t (id int PRIMARY KEY, n smallint); INSERT INTO t SELECT i, i FROM generate_series(1, 9) AS s(i)")
    ids = lambda sql, *given: [id for (id,) in db.execute(sql, given)]  # noqa: E731
    for _ in range(2):
        assert ids("SELECT id FROM t WHERE n > ? ORDER BY id", 7) == [8, 9]
        assert ids("SELECT id FROM t WHERE n > ? ORDER BY id", 7.0) == [8, 9]
        assert ids("SELECT id FROM t WHERE n > ? ORDER BY id", 7.5) == [8, 9]
        assert ids("SELECT id FROM t WHERE n > ? ORDER BY id", decimal.Decimal("8.50")) == [9]
        assert ids("SELECT id FROM t WHERE n > ? ORDER BY id", decimal.Decimal("8.00")) == [9]
        assert ids("SELECT id FROM t WHERE id = ?", 2.5) == [] and ids("SELECT id FROM t WHERE id = ?", 2.0) == [2]
        assert ids("SELECT id FROM t WHERE id < ? AND n > ? ORDER BY id", float("inf"), 8) == [9]
    assert db.execute("DELETE FROM t WHERE n > ?", (7.5,)).rowcount == 2
    # A column of whole numbers does not round what it is given.
    for sql in ("INSERT INTO t VALUES (?)", "UPDATE t SET id = ?", "WITH n AS (SELECT 1) INSERT INTO t VALUES (?)"):
        with pytest.raises(pycairndb.ProgrammingError) as error:
            db.execute(sql, (7.5,))
        assert error.value.sqlstate == "42804", sql
