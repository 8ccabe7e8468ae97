"""`%%sql` in IPython and Jupyter."""

import pytest

pytest.importorskip("IPython")

import pycairndb  # noqa: E402


@pytest.fixture(scope="module")
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "pycairndb")
    yield made
    InteractiveShell.clear_instance()


def test_cells_are_statements(shell, path):
    shell.run_line_magic("sql", path)
    assert shell.run_cell_magic("sql", "", "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)") is None
    shell.user_ns["limit"] = 2
    result = shell.run_cell_magic("sql", "", "SELECT n FROM t WHERE n < :limit")
    assert "<td>1</td>" in result._repr_html_()
    assert shell.run_cell_magic("sql", "kept", "SELECT max(n) FROM t") is None
    assert shell.user_ns["kept"].fetchall() == [(2,)]
    with pytest.raises(pycairndb.ProgrammingError):
        shell.run_cell_magic("sql", "", "SELEC 1")


def test_a_connection_of_the_notebooks_is_taken(shell, db):
    db.execute("CREATE TABLE mine (n int)")
    shell.user_ns["own"] = db
    shell.run_line_magic("sql", "own")
    assert shell.run_line_magic("sql", "SELECT count(*) FROM mine").fetchall() == [(0,)]
