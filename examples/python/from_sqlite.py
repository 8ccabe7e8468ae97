"""A SQLite file's tables as a CairnDB file's, from Python. (`cairn import sqlite old.db new.cairn` keeps more, and tells what it can not.)

    python from_sqlite.py old.db new.cairn
"""

import sqlite3
import sys

import pycairndb

TYPES = {"integer": "bigint", "int": "bigint", "real": "double precision", "blob": "bytea", "boolean": "boolean", "numeric": "numeric"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def copy(source, target):
    """Copies all tables in one transaction; how many rows each has."""
    counts = {}
    tables = source.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name").fetchall()
    with target:
        for (table,) in tables:
            columns = source.execute("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?) ORDER BY cid", (table,)).fetchall()
            parts = [f"{quoted(name)} {TYPES.get(of.lower(), 'text')}{' NOT NULL' if needed else ''}" for name, of, needed, _ in columns]
            if key := [quoted(name) for name, _, _, place in sorted(columns, key=lambda column: column[3]) if place]:
                parts.append(f"PRIMARY KEY ({', '.join(key)})")
            target.execute(f"CREATE TABLE {quoted(table)} ({', '.join(parts)})")
            insert = f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})"
            counts[table] = target.executemany(insert, source.execute(f"SELECT * FROM {quoted(table)}")).rowcount
    return counts


if __name__ == "__main__":
    with sqlite3.connect(sys.argv[1]) as source:
        target = pycairndb.connect(sys.argv[2])
        for table, count in copy(source, target).items():
            print(f"{table}: {count} rows")
        target.close()
