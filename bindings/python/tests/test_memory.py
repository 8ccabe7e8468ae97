"""Memory that runs out: an exception, after which the connection goes on."""

import subprocess
import sys

import pytest

import pycairndb


def test_a_statement_that_wants_too_much_is_told(db):
    db.execute("SET statement_mem = '1MB'")
    for wants in (
        "SELECT array_agg(n) FROM generate_series(1, 1000000) AS s(n)",
        "SELECT json_agg(n) FROM generate_series(1, 1000000) AS s(n)",
        "SELECT length(string_agg(n::text, ',')) FROM generate_series(1, 3000000) AS s(n)",
    ):
        with pytest.raises(pycairndb.OperationalError) as error:
            db.execute(wants).fetchall()
        assert error.value.sqlstate == "53200", wants
    assert db.execute("SELECT 1").fetchone() == (1,)


# Each allocation of the interpreter's fails in turn. (The hooks are of CPython's own tests, which not every Python has.)
FAILS = """
import pycairndb
from _testcapi import remove_mem_hooks, set_nomemory

def point(db, turn):
    return db.execute("SELECT id, v FROM t WHERE id = ?", (5,)).fetchone()

def prepared(db, turn):
    return db.execute(f"SELECT id, d, {turn} FROM t WHERE id < :n", {"n": 3}).fetchall()

def every_type(db, turn):
    return db.execute("SELECT * FROM t").fetchall()

def many(db, turn):
    return db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", [(n, "x", 1.25, [1, 2], {"a": n}) for n in range(3)])

def failing(db, turn):
    try:
        db.execute("SELEC")
    except pycairndb.ProgrammingError:
        pass

def called(db, turn):
    return db.execute("SELECT f(id) FROM t WHERE id < 3").fetchall()

db = pycairndb.connect(":memory:", autocommit=True)
db.execute("CREATE TABLE t (id int PRIMARY KEY, v text, d numeric, a int[], j jsonb, at timestamptz DEFAULT now(), u uuid DEFAULT gen_random_uuid())")
db.execute("INSERT INTO t (id, v, d, a, j) SELECT n, 'text', 1.5, ARRAY[n], '{\\"a\\": 1}' FROM generate_series(1, 10) AS s(n)")
db.create_function("f", ["int"], "int", lambda n: n + 1)
raised = 0
for work in (point, prepared, every_type, many, failing, called):
    work(db, -1)
    went_well, n = 0, 0
    # (Where so many in a row are not missed it has no more.)
    while went_well < 20:
        set_nomemory(n, n + 1)
        try:
            work(db, n)
        except BaseException as error:
            remove_mem_hooks()
            told, seen = error, []
            while told is not None:
                seen.append(type(told).__name__)
                told = told.__cause__ or told.__context__
            assert {"MemoryError", "PanicException"} & set(seen), (work.__name__, n, seen, error)
            raised, went_well = raised + 1, 0
            del error, told
        else:
            remove_mem_hooks()
            went_well += 1
        n += 1
    assert work(db, -1) is not None or work is failing
db.execute("INSERT INTO t (id, v) VALUES (1000, 'last')")
assert db.execute("SELECT v FROM t WHERE id = 1000").fetchone() == ("last",)
db.close()
print("raised", raised)
"""


@pytest.mark.slow
def test_allocations_that_fail_are_exceptions():
    pytest.importorskip("_testcapi").set_nomemory
    ran = subprocess.run([sys.executable, "-c", FAILS], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, (ran.returncode, ran.stdout[-500:], ran.stderr[-3000:])
    assert int(ran.stdout.split()[1]) > 50
