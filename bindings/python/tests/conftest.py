import pytest

import pycairndb


# Others' own tests, which are run by themselves (bindings/test).
collect_ignore = ["sqlalchemy", "django", "valgrind"]


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than a moment")


@pytest.fixture
def db():
    connection = pycairndb.connect(":memory:", autocommit=True)
    yield connection
    connection.close()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "test.cairn")
