"""A DataFrame's way through CairnDB and DuckDB: raw readings of pandas become a table that lasts, are asked by SQL, and go on as columns.

    python pipeline.py [readings.cairn] [rows]

CairnDB keeps what has to last: keys, constraints, transactions, other writers. DuckDB reads its results where they lie, without a copy row by row.
"""

import sys

import duckdb
import numpy
import pandas

import pycairndb


def raw(rows, seed=7):
    """Readings as they come: some are missing, some came twice."""
    random = numpy.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "station": random.choice(["Bergen", "Oslo", "Tromsø"], rows),
            "at": pandas.Timestamp("2026-01-01") + pandas.to_timedelta(numpy.arange(rows), unit="min"),
            "celsius": numpy.round(random.normal(4, 6, rows), 2),
        }
    )
    frame.loc[random.random(rows) < 0.05, "celsius"] = numpy.nan
    return pandas.concat([frame, frame.sample(frac=0.02, random_state=seed)], ignore_index=True)


def store(db, frame):
    """Keeps what is new and is a reading, in one transaction; how many."""
    with db:
        db.execute(
            "CREATE TABLE IF NOT EXISTS reading (station text, at timestamp, celsius float8 NOT NULL CHECK (celsius BETWEEN -90 AND 60), "
            "PRIMARY KEY (station, at))"
        )
        db.register("incoming", frame)
        kept = db.execute(
            "INSERT INTO reading SELECT DISTINCT ON (station, at) station, at, celsius FROM incoming "
            "WHERE celsius IS NOT NULL AND celsius <> 'NaN' ON CONFLICT DO NOTHING"
        ).rowcount
        db.unregister("incoming")
    return kept


def days(db):
    """By station and day, asked of CairnDB: a DataFrame."""
    return db.execute(
        "SELECT station, at::date AS day, count(*) AS readings, avg(celsius) AS mean FROM reading GROUP BY station, at::date ORDER BY station, day"
    ).df()


def warmest(db, count=3):
    """The warmest days, worked out by DuckDB over CairnDB's columns; DuckDB knows the cursor by its variable's name."""
    readings = db.execute("SELECT station, at, celsius FROM reading")
    return duckdb.sql(
        'SELECT station, CAST("at" AS date) AS day, quantile_cont(celsius, 0.9) AS high FROM readings GROUP BY ALL '
        f"ORDER BY high DESC, station, day LIMIT {count}"
    ).df()


def main(path=":memory:", rows="20000"):
    db = pycairndb.connect(path)
    frame = raw(int(rows))
    print(f"{store(db, frame)} of {len(frame)} readings are new, and again {store(db, frame)}")
    print(days(db).to_string(index=False, max_rows=8))
    best = warmest(db)
    with db:
        db.execute("CREATE TABLE IF NOT EXISTS warmest (station text, day date, high float8)")
        db.execute("DELETE FROM warmest")
        db.insert_from("warmest", best)  # What DuckDB found, back as a table.
    print(db.execute("SELECT * FROM warmest ORDER BY high DESC").df().to_string(index=False))
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
