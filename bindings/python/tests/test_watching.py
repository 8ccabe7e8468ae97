"""Live queries, notifications, change feeds, and asyncio."""

import asyncio
import threading
import time

import pytest

import pycairndb
from pycairndb import aio


def test_a_live_query_tells_what_changes(db):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    writer = db.again()
    with db.live("SELECT id, v FROM t WHERE id < ?", (10,)) as live:
        assert live.columns == ["id", "v"]
        first = next(live)
        assert first.is_first and first.added == [] and isinstance(first.position, str)
        writer.execute("INSERT INTO t VALUES (1, 'a'), (20, 'x')")
        assert live.next(10).added == [(1, "a")]
        writer.execute("UPDATE t SET v = 'b' WHERE id = 1")
        assert live.next(10).updated == [((1, "a"), (1, "b"))]
        with pytest.raises(TimeoutError):
            live.next(0.05)
        threading.Timer(0.2, live.stop).start()
        assert list(live) == []
    with pytest.raises(pycairndb.NotSupportedError):
        db.live("SELECT now()")
    live = writer.live("SELECT 1")
    next(live)
    threading.Timer(0.2, writer.close).start()
    assert list(live) == []


def test_channels(db):
    other = db.again()
    heard = db.listen("news", "more")
    other.execute("NOTIFY news, 'hello'")
    other.execute("SELECT pg_notify('more', 'x')")
    assert [(told.channel, told.payload, told.missed) for told in (heard.next(10), heard.next(10))] == [("news", "hello", 0), ("more", "x", 0)]
    heard.stop()
    assert list(heard) == []


def test_a_change_feed(db):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text) WITH (change_feed = on)")
    feed = db.changes()
    writer = db.again()
    writer.execute("INSERT INTO t VALUES (1, 'a')")
    change = feed.next(10)
    assert (change.kind, change.table, change.old, change.new, change.is_last) == ("insert", "t", None, {"id": 1, "v": "a"}, True)
    token = feed.token
    writer.execute("UPDATE t SET v = 'b'")
    writer.execute("DELETE FROM t")
    assert [(change.kind, change.old, change.new) for change in (feed.next(10), feed.next(10))] == [
        ("update", {"id": 1, "v": "a"}, {"id": 1, "v": "b"}), ("delete", {"id": 1, "v": "b"}, None)]
    assert db.changes(token).next(10).kind == "update"
    with pytest.raises(pycairndb.Error):
        db.changes("nonsense")


def test_ctrl_c_ends_waiting(db):
    import signal

    live = db.live("SELECT 1")
    next(live)
    threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(live)
    live.stop()


def run(work):
    return asyncio.run(asyncio.wait_for(work, 60))


def test_statements_are_awaited(path):
    async def work():
        async with await aio.connect(path, connections=2) as db:
            await db.executescript("CREATE TABLE t (id int PRIMARY KEY, v text)")
            assert (await db.execute("INSERT INTO t VALUES (?, ?)", (1, "a"))).rowcount == 1
            assert await db.executemany("INSERT INTO t VALUES (?, ?)", [(n, str(n)) for n in range(2, 3000)]) == 2998
            for _ in range(3):
                assert (await db.execute("SELECT v FROM t WHERE id = ?", (1,))).fetchone() == ("a",)
            found = await asyncio.gather(*(db.execute("SELECT id FROM t WHERE id = ?", (n,)) for n in range(1, 65)))
            assert [result.fetchall() for result in found] == [[(n,)] for n in range(1, 65)]
            assert [row async for row in db.query("SELECT id FROM t ORDER BY id")] == [(n,) for n in range(1, 3000)]
            async for row in db.query("SELECT id FROM t"):
                break
            with pytest.raises(pycairndb.IntegrityError):
                await db.execute("INSERT INTO t VALUES (1)")
            with pytest.raises(pycairndb.InternalError):
                (await db.execute("DELETE FROM t WHERE id = 5")).fetchall()
            assert await db.call(lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)
        with pytest.raises(pycairndb.OperationalError):
            await db.execute("SELECT 1")

    run(work())
    pycairndb.connect(path).close()


def test_transactions_of_tasks(path):
    async def work():
        async with await aio.connect(path, connections=3) as db:
            await db.executescript("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)")

            async def add(tx):
                (n,) = (await tx.execute("SELECT n FROM t WHERE id = 1")).fetchone()
                await asyncio.sleep(0)
                await tx.execute("UPDATE t SET n = ? WHERE id = 1", (n + 1,))

            await asyncio.gather(*(db.transaction(add, attempts=50) for _ in range(10)))
            assert (await db.execute("SELECT n FROM t")).fetchone() == (10,)

            async def broken(tx):
                await tx.execute("UPDATE t SET n = 0")
                raise KeyError

            with pytest.raises(KeyError):
                await db.transaction(broken)
            assert (await db.execute("SELECT n FROM t")).fetchone() == (10,)

    run(work())


def test_a_task_that_is_cancelled_stops_its_statement(path):
    async def work():
        async with await aio.connect(path, connections=1) as db:
            task = asyncio.create_task(db.execute("SELECT count(*) FROM generate_series(1, 100000000000)"))
            waiting = asyncio.create_task(db.execute("SELECT 1"))
            await asyncio.sleep(0.2)
            begun = time.time()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await waiting).fetchone() == (1,)
            assert time.time() - begun < 5

    run(work())


def test_a_task_that_waits_is_told_of_the_end_by_another_thread(path):
    async def work():
        async with await aio.connect(path) as db:
            await db.executescript("CREATE TABLE t (id int PRIMARY KEY)")
            for _ in range(200):
                live = await db.live("SELECT id FROM t")
                await anext(live)
                waits = asyncio.create_task(anext(live, "the end"))
                await asyncio.sleep(0)
                await asyncio.to_thread(live.stop)
                assert await waits == "the end"

    run(work())


def test_tasks_watch(path):
    async def work():
        async with await aio.connect(path) as db:
            await db.executescript("CREATE TABLE t (id int PRIMARY KEY) WITH (change_feed = on)")
            live, heard, feed = await db.live("SELECT id FROM t"), await db.listen("news"), await db.changes()

            async def write():
                for n in range(5):
                    await asyncio.sleep(0.01)
                    await db.execute("INSERT INTO t VALUES (?)", (n,))
                    await db.execute("SELECT pg_notify('news', ?)", (str(n),))

            async def result():
                there = set()
                async for change in live:
                    there |= set(change.added)
                    if len(there) == 5:
                        return there

            async def first(of, count):
                taken = []
                async for item in of:
                    taken.append(item)
                    if len(taken) == count:
                        return taken

            _, there, news, changes = await asyncio.gather(write(), result(), first(heard, 5), first(feed, 5))
            assert there == {(n,) for n in range(5)} and [told.payload for told in news] == list("01234")
            assert [change.new["id"] for change in changes] == list(range(5))
            ended = asyncio.create_task(first(live, 1))
            await asyncio.sleep(0.05)
            await asyncio.to_thread(live.stop)
            assert await ended is None

    run(work())


def test_statements_are_handed_to_workers(path):
    async def work():
        async with await aio.connect(path, connections=2, time_zone="Asia/Tokyo", row_factory=pycairndb.Row) as db:
            await db.execute("CREATE TABLE t (id int PRIMARY KEY, n int, at timestamptz)")
            # A write by a key, before its text is known and after that; an error of one, with its place in the text.
            for n in range(4):
                assert (await db.execute("INSERT INTO t VALUES (?, ?, '2026-01-01 00:00+00')", (n, 0))).rowcount == 1
            for expected in (1, 1, 0):
                assert (await db.execute("UPDATE t SET n = n + 1 WHERE id = ?", (1 if expected else 9,))).rowcount == expected
            with pytest.raises(pycairndb.IntegrityError) as raised:
                await db.execute("INSERT INTO t VALUES (?, ?, '2026-01-01 00:00+00')", (1, 0))
            assert raised.value.sqlstate == "23505"
            with pytest.raises(pycairndb.ProgrammingError) as raised:
                await db.execute("SELECT ?::int, missing FROM t", (1,))
            assert (raised.value.sqlstate, raised.value.position) == ("42703", 16)
            returned = await db.execute("UPDATE t SET n = 7 WHERE id < :most RETURNING id, n", {"most": 2})
            assert returned.rowcount == 2 and [tuple(row) for row in returned] == [(0, 7), (1, 7)] and returned.description[1][0] == "n"
            for _ in range(3):
                row = (await db.execute("SELECT id, at FROM t WHERE id = ?", (1,))).fetchone()
                assert row["id"] == 1 and row["at"].utcoffset().total_seconds() == 9 * 3600
            # The type of what is given decides where the text says none.
            assert (await db.execute("SELECT ?", (5,))).fetchone()[0] == 5
            with pytest.raises(pycairndb.ProgrammingError):
                await db.execute("SELECT ?, ?", (1,))
            # There is no session that these could change.
            for sql in ("SET work_mem = '1MB'", "CREATE TEMPORARY TABLE gone (id int)"):
                with pytest.raises(pycairndb.NotSupportedError):
                    await db.execute(sql)
            assert await asyncio.gather(*(asyncio.wait_for(db.execute("SELECT count(*) FROM t"), 30) for _ in range(100)))
            # The schema changes under texts that are known.
            await db.execute("ALTER TABLE t ALTER COLUMN n TYPE text")
            await db.execute("UPDATE t SET n = ? WHERE id = 1", ("seven",))
            assert (await db.execute("SELECT n FROM t WHERE id = ?", (1,))).fetchone()[0] == "seven"
            awaited = db.execute("SELECT 1")
            await awaited
            with pytest.raises(RuntimeError):
                await awaited
        with pytest.raises(pycairndb.OperationalError) as raised:
            await db.execute("SELECT 1")
        assert raised.value.sqlstate == "08003"

    run(work())


def test_closing_ends_what_tasks_wait_for(path):
    async def work():
        db = await aio.connect(path, connections=2)
        waiting = [asyncio.create_task(db.execute("SELECT count(*) FROM generate_series(1, 100000000000)")) for _ in range(5)]
        called = asyncio.create_task(db.call(lambda one: one.execute("SELECT count(*) FROM generate_series(1, 100000000000)").fetchone()))
        await asyncio.sleep(0.2)
        begun = time.time()
        await db.close()
        ended = await asyncio.gather(*waiting, called, return_exceptions=True)
        assert time.time() - begun < 10
        assert all(isinstance(one, pycairndb.OperationalError) for one in ended), ended

    run(work())
    pycairndb.connect(path).close()


def test_a_cancelled_task_leaves_no_half_of_a_write(path):
    async def work():
        async with await aio.connect(path, connections=2) as db:
            await db.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
            for n in range(40):
                first = n * 1000
                task = asyncio.create_task(db.execute("INSERT INTO t SELECT * FROM generate_series(?::bigint, ?::bigint)", (first, first + 999)))
                await asyncio.sleep(n / 20_000)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            # Each is there as a whole or not at all, once it has ended.
            odd = "SELECT count(*) FROM (SELECT count(*) AS c FROM t GROUP BY id / 1000) AS g WHERE c <> 1000"
            for _ in range(20):
                assert (await db.execute(odd)).fetchone() == (0,)
            assert (await db.execute("SELECT 1")).fetchone() == (1,)

    run(work())
