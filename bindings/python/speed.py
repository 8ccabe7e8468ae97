"""How fast `pycairndb` is beside `sqlite3`, from Python: the table of docs/python.md.

    python speed.py [--dir DIRECTORY] [--rounds N] [--rows N]

Of the package as it is installed. Each line: the median of rounds by turns, and the median of the rounds' ratios with the least and
the greatest. SQLite: WAL, `synchronous=FULL`. A directory on tmpfs leaves the disk out; on a disk UPDATE and INSERT measure it.
"""

import argparse
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
    engine.next = 0


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
        run = engine.connection.execute
        for n in range(count):
            run("UPDATE item SET amount = ? WHERE id = ?", (n * 1.5, (n * 7919) % rows))

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


def threads(count, sql, parameters, times):
    """So many threads that each run it so often, each on a connection of its own."""

    def work(engine):
        connections = [engine.connect() for _ in range(count)]

        def run(connection):
            for n in range(times):
                connection.execute(sql, parameters(n)).fetchall()

        workers = [threading.Thread(target=run, args=(connection,)) for connection in connections]
        begun = time.perf_counter()
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
        took = time.perf_counter() - begun
        [connection.close() for connection in connections]
        return took

    return work


def imports(module):
    code = f"import time; b = time.perf_counter(); import {module}; print(time.perf_counter() - b)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def line(what, ours, theirs, unit, scale, goal):
    ratios = [b / a for a, b in zip(ours, theirs)]
    print(f"| {what} | {statistics.median(ours) * scale:.4g} {unit} | {statistics.median(theirs) * scale:.4g} {unit} | "
          f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {goal} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"pycairndb beside sqlite3 {sqlite3.sqlite_version}, Python {sys.version.split()[0]}, {options.rows} rows, {options.rounds} rounds\n")
    print("| what | pycairndb | sqlite3 | x faster | goal |\n|---|---|---|---|---|")
    rows, count = options.rows, 20_000
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        engines = [Cairn(folder), SQLite(folder)]
        for engine in engines:
            fill(engine, rows)
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
            for round_ in range(options.rounds + 1):
                for engine, into in zip(engines, times):
                    took = timed(lambda: into.append(work(engine)))
                    into[-1] = (into[-1] or took) / per
            line(what, times[0][1:], times[1][1:], unit, scale, "1.5")
        cairn = engines[0]
        total = "SELECT sum(amount) FROM item WHERE id < 100000"
        for what, sql, parameters, times, goal in (
            ("two threads to one: sums of 100,000 rows", total, lambda n: (), 20, "1.6"),
            ("two threads to one: reads by key", "SELECT name FROM item WHERE id = ?", lambda n: (n % rows,), count, "1.0"),
        ):
            one, two = [], []
            for _ in range(options.rounds):
                one.append(threads(1, sql, parameters, times)(cairn) / times)
                two.append(threads(2, sql, parameters, times)(cairn) / times / 2)
            line(what, two, one, "us", 1e6, goal)
        for engine in engines:
            engine.connection.close()
    ours, theirs = [imports("pycairndb") for _ in range(7)], [imports("sqlite3") for _ in range(7)]
    line("import (goal: at most 1.3 x sqlite3's)", ours, theirs, "ms", 1e3, "0.77")


if __name__ == "__main__":
    main()
