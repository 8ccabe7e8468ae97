"""SQLAlchemy's own tests of dialects, with this one. What it asks for to make and clean a database is PostgreSQL's."""

import pytest
from sqlalchemy.dialects import registry

for name in ("cairndb", "cairndb.cairndb"):
    registry.register(name, "pycairndb.sqlalchemy", "Dialect")
registry.register("cairndb.aio", "pycairndb.sqlalchemy_aio", "AsyncDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

import sqlalchemy.dialects.postgresql.provision  # noqa: E402,F401
from sqlalchemy.testing import provision  # noqa: E402
from sqlalchemy.testing.plugin import pytestplugin  # noqa: E402
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402,F401,F403

for way in ("temp_table_keyword_args", "set_default_schema_on_connection", "drop_all_schema_objects_post_tables", "upsert"):
    ways = getattr(provision, way).fns
    ways["cairndb"] = ways["postgresql"]


# Tests that are left out, each with its reason.
LEFT_OUT = {
    "IdentityReflectionTest::test_reflect_identity": "CACHE of a sequence says nothing: it is 1",
    "ServerSideCursorsTest::test_conn_option": "asks known drivers' cursors alone; rows of any come as they are fetched",
    "ServerSideCursorsTest::test_ss_cursor_status": "the same",
}


def pytest_collection_modifyitems(session, config, items):
    pytestplugin.pytest_collection_modifyitems(session, config, items)
    for item in items:
        for name, reason in LEFT_OUT.items():
            of, test = name.split("::")
            if test == item.name.split("[")[0] and of in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))
