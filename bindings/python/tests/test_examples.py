"""The examples do what they say."""

import json
import pathlib
import sqlite3
import sys
import threading
import urllib.error
import urllib.request

import pytest

import pycairndb

EXAMPLES = pathlib.Path(__file__).parent / "examples"

sys.path.insert(0, str(EXAMPLES))


@pytest.mark.skipif(not EXAMPLES.exists(), reason="bindings/test copies them")
def test_a_store_for_a_web_application(path):
    import store

    db, server = store.serve(path, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}/"

    def ask(where="", body=None):
        with urllib.request.urlopen(root + where, body and body.encode(), timeout=20) as answer:
            return json.load(answer)

    try:
        assert ask(body="write") == {"id": 1, "title": "write"} and ask(body="read")["id"] == 2
        assert ask("1", "done") == {"changed": 1}
        assert ask() == [{"id": 2, "title": "read"}]
        with pytest.raises(urllib.error.HTTPError) as raised:
            ask("99", "done")
        assert raised.value.code == 404
    finally:
        server.shutdown()
        server.server_close()
        db.close()


@pytest.mark.skipif(not EXAMPLES.exists(), reason="bindings/test copies them")
def test_a_sqlite_file_is_copied(path, tmp_path):
    import from_sqlite

    source = sqlite3.connect(tmp_path / "old.db")
    source.executescript(
        "CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL, photo blob, height real);"
        "INSERT INTO person VALUES (1, 'Ada', x'00ff', 1.65), (2, 'Grace', NULL, NULL); CREATE TABLE \"odd name\" (x int, y text)"
    )
    target = pycairndb.connect(path)
    assert from_sqlite.copy(source, target) == {"odd name": 0, "person": 2}
    assert target.execute("SELECT * FROM person ORDER BY id").fetchall() == [(1, "Ada", b"\x00\xff", 1.65), (2, "Grace", None, None)]
    with pytest.raises(pycairndb.IntegrityError):
        target.execute("INSERT INTO person VALUES (2, 'again')")
    target.close()
    source.close()


@pytest.mark.skipif(not EXAMPLES.exists(), reason="bindings/test copies them")
def test_a_data_frame_goes_through_both(path, capsys):
    pytest.importorskip("pandas")
    pytest.importorskip("duckdb")
    import pipeline

    frame = pipeline.raw(3000)
    db = pycairndb.connect(path)
    kept = pipeline.store(db, frame)
    assert kept == len(frame.dropna().drop_duplicates(["station", "at"])) and pipeline.store(db, frame) == 0
    clean = frame.dropna().drop_duplicates(["station", "at"])
    expected = clean.groupby([clean.station, clean["at"].dt.date]).celsius.mean()
    found = pipeline.days(db)
    assert len(found) == len(expected) and found["mean"].to_list() == pytest.approx(expected.to_list())
    assert len(pipeline.warmest(db)) == 3
    db.close()
    pipeline.main(path, "3000")
    assert "0 of 3060 readings are new" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLES.exists(), reason="bindings/test copies them")
def test_a_notebook_has_a_plot_that_moves(monkeypatch):
    pytest.importorskip("IPython")
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from IPython.core.interactiveshell import InteractiveShell

    cells = json.loads((EXAMPLES / "live.ipynb").read_text())["cells"]
    shell = InteractiveShell.instance()
    try:
        for cell in cells:
            if cell["cell_type"] == "code":
                ran = shell.run_cell("".join(cell["source"]))
                assert ran.success, ran.error_in_exec or ran.error_before_exec
        assert shell.user_ns["drawn"] > 10 and len(shell.user_ns["points"]) == 12
        assert [column[0] for column in ran.result.description] == ["sensor", "samples", "mean"]
        counts = shell.user_ns["db"].execute("SELECT sensor, count(*) FROM sample GROUP BY sensor ORDER BY sensor").fetchall()
        assert counts == [("left", 60), ("right", 60)]
    finally:
        shell.user_ns["db"].close()
        InteractiveShell.clear_instance()
