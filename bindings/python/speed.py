"""How fast `pycairndb` is, from Python, beside `sqlite3`, DuckDB and the library in Rust: the table of docs/python.md.

    python speed.py [--dir DIRECTORY] [--disk DIRECTORY --library PROGRAM] [--rounds N] [--rows N] [--wheel FILE] [--part NAME]..

Of the package as it is installed. Each line: the median of rounds by turns, and the median of the rounds' ratios with the least and
the greatest. SQLite: WAL, `synchronous=FULL`. What is in `--dir` leaves the disk out where that is on tmpfs; UPDATE and INSERT in `--disk`
measure it, beside `sqlite3` and the library in Rust (`cargo build --release --example autocommit` makes the program). Parts: rows, disk,
threads, frames, tasks, import, wheel.
"""

import argparse
import asyncio
import concurrent.futures
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import pycairndb


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


class Cairn:
    name = "pycairndb"

    def __init__(self, folder):
        self.path = os.path.join(folder, "speed.cairn")
        self.connection = self.connect()

    def connect(self):
        return pycairndb.connect(self.path, autocommit=True)


class SQLite:
    name = "sqlite3"

    def __init__(self, folder):
        self.path = os.path.join(folder, "speed.sqlite")
        self.connection = self.connect()

    def connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection


def fill(engine, rows):
    run = engine.connection.execute
    run("CREATE TABLE item (id integer PRIMARY KEY, parent integer NOT NULL, name text NOT NULL, amount double precision NOT NULL)")
    run("CREATE TABLE parent (id integer PRIMARY KEY, name text NOT NULL)")
    run("CREATE TABLE target (id integer PRIMARY KEY, name text NOT NULL)")
    run("CREATE TABLE log (id integer PRIMARY KEY, name text NOT NULL)")
    run("BEGIN")
    engine.connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", ((n, n % 1000, f"item {n:07}", n * 0.5) for n in range(rows)))
    engine.connection.executemany("INSERT INTO parent VALUES (?, ?)", ((n, f"parent {n}") for n in range(1000)))
    run("COMMIT")
    engine.next = engine.turn = 0


def points(count, rows):
    sql = "SELECT id, name, amount FROM item WHERE id = ?"

    def work(engine):
        run = engine.connection.execute
        for n in range(count):
            run(sql, ((n * 7919) % rows,)).fetchone()

    return work


def ranges(count, rows):
    sql = "SELECT id, name, amount FROM item WHERE id >= ? AND id < ?"

    def work(engine):
        run = engine.connection.execute
        for n in range(count):
            first = (n * 7919) % (rows - 50)
            run(sql, (first, first + 50)).fetchall()

    return work


def joins(count, rows):
    sql = "SELECT i.id, p.name FROM item i JOIN parent p ON p.id = i.parent WHERE i.id >= ? AND i.id < ?"

    def work(engine):
        run = engine.connection.execute
        for n in range(count):
            first = (n * 7919) % (rows - 10)
            run(sql, (first, first + 10)).fetchall()

    return work


def updates(count, rows):
    def work(engine):
        # Another value each time: SQLite writes nothing where a row stays as it is.
        run, engine.turn = engine.connection.execute, engine.turn + 1
        for n in range(count):
            run("UPDATE item SET amount = ? WHERE id = ?", (n * 1.5 + engine.turn, (n * 7919) % rows))

    return work


def inserts(count):
    def work(engine):
        run = engine.connection.execute
        for n in range(engine.next, engine.next + count):
            run("INSERT INTO log VALUES (?, ?)", (n, "a line of a log"))
        engine.next += count

    return work


def many(count):
    rows = [(n, f"name {n}") for n in range(count)]

    def work(engine):
        engine.connection.execute("DELETE FROM target")
        begun = time.perf_counter()
        engine.connection.execute("BEGIN")
        engine.connection.executemany("INSERT INTO target VALUES (?, ?)", rows)
        engine.connection.execute("COMMIT")
        return time.perf_counter() - begun

    return work


def scan(engine):
    engine.connection.execute("SELECT id, parent, name, amount FROM item").fetchall()


def aggregate(engine):
    engine.connection.execute("SELECT parent, count(*), sum(amount) FROM item GROUP BY parent").fetchall()


def waited_for_a_core():
    """How long this thread has waited for a processor that others had; None where the system does not tell (Linux does)."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as told:
            return int(told.read().split()[1]) / 1e9
    except OSError:
        return None


def threads(count, sql, parameters, times):
    """So many threads that each run it so often, each on a connection of its own: how long that takes, and how long it takes a thread
    beside its waits for a processor."""

    def work(engine):
        connections, own = [engine.connect() for _ in range(count)], []

        def run(connection):
            begun, before = time.perf_counter(), waited_for_a_core()
            for n in range(times):
                connection.execute(sql, parameters(n)).fetchall()
            took = time.perf_counter() - begun
            own.append(took if before is None else took - (waited_for_a_core() - before))

        workers = [threading.Thread(target=run, args=(connection,)) for connection in connections]
        begun = time.perf_counter()
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
        took = time.perf_counter() - begun
        [connection.close() for connection in connections]
        return took, statistics.mean(own)

    return work


FRAME_COLUMNS = "a bigint, b bigint, c bigint, d double precision, e double precision, f numeric(12, 2), g text, h text, i timestamp, j boolean"


class Frames:
    """A table of ten columns in each of the databases, and what is done with the whole of it."""

    def __init__(self, folder, rows):
        import duckdb
        import numpy
        import pandas

        self.pandas = pandas
        self.said = f"pandas {pandas.__version__}, DuckDB {duckdb.__version__}"
        numbers = numpy.arange(rows)
        cents = (numbers * 7919) % 1_000_000
        self.frame = pandas.DataFrame({
            "a": numbers, "b": numbers * 3, "c": numbers % 1000, "d": numbers * 0.5, "e": numbers / 7.0, "f": cents / 100.0,
            "g": [f"text {n:07}" for n in range(rows)], "h": [f"word {n * 13 % 10_000_000:07}" for n in range(rows)],
            "i": pandas.Timestamp("2026-01-01").as_unit("us") + pandas.to_timedelta(numbers, unit="s"), "j": numbers % 2 == 0,
        })
        self.cairn = Cairn(folder).connection
        self.sqlite = SQLite(folder).connection
        self.duck = duckdb.connect(os.path.join(folder, "speed.duckdb"))
        types = FRAME_COLUMNS.replace("numeric(12, 2)", "decimal(12, 2)")
        for run, columns in ((self.cairn.execute, FRAME_COLUMNS), (self.sqlite.execute, FRAME_COLUMNS), (self.duck.execute, types)):
            run(f"CREATE TABLE wide ({columns})")
        self.cairn.execute(f"CREATE TABLE taken ({FRAME_COLUMNS})")
        self.duck.execute(f"CREATE TABLE taken ({types})")
        self.cairn.insert_from("wide", self.frame)
        frame = self.frame  # (DuckDB finds it by its name.)
        self.duck.execute("INSERT INTO wide SELECT * FROM frame")
        rows = self.frame.astype({"i": str, "j": int}).itertuples(index=False, name=None)
        self.sqlite.execute("BEGIN")
        self.sqlite.executemany("INSERT INTO wide VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self.sqlite.execute("COMMIT")

    def out(self, which):
        match which:
            case "cairn":
                return self.cairn.execute("SELECT * FROM wide").df()
            case "duck":
                return self.duck.execute("SELECT * FROM wide").df()
            case "sqlite":
                return self.pandas.read_sql_query("SELECT * FROM wide", self.sqlite)

    def into(self, which):
        """Timed without the emptying of what the last round left."""
        frame = self.frame
        run = self.cairn.execute if which == "cairn" else self.duck.execute
        run("DROP TABLE taken")
        run(f"CREATE TABLE taken ({FRAME_COLUMNS.replace('numeric', 'decimal')})")
        begun = time.perf_counter()
        if which == "cairn":
            self.cairn.insert_from("taken", frame)
        else:
            self.duck.execute("INSERT INTO taken SELECT * FROM frame")  # (It finds it by its variable's name.)
        return time.perf_counter() - begun

    def close(self):
        for connection in (self.cairn, self.sqlite, self.duck):
            connection.close()


def frames(folder, rows, rounds):
    made = Frames(folder, rows)
    ours, theirs = made.out("cairn"), made.out("duck")
    said = f"{made.said}; dtypes {'as DuckDB has them' if ours.dtypes.astype(str).to_list() == theirs.dtypes.astype(str).to_list() else dict(ours.dtypes.astype(str))}"
    del ours, theirs
    times = {which: [] for which in ("cairn", "sqlite", "duck")}
    for _ in range(rounds):
        for which in times:
            times[which].append(timed(lambda: made.out(which)))
    line(f"{rows} rows of ten columns to a DataFrame, to `sqlite3` and pandas ({said})", times["cairn"], times["sqlite"], "ms", 1e3, "5")
    line("the same, to DuckDB's `.df()` from its file", times["cairn"], times["duck"], "ms", 1e3, "0.8")
    times = {which: [] for which in ("cairn", "duck")}
    for _ in range(rounds):
        for which in times:
            times[which].append(made.into(which))
    line("such a DataFrame in, to DuckDB's INSERT .. SELECT", times["cairn"], times["duck"], "ms", 1e3, "0.8")
    made.close()


def tasks(folder, rows, rounds):
    """Point reads that are awaited, one after the other and 64 at once; SQLite's in a pool of threads, each with its connection."""
    from pycairndb import aio

    path, sqlite = os.path.join(folder, "speed.cairn"), SQLite(folder)
    sql, own = "SELECT id, name, amount FROM item WHERE id = ?", threading.local()

    def read(key):
        if not hasattr(own, "connection"):
            own.connection = sqlite.connect()
        return own.connection.execute(sql, (key,)).fetchone()

    async def measured():
        db = await aio.connect(path)
        pool = concurrent.futures.ThreadPoolExecutor()
        loop = asyncio.get_running_loop()

        async def cairn(key):
            return (await db.execute(sql, (key,))).fetchone()

        def threaded(key):
            return loop.run_in_executor(pool, read, key)

        async def one(get, count=2000):
            for n in range(count):
                await get(n * 7919 % rows)
            return count

        async def together(get, count=200):
            for n in range(count):
                await asyncio.gather(*(get((n * 64 + part) * 7919 % rows) for part in range(64)))
            return count * 64

        for what, work, goal in (("one async point read, to threads over `sqlite3`", one, "2"), ("64 awaited at once, the same", together, "4")):
            times = ([], [])
            for _ in range(rounds + 1):
                for get, into in zip((cairn, threaded), times):
                    begun = time.perf_counter()
                    count = await work(get)
                    into.append((time.perf_counter() - begun) / count)
            line(what, times[0][1:], times[1][1:], "us", 1e6, goal)
        await db.close()
        pool.shutdown()

    asyncio.run(measured())
    sqlite.connection.close()


class Library:
    """The library in Rust, which does what it is told: see examples/autocommit.rs."""

    def __init__(self, program, folder, rows):
        command = [program, os.path.join(folder, "library.cairn"), str(rows)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def __call__(self, what, count):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def disk(folder, program, rounds):
    rows, count = 100_000, 200
    engines = [Cairn(folder), SQLite(folder)]
    for engine in engines:
        fill(engine, rows)
    library = Library(program, folder, rows) if program else None
    for what, work in (("update", updates(count, rows)), ("insert", inserts(count))):
        times = ([], [], [])
        for _ in range(rounds + 1):
            for engine, into in zip(engines, times):
                into.append(timed(lambda: work(engine)) / count)
            if library:
                times[2].append(library(what, count) / count)
        ours, theirs, rust = (each[1:] for each in times)
        line(f"autocommit {what.upper()} on disk, to `sqlite3`", ours, theirs, "us", 1e6, "1")
        if library:
            line("the same, to the library in Rust", ours, rust, "us", 1e6, "0.95")
    if library:
        library.close()
    for engine in engines:
        engine.connection.close()


def imports(module):
    code = f"import time; b = time.perf_counter(); import {module}; print(time.perf_counter() - b)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def line(what, ours, theirs, unit, scale, goal):
    ratios = [b / a for a, b in zip(ours, theirs)]
    print(f"| {what} | {statistics.median(ours) * scale:.4g} {unit} | {statistics.median(theirs) * scale:.4g} {unit} | "
          f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {goal} |", flush=True)


def by_rows(engines, rows, rounds):
    count = 20_000
    for what, work, per, unit, scale in (
        ("point SELECT by key", points(count, rows), count, "us", 1e6),
        ("range of 50", ranges(2000, rows), 2000, "us", 1e6),
        ("join of 10 rows", joins(2000, rows), 2000, "us", 1e6),
        ("autocommit UPDATE", updates(3000, rows), 3000, "us", 1e6),
        ("autocommit INSERT", inserts(3000), 3000, "us", 1e6),
        ("executemany of 100,000 rows", many(100_000), 1, "ms", 1e3),
        (f"scan of {rows} rows to tuples", scan, 1, "ms", 1e3),
        (f"aggregate over {rows} rows", aggregate, 1, "ms", 1e3),
    ):
        times = ([], [])
        for _ in range(rounds + 1):
            for engine, into in zip(engines, times):
                took = timed(lambda: into.append(work(engine)))
                into[-1] = (into[-1] or took) / per
        line(what, times[0][1:], times[1][1:], unit, scale, "1.5")


def by_threads(cairn, rows, rounds):
    total = "SELECT sum(amount) FROM item WHERE id < 100000"
    for what, sql, parameters, times, goal in (
        ("two threads to one: sums of 100,000 rows", total, lambda n: (), 20, "1.6"),
        ("two threads to one: reads by key", "SELECT name FROM item WHERE id = ?", lambda n: (n % rows,), 20_000, "1.0"),
    ):
        one, two = [], []
        for _ in range(rounds):
            for count, into in ((1, one), (2, two)):
                into.append([took / times / count for took in threads(count, sql, parameters, times)(cairn)])
        for at, how in ((0, ""), (1, ", beside their waits for a processor")):
            line(what + how, [took[at] for took in two], [took[at] for took in one], "us", 1e6, goal)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--disk")
    parser.add_argument("--library")
    parser.add_argument("--wheel")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--part", action="append", choices=["rows", "disk", "threads", "frames", "tasks", "import", "wheel"])
    options = parser.parse_args()
    rows, rounds = options.rows, options.rounds
    is_part = lambda name: options.part is None or name in options.part  # noqa: E731
    print(f"pycairndb beside sqlite3 {sqlite3.sqlite_version}, Python {sys.version.split()[0]}, {rows} rows, {rounds} rounds\n")
    print("| what | pycairndb | beside | x faster | goal |\n|---|---|---|---|---|")
    if any(map(is_part, ("rows", "threads", "tasks"))):
        with tempfile.TemporaryDirectory(dir=options.dir) as folder:
            engines = [Cairn(folder), SQLite(folder)]
            for engine in engines:
                fill(engine, rows)
            if is_part("rows"):
                by_rows(engines, rows, rounds)
            if is_part("threads"):
                by_threads(engines[0], rows, rounds)
            if is_part("tasks"):
                tasks(folder, rows, rounds)
            for engine in engines:
                engine.connection.close()
    if is_part("disk") and options.disk:
        with tempfile.TemporaryDirectory(dir=options.disk) as folder:
            disk(folder, options.library, rounds)
    if is_part("frames"):
        with tempfile.TemporaryDirectory(dir=options.dir) as folder:
            frames(folder, rows, rounds)
    if is_part("import"):
        ours, theirs = zip(*((imports("pycairndb"), imports("sqlite3")) for _ in range(4 * rounds)))
        line("import (goal: at most 1.3 x sqlite3's)", ours, theirs, "ms", 1e3, "0.77")
    if is_part("wheel") and options.wheel:
        print(f"| the wheel | {os.path.getsize(options.wheel) / 1e6:.1f} MB | | | under 15 MB |")


if __name__ == "__main__":
    main()
