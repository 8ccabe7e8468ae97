"""A soak: processes whose threads and tasks write, that fork, and that are killed. After each, every commit that was acknowledged is there,
whole, and nothing hung, crashed or grew. `CAIRN_SOAK_SECONDS=3600 bindings/test -k soak` for longer than a moment."""

import asyncio
import collections
import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import pycairndb
from pycairndb import aio

ACCOUNTS = 20
TOTAL = ACCOUNTS * 100
# Threads of the background, and how many of them stay while they have nothing to do.
KEEPER, KEPT = "cairn-keeper", 2
# More than a round takes: who is not done by then hangs.
HANGS = 60


def main(path, life):
    """A process: writes what was acknowledged, a line each, until it is killed, or to its end after so many seconds."""
    until = time.monotonic() + life
    goes_on = lambda: time.monotonic() < until  # noqa: E731
    failed = []

    def told(line):
        os.write(1, f"{line}\n".encode())

    def inserts(writer, db):
        # One by one, and pairs in a transaction, of which both are there or none.
        while goes_on():
            number = db.execute("INSERT INTO done (writer) VALUES (?) RETURNING id", (writer,)).fetchone()[0]
            told(f"done {number}")
            with transaction(db):
                pair = db.execute("INSERT INTO pair (half) VALUES (1) RETURNING id").fetchone()[0]
                db.execute("INSERT INTO pair (half, other) VALUES (2, ?)", (pair,))
            told(f"pair {pair}")
            if random.random() < 0.02:
                db.close()
                db = pycairndb.connect(path, autocommit=True)

    def moves(writer, db):
        # Money from here to there; those that lose run again.
        def move(tx):
            source, target = random.sample(range(ACCOUNTS), 2)
            tx.execute("UPDATE account SET amount = amount - 1 WHERE id = ?", (source,))
            tx.execute("UPDATE account SET amount = amount + 1 WHERE id = ?", (target,))

        while goes_on():
            with contextlib.suppress(pycairndb.OperationalError):
                db.transaction(move)
            (total,) = db.execute("SELECT sum(amount) FROM account").fetchone()
            assert total == TOTAL, total

    def reads(writer, db):
        while goes_on():
            stop = threading.Timer(random.uniform(0, 0.02), db.interrupt)
            stop.start()
            try:
                db.execute("SELECT count(*) FROM done AS a, done AS b WHERE a.id < b.id").fetchall()
            except pycairndb.OperationalError as error:
                assert error.sqlstate == "57014", error
            stop.join()
            halves = "SELECT count(*) FILTER (WHERE half = 1), count(*) FILTER (WHERE half = 2) FROM pair"
            with contextlib.suppress(pycairndb.OperationalError):
                first, second = db.execute(halves).fetchone()
                assert first == second, (first, second)

    def forks(writer, db):
        # A child can use nothing of its parent's, and says so rather than that it hangs.
        while goes_on():
            child = os.fork()
            if child == 0:
                try:
                    signal.alarm(HANGS)
                    for use in (lambda: db.execute("SELECT 1"), lambda: db.close(), lambda: pycairndb.connect(path)):
                        try:
                            use()
                        except pycairndb.Error as error:
                            assert error.sqlstate in ("55000", "55006"), error
                        else:
                            raise AssertionError("a child has used what is its parent's")
                    os._exit(0)
                except BaseException as error:
                    os.write(2, f"in a child: {error!r}\n".encode())
                    os._exit(1)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
            time.sleep(0.05)

    def tasks(writer, db):
        async def work():
            async with await aio.connect(path, connections=2) as shared:
                async def one():
                    while goes_on():
                        result = await shared.execute("INSERT INTO done (writer) VALUES (?) RETURNING id", (writer,))
                        told(f"done {result.fetchone()[0]}")
                        long = asyncio.ensure_future(shared.execute("SELECT count(*) FROM generate_series(1, 100000000)"))
                        await asyncio.sleep(random.uniform(0, 0.01))
                        long.cancel()
                        with contextlib.suppress(asyncio.CancelledError):
                            await long

                await asyncio.gather(*(one() for _ in range(4)))

        asyncio.run(work())

    def guarded(work, writer):
        db = pycairndb.connect(path, autocommit=True)
        try:
            work(writer, db)
        except BaseException as error:
            failed.append(f"{work.__name__}: {error!r}")
        finally:
            with contextlib.suppress(pycairndb.Error):
                db.close()

    works = [inserts, inserts, moves, moves, reads, tasks, forks]
    threads = [threading.Thread(target=guarded, args=(work, writer)) for writer, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(life + HANGS)
    failed += [f"{work.__name__} hangs" for work, thread in zip(works, threads) if thread.is_alive()]
    told("end" if not failed else f"failed {failed}")
    os._exit(1) if failed else sys.exit(0)


@contextlib.contextmanager
def transaction(db):
    db.execute("BEGIN")
    try:
        yield
    except BaseException:
        db.rollback()
        raise
    db.commit()


def round_of(path, life, killed_after):
    """One process; what it has acknowledged."""
    command = [sys.executable, "-X", "faulthandler", __file__, path, str(life)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    killer = None
    if killed_after is not None:
        killer = threading.Timer(killed_after, process.kill)
        killer.start()
    try:
        out, err = process.communicate(timeout=life + 2 * HANGS)
    except subprocess.TimeoutExpired:
        # Where they hang, it or children of it; a machine that stood still meanwhile leaves none.
        hang = processes_of(process.pid)
        for pid in hang:
            os.kill(pid, signal.SIGABRT)
        out, err = process.communicate(timeout=HANGS)
        assert not hang, (hang, err.decode()[-8000:])
    finally:
        process.kill()
        if killer:
            killer.join()
    told = out.decode().split("\n")
    # (A line that the kill has cut is none.)
    whole = [line.split() for line in told[:-1]]
    if killed_after is None or process.returncode != -signal.SIGKILL:
        assert process.returncode == 0 and ["end"] in whole, (process.returncode, told[-3:], err.decode()[-4000:])
    assert b"in a child" not in err, err.decode()
    return {kind: {int(number) for of, number in (line for line in whole if len(line) == 2) if of == kind} for kind in ("done", "pair")}


def processes_of(session):
    """Those that live."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
            state, _, _, of = stat.read().rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                found[int(pid)] = state
    return found


def look(path, acknowledged):
    """Every commit that was acknowledged is there, and each as a whole."""
    with contextlib.closing(pycairndb.connect(path, autocommit=True)) as db:
        there = {number for (number,) in db.execute("SELECT id FROM done")}
        assert acknowledged["done"] <= there, sorted(acknowledged["done"] - there)[:10]
        first = {number for (number,) in db.execute("SELECT id FROM pair WHERE half = 1")}
        second = {number for (number,) in db.execute("SELECT other FROM pair WHERE half = 2")}
        assert first == second and acknowledged["pair"] <= first, sorted(first ^ second)[:10]
        assert db.execute("SELECT sum(amount) FROM account").fetchone() == (TOTAL,)
        indexed = db.execute("SELECT count(*) FROM done WHERE writer >= 0").fetchone()
        assert indexed == (len(there),)


def used():
    gc.collect()
    with open("/proc/self/statm") as statm:
        memory = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return memory, len(os.listdir("/proc/self/fd")), threads_by_name()


def threads_by_name():
    names = collections.Counter()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/comm") as name:
            names[name.read().strip()] += 1
    return names


def too_many(threads, before):
    """Those of a name that there are more of than before. Of those that all databases of the process share two stay idle where any
    is open (other tests leave some), and so one may be there that was not asked for before."""
    return {name: number for name, number in threads.items() if number > before[name] + (KEPT if name == KEEPER else 0)}


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="what a process has is read from Linux's /proc")
def test_a_soak(path):
    with contextlib.closing(pycairndb.connect(path, autocommit=True)) as db:
        db.executescript("""
            CREATE TABLE done (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, writer int NOT NULL);
            CREATE INDEX ON done (writer);
            CREATE TABLE pair (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, half int NOT NULL, other bigint);
            CREATE TABLE account (id int PRIMARY KEY, amount int NOT NULL CHECK (amount > -1000000));
        """)
        db.execute("INSERT INTO account SELECT n, 100 FROM generate_series(0, ?::int) AS s(n)", (ACCOUNTS - 1,))
    until = time.monotonic() + float(os.environ.get("CAIRN_SOAK_SECONDS", "12"))
    acknowledged, rounds, before = {"done": set(), "pair": set()}, 0, None
    while time.monotonic() < until or rounds < 3:
        # Two of three are killed, at any moment, that of opening too.
        killed = rounds % 3 != 2
        new = round_of(path, 30 if killed else 1.5, random.uniform(0.3, 2.0) if killed else None)
        for kind, numbers in new.items():
            acknowledged[kind] |= numbers
        look(path, acknowledged)
        rounds += 1
        if rounds == 3:
            time.sleep(1)
            before = used()
    assert acknowledged["done"] and acknowledged["pair"]
    memory, files, threads = used()
    # Threads of the background go once nothing has been asked of them for half a second.
    ends = time.monotonic() + 20
    while too_many(threads, before[2]) and time.monotonic() < ends:
        time.sleep(0.1)
        memory, files, threads = used()
    # What was acknowledged is kept here, too.
    assert memory - before[0] < (64 << 20) + 400 * sum(map(len, acknowledged.values())), (before, memory)
    assert files <= before[1] and not too_many(threads, before[2]), (before, files, threads)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
