"""The database of SQLAlchemy's tests, as they want to find it."""

import pycairndb

with pycairndb.connect("sqlalchemy.cairn", autocommit=True) as db:
    db.executescript("CREATE SCHEMA test_schema; CREATE SCHEMA test_schema_2")
db.close()
