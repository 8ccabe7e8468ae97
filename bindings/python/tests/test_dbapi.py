"""PEP 249, and what CPython expects of `sqlite3` where it applies."""

import datetime
import time

import pytest

import pycairndb


def test_the_module_says_what_it_is():
    assert (pycairndb.apilevel, pycairndb.threadsafety, pycairndb.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(pycairndb.Error, Exception) and issubclass(pycairndb.Warning, Exception)
    for name in ("DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError", "NotSupportedError"):
        assert issubclass(getattr(pycairndb, name), pycairndb.DatabaseError)
        assert getattr(pycairndb.Connection, name) is getattr(pycairndb, name)
    assert issubclass(pycairndb.DatabaseError, pycairndb.Error) and issubclass(pycairndb.InterfaceError, pycairndb.Error)
    for name in pycairndb.__all__:
        assert hasattr(pycairndb, name)


def test_constructors_and_type_objects(db):
    now = time.time()
    assert pycairndb.Date(2024, 2, 29) == datetime.date(2024, 2, 29)
    assert pycairndb.DateFromTicks(now) == datetime.date.fromtimestamp(now)
    assert pycairndb.TimestampFromTicks(now) == datetime.datetime.fromtimestamp(now)
    assert pycairndb.Binary(b"x") == b"x"
    cursor = db.execute(
        "SELECT 'a'::text, 'b'::varchar(5), 1, 1.5::numeric(5,2), 2.0::float8, '\\x00'::bytea, now(), date '2024-01-01', "
        "time(3) '12:00', timestamp(3) '2024-01-01', interval '1 day'"
    )
    kinds = [column[1] for column in cursor.description]
    assert all(kind == pycairndb.STRING for kind in kinds[:2])
    assert all(kind == pycairndb.NUMBER for kind in kinds[2:5])
    assert kinds[5] == pycairndb.BINARY and kinds[5] != pycairndb.NUMBER
    assert all(kind == pycairndb.DATETIME for kind in kinds[6:])
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.description[3][4:6] == (5, 2)


def test_rows_are_fetched_as_asked_for(db):
    cursor = db.cursor()
    assert cursor.arraysize == 1 and cursor.description is None and cursor.rowcount == -1
    with pytest.raises(pycairndb.Error):
        cursor.fetchone()
    assert cursor.execute("SELECT * FROM generate_series(1, 3000)") is cursor
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany() == [(2,)]
    assert cursor.fetchmany(3) == [(3,), (4,), (5,)]
    assert cursor.fetchmany(0) == []
    cursor.arraysize = 5
    assert len(cursor.fetchmany()) == 5
    assert next(cursor) == (11,)
    assert len(cursor.fetchall()) == 3000 - 11
    assert cursor.fetchone() is None and cursor.fetchall() == [] and cursor.fetchmany(5) == []
    assert list(cursor) == []
    assert cursor.connection is db and cursor.lastrowid is None
    with pytest.raises(ValueError):
        cursor.arraysize = 0


def test_a_statement_that_returns_nothing_has_no_description(db):
    cursor = db.execute("CREATE TABLE t (a int)")
    assert cursor.description is None and cursor.rowcount == -1
    with pytest.raises(pycairndb.Error):
        cursor.fetchall()
    assert cursor.execute("INSERT INTO t VALUES (1), (2)").rowcount == 2
    assert cursor.execute("UPDATE t SET a = a WHERE a = 1").rowcount == 1
    assert cursor.execute("DELETE FROM t WHERE false").rowcount == 0
    returned = cursor.execute("DELETE FROM t RETURNING a")
    assert returned.rowcount == 2 and sorted(returned.fetchall()) == [(1,), (2,)]
    assert db.execute("").description is None and db.execute(" -- nothing\n").rowcount == -1


def test_many_are_all_or_none(db):
    db.execute("CREATE TABLE t (a int PRIMARY KEY, b text)")
    assert db.executemany("INSERT INTO t VALUES (?, ?)", ((n, str(n)) for n in range(2500))).rowcount == 2500
    with pytest.raises(pycairndb.IntegrityError) as raised:
        db.executemany("INSERT INTO t VALUES (?, ?)", [(n, None) for n in range(5000, 1, -1)])
    assert raised.value.sqlstate == "23505" and raised.value.constraint == "t_pkey"
    assert db.execute("SELECT count(*) FROM t").fetchone() == (2500,)

    def broken():
        yield (9000, "a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.executemany("INSERT INTO t VALUES (?, ?)", broken())
    assert db.execute("SELECT count(*) FROM t").fetchone() == (2500,) and not db.in_transaction
    with pytest.raises(pycairndb.NotSupportedError):
        db.executemany("SELECT ?", [(1,), (2,)])
    with pytest.raises(pycairndb.ProgrammingError):
        db.executemany("INSERT INTO t VALUES (?, ?)", [(9001, "a"), (9002,)])
    assert db.executemany("INSERT INTO t VALUES (?, ?)", []).rowcount == 0
    assert db.executemany("UPDATE t SET b = :b WHERE a = :a", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]).rowcount == 2
    assert db.execute("SELECT count(*) FROM t").fetchone() == (2500,)


def test_scripts(db):
    db.executescript("CREATE TABLE a (x int); INSERT INTO a VALUES (1); -- ;\nINSERT INTO a VALUES (2);")
    assert db.execute("SELECT sum(x) FROM a").fetchone() == (3,)
    with pytest.raises(pycairndb.ProgrammingError) as raised:
        db.executescript("INSERT INTO a VALUES (3); SELECT nothing")
    assert raised.value.position == len("INSERT INTO a VALUES (3); SELECT ") + 1
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute("SELECT 1; SELECT 2")


def test_transactions_begin_by_themselves_and_end_when_told(path):
    db = pycairndb.connect(path)
    other = pycairndb.connect(path, autocommit=True)
    assert not db.in_transaction
    db.execute("CREATE TABLE t (a int)")
    assert db.in_transaction
    db.commit()
    db.execute("INSERT INTO t VALUES (1)")
    assert other.execute("SELECT count(*) FROM t").fetchone() == (0,)
    db.rollback()
    db.execute("INSERT INTO t VALUES (2)")
    db.commit()
    db.commit()
    assert other.execute("SELECT a FROM t").fetchall() == [(2,)]
    with db:
        db.execute("INSERT INTO t VALUES (3)")
    with pytest.raises(ZeroDivisionError), db:
        db.execute("INSERT INTO t VALUES (4)")
        1 / 0
    assert other.execute("SELECT a FROM t ORDER BY a").fetchall() == [(2,), (3,)]
    db.execute("INSERT INTO t VALUES (5)")
    db.autocommit = True
    assert other.execute("SELECT count(*) FROM t").fetchone() == (3,)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES (6)")
    db.rollback()
    assert other.execute("SELECT count(*) FROM t").fetchone() == (3,)
    db.close()
    other.close()


def test_what_is_not_committed_is_gone_when_it_is_closed(path):
    db = pycairndb.connect(path)
    db.execute("CREATE TABLE t (a int)")
    db.commit()
    db.execute("INSERT INTO t VALUES (1)")
    db.close()
    db = pycairndb.connect(path)
    assert db.execute("SELECT count(*) FROM t").fetchone() == (0,)
    db.close()


def test_results_outlive_their_transaction(path):
    db = pycairndb.connect(path)
    db.execute("CREATE TABLE t (a int)")
    db.execute("INSERT INTO t SELECT * FROM generate_series(1, 5000)")
    for end in (db.commit, db.rollback, lambda: db.execute("COMMIT"), lambda: db.execute("ROLLBACK")):
        rows = db.execute("SELECT a FROM t ORDER BY a")
        assert rows.fetchone() == (1,)
        if end == db.commit:
            db.execute("INSERT INTO t VALUES (0)")
            db.execute("DELETE FROM t WHERE a = 0")
        end()
        assert len(rows.fetchall()) == 4999
    db.close()


def test_a_transaction_that_lost_runs_again(path):
    db, other = pycairndb.connect(path), pycairndb.connect(path, autocommit=True)
    other.executescript("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)")
    runs = []

    def add(tx):
        runs.append(1)
        (n,) = tx.execute("SELECT n FROM t WHERE id = 1").fetchone()
        if len(runs) == 1:
            other.execute("UPDATE t SET n = n + 10 WHERE id = 1")
        tx.execute("UPDATE t SET n = ? WHERE id = 1", (n + 1,))
        return n + 1

    assert db.transaction(add) == 11 and len(runs) == 2
    with pytest.raises(KeyError):
        db.transaction(lambda tx: {}["none"])
    assert not db.in_transaction and other.execute("SELECT n FROM t").fetchone() == (11,)
    db.close()
    other.close()


def test_row_factories(db):
    import dataclasses

    @dataclasses.dataclass
    class Task:
        id: int
        title: str

    sql = "SELECT 1 AS id, 'write' AS title UNION ALL SELECT 2, 'read' ORDER BY id"
    cursor = db.cursor()
    cursor.row_factory = pycairndb.dict_row
    assert cursor.execute(sql).fetchall() == [{"id": 1, "title": "write"}, {"id": 2, "title": "read"}]
    cursor.row_factory = pycairndb.class_row(Task)
    assert cursor.execute(sql).fetchall() == [Task(1, "write"), Task(2, "read")]
    assert cursor.execute("SELECT 'x' AS title, 3 AS id").fetchone() == Task(3, "x")
    db.row_factory = pycairndb.Row
    row = db.execute(sql).fetchone()
    assert row["id"] == row["ID"] == row[0] == row[-2] == 1 and row["title"] == "write"
    assert row.keys() == ["id", "title"] and len(row) == 2 and tuple(row) == (1, "write") and row[0:1] == (1,)
    assert row == db.execute(sql).fetchone() and hash(row) == hash(db.execute(sql).fetchone())
    assert row != db.execute("SELECT 1 AS x, 'write' AS title").fetchone() and row != (1, "write")
    assert dict(zip(row.keys(), row)) == {"id": 1, "title": "write"} and repr(row) == "Row(id=1, title='write')"
    for missing in ("none", 2, -3):
        with pytest.raises(IndexError):
            row[missing]
    with pytest.raises(TypeError):
        row[1.5]
    made = pycairndb.Row(db.execute(sql), (5, "made"))
    assert made["title"] == "made"
    with pytest.raises(TypeError):
        pycairndb.Row(db.execute(sql), (5,))


def test_closed_cursors_and_connections_say_so(db):
    cursor = db.execute("SELECT 1")
    assert not cursor.closed
    cursor.close()
    cursor.close()
    assert cursor.closed
    for use in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute("SELECT 1"), lambda: list(cursor)):
        with pytest.raises(pycairndb.InternalError):
            use()
    connection = pycairndb.connect(":memory:")
    rows = connection.execute("SELECT * FROM generate_series(1, 10000)")
    connection.close()
    connection.close()
    assert connection.closed
    for use in (connection.cursor, connection.commit, connection.rollback, lambda: connection.execute("SELECT 1"), rows.fetchone,
                rows.fetchall, lambda: rows.execute("SELECT 1"), lambda: connection.in_transaction, connection.take_notices,
                lambda: connection.backup("x"), lambda: connection.__enter__()):
        with pytest.raises(pycairndb.OperationalError) as raised:
            use()
        assert raised.value.sqlstate == "08003"
    connection.interrupt()


def test_notices(db):
    db.execute("DROP TABLE IF EXISTS nothing")
    (notice,) = db.take_notices()
    assert notice == ("NOTICE", "00000", 'table "nothing" does not exist, skipping', None) and db.take_notices() == []


def test_a_backup_is_a_database(path, tmp_path):
    db = pycairndb.connect(path, autocommit=True)
    db.executescript("CREATE TABLE t (a int); INSERT INTO t SELECT * FROM generate_series(1, 1000)")
    told = []
    db.backup(tmp_path / "copy.cairn", progress=told.append)
    copy = pycairndb.connect(tmp_path / "copy.cairn")
    assert copy.execute("SELECT count(*) FROM t").fetchone() == (1000,) and told[-1] > 0
    with pytest.raises(ZeroDivisionError):
        db.backup(tmp_path / "other.cairn", progress=lambda bytes: 1 / 0)
    with pytest.raises(pycairndb.OperationalError):
        db.backup(tmp_path / "none" / "copy.cairn")
    copy.close()
    db.close()


def test_errors_have_classes_and_fields(db):
    db.execute("CREATE TABLE t (a int CONSTRAINT positive CHECK (a > 0))")
    for sql, kind, code in (
        ("SELEC 1", pycairndb.ProgrammingError, "42601"),
        ("SELECT 1/0", pycairndb.DataError, "22012"),
        ("INSERT INTO t VALUES (0)", pycairndb.IntegrityError, "23514"),
        ("CREATE TABLE t (a int)", pycairndb.ProgrammingError, "42P07"),
        ("SELECT 'x'::int", pycairndb.DataError, "22P02"),
        ("RELEASE nothing", pycairndb.InternalError, "25P01"),
        ("SET statement_timeout = '1ms'; SELECT 1", pycairndb.ProgrammingError, "42601"),
    ):
        with pytest.raises(kind) as raised:
            db.execute(sql)
        assert raised.value.sqlstate == code and raised.value.message in str(raised.value)
    with pytest.raises(pycairndb.IntegrityError) as raised:
        db.execute("INSERT INTO t VALUES (0)")
    error = raised.value
    assert (error.constraint, error.table, error.schema) == ("positive", "t", "public")
    assert error.detail == "Failing row contains (0)." and "DETAIL" in str(error)
