"""What is called most, again and again: memory and Python's objects do not grow with it.

Counted is what malloc has given out, to the byte (where there is no glibc: resident memory), and the blocks of Python's own allocator. What
has to be warm (caches, pools, the log of a database) is so after a while: growth is a leak when it goes on.
"""

import asyncio
import ctypes
import decimal
import gc
import os
import sys

import pytest

import pycairndb
from pycairndb import aio

pytestmark = pytest.mark.slow

# What an iteration may leave behind, and what there may be besides: measuring itself, a thread that ends a little later.
BYTES, BLOCKS, BYTES_BESIDE, BLOCKS_BESIDE = 8, 0.1, 4096, 40


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def _malloc_bytes():
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    mallinfo.restype = _Mallinfo
    told = mallinfo()
    return told.uordblks + told.hblkhd


def _now():
    for _ in range(3):
        gc.collect()
    return _malloc_bytes(), sys.getallocatedblocks()


def growth(work, count, rounds=6):
    """How many bytes and blocks so many iterations leave behind, in the best of some rounds in a row."""
    for _ in range(count):
        work()
    gc.collect()
    gc.freeze()  # What is there need not be looked through each time.
    try:
        least, before = None, _now()
        for _ in range(rounds):
            for _ in range(count):
                work()
            after = _now()
            grown = tuple(now - then for now, then in zip(after, before))
            least = grown if least is None else tuple(map(min, least, grown))
            if is_little(least, count):
                break
            before = after
    finally:
        gc.unfreeze()
    return least


def is_little(grown, count):
    return grown[0] < BYTES * count + BYTES_BESIDE and grown[1] < BLOCKS * count + BLOCKS_BESIDE


def check(work, count):
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is measured on Linux")
    grown = growth(work, count)
    assert is_little(grown, count), f"{count} times leave {grown[0]} bytes and {grown[1]} objects behind"


@pytest.fixture
def filled(db):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, name text, price numeric(10, 2), at timestamptz, doc jsonb, tags text[])")
    row = ("name of it", decimal.Decimal("1.50"), "2026-01-01", {"a": [1]}, ["x", "y"])
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", [(n, *row) for n in range(500)])
    return db


def test_a_leak_is_found():
    kept, libc = [], ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is measured on Linux")
    for leak in (lambda: kept.append(object()), lambda: libc.malloc(64)):
        assert not is_little(growth(leak, 400), 400)
    assert is_little(growth(lambda: [object()], 400), 400)


def test_connections_of_a_file(path):
    pycairndb.connect(path, autocommit=True).execute("CREATE TABLE t (id int PRIMARY KEY)")

    def work():
        db = pycairndb.connect(path)
        other = pycairndb.connect(path)
        db.execute("SELECT * FROM t").fetchall()
        other.cursor()
        other.close()
        db.close()

    check(work, 20)


def test_connections_in_memory():
    def work():
        db = pycairndb.connect(":memory:")
        db.execute("SELECT 1")
        if gc.get_count()[0] % 2:
            db.close()

    check(work, 30)


def test_statements(filled):
    def work():
        filled.execute("SELECT * FROM t WHERE id = ?", (7,)).fetchone()
        filled.execute("SELECT * FROM t WHERE id < :most", {"most": 20}).fetchall()
        for _ in filled.execute("SELECT name, tags FROM t LIMIT 5"):
            break
        filled.execute("UPDATE t SET name = ?, doc = ? WHERE id = ?", ("other name", {"b": None}, 8))
        cursor = filled.cursor()
        cursor.row_factory = pycairndb.Row
        cursor.execute("SELECT id, price, at FROM t WHERE id > ? ORDER BY id", (490,))
        assert len(cursor.fetchmany(3)) == 3 and len(cursor.fetchall()) == 6
        cursor.close()

    check(work, 300)


def test_texts_of_statements(filled):
    numbers = iter(range(10**9))

    def work():
        # Each is another: what is kept of them has a bound.
        filled.execute(f"SELECT id + {next(numbers)} FROM t WHERE id = 1").fetchone()

    for _ in range(1100):
        work()
    check(work, 300)


def test_executemany_and_transactions(filled):
    rows = [("x", n) for n in range(20)]
    filled.autocommit = False

    def work():
        filled.executemany("UPDATE t SET name = ? WHERE id = ?", rows)
        filled.rollback()
        filled.transaction(lambda tx: tx.execute("SELECT count(*) FROM t").fetchone())
        with filled:
            filled.execute("SELECT * FROM t")

    check(work, 80)


def test_errors(filled):
    def fails(*call):
        with pytest.raises(pycairndb.Error):
            filled.execute(*call)

    def work():
        fails("SELEC 1")
        fails("SELECT nothing FROM t")
        fails("INSERT INTO t (id) VALUES (1)")
        fails("SELECT ?", (object(),))
        fails("SELECT ?", ())
        fails("SELECT 1 / (id - id) FROM t")
        fails("SELECT ?::text", ("\ud800",))

    check(work, 80)


def test_functions(filled):
    class Sum:
        def __init__(self):
            self.sum = 0

        def step(self, number):
            self.sum += number

        def finalize(self):
            return self.sum

    def rows(count):
        for n in range(count):
            yield n, str(n)

    def broken(number):
        raise ValueError(number)

    filled.create_function("twice", ["int"], "int", lambda n: n * 2)
    filled.create_function("broken", ["int"], "int", broken)
    filled.create_aggregate("add_up", ["int"], "int", Sum)
    filled.create_table_function("rows", ["int"], {"n": "int", "name": "text"}, rows)

    def work():
        filled.execute("SELECT twice(id) FROM t LIMIT 10").fetchall()
        filled.execute("SELECT add_up(id) FROM t WHERE id < 10").fetchone()
        filled.execute("SELECT * FROM rows(10)").fetchall()
        filled.execute("SELECT * FROM rows(10) LIMIT 2").fetchall()
        with pytest.raises(pycairndb.InternalError):
            filled.execute("SELECT broken(id) FROM t")
        filled.create_function("again", ["text"], "text", lambda text: text)
        filled.remove_function("again", ["text"])

    check(work, 80)


def test_columns_out(filled):
    pyarrow = pytest.importorskip("pyarrow")

    def work():
        pyarrow.table(filled.execute("SELECT * FROM t"))
        reader = pyarrow.RecordBatchReader.from_stream(filled.execute("SELECT id, name FROM t"))
        reader.read_next_batch()
        del reader
        filled.execute("SELECT id FROM t").__arrow_c_stream__()
        filled.execute("SELECT id, name, price, at FROM t").fetchnumpy()
        filled.execute("SELECT id, name, price, at FROM t").df()

    check(work, 60)


def test_columns_in(filled):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"id": list(range(1000, 1200)), "name": ["some name"] * 200})
    filled.autocommit = False

    def work():
        assert filled.insert_from("t", table) == 200
        filled.rollback()
        with pytest.raises(pycairndb.Error):
            filled.insert_from("t", pyarrow.table({"id": [1]}))
        filled.rollback()
        filled.register("frame", table)
        filled.execute("SELECT count(*) FROM frame JOIN t ON t.id + 1000 = frame.id").fetchone()
        filled.rollback()

    check(work, 60)


def test_what_tells_of_changes(filled):
    filled.execute("CREATE TABLE told (id int PRIMARY KEY, n int) WITH (change_feed = on, change_feed_bytes = 65536)")
    filled.execute("INSERT INTO told VALUES (1, 0)")

    def work():
        with filled.live("SELECT * FROM told") as live, filled.listen("news") as heard, filled.changes() as feed:
            next(live)
            filled.execute("UPDATE told SET n = n + 1")
            filled.execute("NOTIFY news, 'x'")
            assert live.next(20).updated and heard.next(20).payload == "x" and feed.next(20).kind == "update"
        filled.live("SELECT count(*) FROM told")

    check(work, 80)


def test_documents(filled):
    notes = filled.create_collection("notes", change_feed=False)
    notes.insert_many([{"n": n} for n in range(100)], ids=map(str, range(100)))

    def work():
        mine = filled.collection("notes")
        written = mine.insert({"n": 1, "tags": ["a"]})
        mine.update(written.id, {"n": 2}, version=written.version)
        mine.patch(written.id, [{"op": "add", "path": "/m", "value": 1}])
        assert mine.get(written.id).doc["m"] == 1 and mine.delete(written.id)
        assert len(list(mine.find({"n": {"$lt": 10}}, sort="-n"))) == 10
        next(mine.find())
        mine.page(limit=5)
        mine.aggregate(group={"n": "n"}, count="c", limit=3)
        with pytest.raises(pycairndb.DataError):
            mine.find({"$no": 1})

    check(work, 80)


def test_tasks(path):
    async def some():
        async with await aio.connect(path, connections=2) as db:
            await db.execute("CREATE TABLE IF NOT EXISTS t (id int PRIMARY KEY)")
            await db.execute("SELECT * FROM t WHERE id = ?", (1,))
            await asyncio.gather(*(db.execute("SELECT ?", (n,)) for n in range(8)))
            async for _ in db.query("SELECT * FROM generate_series(1, 10)"):
                pass

    check(lambda: asyncio.run(some()), 10)


def test_dumps(filled):
    check(lambda: sum(1 for _ in filled.iterdump()), 3)
