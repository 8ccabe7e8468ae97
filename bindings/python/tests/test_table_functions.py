"""Functions of Python's that return rows."""

import os
import threading
import time

import pytest

import pycairndb


def test_a_generator_is_a_table(db):
    def squares(first, last):
        for n in range(first, last + 1):
            yield n, n * n, f"square of {n}"

    db.create_table_function("squares", ["bigint", "bigint"], {"n": "bigint", "square": "bigint", "words": "text"}, squares)
    assert db.execute("SELECT * FROM squares(1, 3)").fetchall() == [(1, 1, "square of 1"), (2, 4, "square of 2"), (3, 9, "square of 3")]
    assert db.execute("SELECT sum(square) FROM squares(?, ?) s WHERE s.n % 2 = 0", (1, 10_000)).fetchone()[0] == sum(n * n for n in range(2, 10_001, 2))
    db.execute("CREATE TABLE t (id int PRIMARY KEY, n bigint)")
    assert db.execute("INSERT INTO t SELECT n, square FROM squares(1, 5)").rowcount == 5
    assert db.execute("SELECT t.id, s.words FROM t, squares(t.id, t.id) s WHERE t.id > 4").fetchall() == [(5, "square of 5")]
    # NULL: no rows, unless it is called with it.
    assert db.execute("SELECT * FROM squares(NULL, 1)").fetchall() == []
    db.create_table_function("lines", ["text"], [("line", "text")], lambda text: (text or "none").split(), called_on_null=True)
    assert db.execute("SELECT line FROM lines('a b') UNION ALL SELECT * FROM lines(NULL)").fetchall() == [("a",), ("b",), ("none",)]
    assert db.execute("SELECT n FROM lines('a b') WITH ORDINALITY AS l (line, n) WHERE line = 'b'").fetchone() == (2,)
    db.create_table_function("lists", [], {"list": "bigint[]"}, lambda: [[1, 2], [], (None,)])
    assert db.execute("SELECT * FROM lists()").fetchall() == [([1, 2],), ([],), (None,)]
    assert db.remove_function("lines", ["text"])
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute("SELECT * FROM lines('a')")


def test_rows_are_pulled_as_they_are_wanted(db):
    told = []

    def endless():
        try:
            n = 0
            while True:
                told.append(n)
                yield n
                n += 1
        finally:
            told.append("closed")

    db.create_table_function("endless", [], {"n": "bigint"}, endless)
    for _ in range(3):
        assert db.execute("SELECT n FROM endless() LIMIT 3").fetchall() == [(0,), (1,), (2,)]
        assert told == [0, 1, 2, "closed"]
        told.clear()
    assert db.execute("SELECT EXISTS (SELECT FROM endless() WHERE n > 4)").fetchone() == (True,)
    assert told == [0, 1, 2, 3, 4, 5, "closed"]
    told.clear()
    cursor = db.execute("SELECT n FROM endless()")
    assert cursor.fetchone() == (0,) and len(told) < 10
    cursor.close()
    assert told[-1] == "closed"
    # One that never ends is interrupted, and closed.
    told.clear()
    threading.Timer(0.3, db.interrupt).start()
    with pytest.raises(pycairndb.OperationalError) as raised:
        db.execute("SELECT count(*) FROM endless()")
    assert raised.value.sqlstate == "57014" and told[-1] == "closed"


def test_what_is_raised_is_the_cause(db):
    class Odd(Exception):
        pass

    def broken(how):
        if how == "first":
            raise Odd("first")
        yield 1, "a"
        if how == "second":
            raise Odd("second")
        if how == "exit":
            raise SystemExit(3)
        yield {"short": (2,), "long": (2, "b", 3), "type": ("two", "b"), "none": None, "text": "xy"}[how]

    db.create_table_function("broken", ["text"], {"n": "int", "name": "text"}, broken)
    db.create_table_function("no_rows", [], {"n": "int"}, lambda: 5)
    db.execute("CREATE TABLE t (n int, name text)")
    for how, cause in [("first", Odd), ("second", Odd), ("short", pycairndb.ProgrammingError), ("long", pycairndb.ProgrammingError), ("none", TypeError)]:
        for sql in ["SELECT count(*) FROM broken(?)", "INSERT INTO t SELECT * FROM broken(?)"]:
            with pytest.raises(pycairndb.InternalError) as raised:
                db.execute(sql, (how,))
            assert raised.value.sqlstate == "38000" and isinstance(raised.value.__cause__, cause), how
    with pytest.raises(pycairndb.Error):
        db.execute("SELECT count(*) FROM broken('type')")
    with pytest.raises(pycairndb.InternalError) as raised:
        db.execute("SELECT * FROM no_rows()")
    assert isinstance(raised.value.__cause__, TypeError)
    with pytest.raises(SystemExit):
        db.execute("SELECT count(*) FROM broken('exit')")
    assert db.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with pytest.raises(pycairndb.ProgrammingError):
        db.create_table_function("none", [], {}, list)
    with pytest.raises(pycairndb.ProgrammingError):
        db.create_table_function("none", [], {"a": "no such type"}, list)
    with pytest.raises(pycairndb.NotSupportedError):
        db.execute("CREATE VIEW v AS SELECT * FROM no_rows()")


def test_none_is_pulled_under_the_commit_lock(path):
    db = pycairndb.connect(path, autocommit=True)
    db.execute("CREATE TABLE t (n int PRIMARY KEY)")
    db.execute("CREATE TABLE seen (n int)")
    other = db.again()

    def noting():
        for n in range(5):
            other.execute("INSERT INTO seen VALUES (?)", (n,))
            with pytest.raises(pycairndb.OperationalError):
                db.execute("SELECT 1")
            yield n

    db.create_table_function("noting", [], {"n": "int"}, noting)
    assert db.execute("INSERT INTO t SELECT n FROM noting()").rowcount == 5
    assert db.execute("DELETE FROM t WHERE n IN (SELECT n FROM noting())").rowcount == 5
    assert other.execute("SELECT count(*) FROM seen").fetchone() == (10,)
    db.close()
    other.close()


def test_a_function_that_waits_lets_others_run(path):
    db = pycairndb.connect(path, autocommit=True)
    db.create_table_function("waits", [], {"n": "int"}, lambda: (time.sleep(0.05) or n for n in range(6)))
    begun, done = time.time(), []
    thread = threading.Thread(target=lambda: done.append(db.again().execute("SELECT 1").fetchone()))
    thread.start()
    assert db.execute("SELECT count(*) FROM waits()").fetchone() == (6,)
    thread.join(20)
    assert done == [(1,)] and time.time() - begun < 20 and os.path.exists(path)
    db.close()
