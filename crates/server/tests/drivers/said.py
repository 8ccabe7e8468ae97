"""What the scripts in Python share: the list of types, and the word for what holds."""

import os
import pathlib

TYPES = [
    line.split("\t")
    for line in pathlib.Path(__file__).with_name("types.tsv").read_text("utf-8").splitlines()
]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def ok(item):
    print("ok", item, flush=True)


def url(scheme, password=True):
    """Of the server, as SQLAlchemy has it."""
    from urllib.parse import quote

    who = quote(os.environ["PGUSER"]) + (":" + quote(os.environ["PGPASSWORD"]) if password else "")
    return f"{scheme}://{who}@localhost:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"
