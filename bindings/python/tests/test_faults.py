"""What programs do wrong, and what happens to them: an exception of the right class, never a crash, a hang or a leak."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

import pycairndb

LONG = "SELECT count(*) FROM generate_series(1, 100000000000)"


def run(code, *arguments, timeout=60):
    """Another interpreter; what it printed, and how it ended."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code, *arguments], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def test_connections_of_a_file_are_of_one_database(path, tmp_path):
    first = pycairndb.connect(path, autocommit=True)
    os.link(path, tmp_path / "hard.cairn")
    os.symlink(path, tmp_path / "soft.cairn")
    first.execute("CREATE TABLE t (a int)")
    for name in (path, os.path.relpath(path), tmp_path / "hard.cairn", tmp_path / "soft.cairn"):
        second = pycairndb.connect(name, autocommit=True)
        second.execute("INSERT INTO t VALUES (1)")
        second.close()
    assert first.execute("SELECT count(*) FROM t").fetchone() == (4,)
    with pytest.raises(pycairndb.OperationalError) as raised:
        pycairndb.connect(path, read_only=True)
    assert raised.value.sqlstate == "55006"
    first.close()
    assert not os.path.exists(path + "-lock")
    reader = pycairndb.connect(path, read_only=True)
    assert reader.execute("SELECT count(*) FROM t").fetchone() == (4,)
    with pytest.raises(pycairndb.Error) as raised:
        reader.execute("INSERT INTO t VALUES (1)")
    assert raised.value.sqlstate == "25006"
    reader.close()


def test_threads_connect_and_close_at_once(path):
    wrong = []

    def work():
        try:
            for _ in range(20):
                db = pycairndb.connect(path, autocommit=True)
                db.execute("CREATE TABLE IF NOT EXISTS t (a int)")
                db.execute("INSERT INTO t VALUES (1)")
                db.close()
        except pycairndb.Error as error:
            if error.sqlstate not in ("40001", "23505", "42P07"):
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_another_process_is_told_who_has_the_file(path):
    db = pycairndb.connect(path)
    code = """if True:
        import sys, pycairndb
        try:
            pycairndb.connect(sys.argv[1])
        except pycairndb.OperationalError as error:
            print(error.sqlstate, error)
    """
    status, out, err = run(code, path)
    assert status == 0 and out.startswith("55006") and str(os.getpid()) in out and "cairn serve" in out, (out, err)
    db.close()


def test_files_that_can_not_be_opened(tmp_path):
    (tmp_path / "other").write_bytes(b"not a database" * 1000)
    for name in (tmp_path, tmp_path / "none" / "x.cairn", tmp_path / "other", "a\0b"):
        with pytest.raises((pycairndb.Error, ValueError)):
            pycairndb.connect(name)
    with pytest.raises(pycairndb.Error):
        pycairndb.connect(tmp_path / "none.cairn", read_only=True)
    with pytest.raises(ValueError):
        pycairndb.connect(":memory:", durability="none")
    with pytest.raises(pycairndb.Error):
        pycairndb.connect(":memory:", time_zone="Nowhere/Land")
    with pytest.raises(TypeError):
        pycairndb.connect(":memory:", nothing=1)
    # The name is free again.
    pycairndb.connect(tmp_path / "new.cairn").close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_use_after_fork_is_an_error(path):
    db = pycairndb.connect(path, autocommit=True)
    db.execute("CREATE TABLE t (a int)")
    rows = db.execute("SELECT * FROM generate_series(1, 5000)")
    busy = threading.Thread(target=lambda: pytest.raises(pycairndb.Error, other.execute, LONG))
    other = pycairndb.connect(path)
    busy.start()
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            good = 0
            for use in (lambda: db.execute("SELECT 1"), rows.fetchone, db.commit, db.close, lambda: other.execute("SELECT 1"),
                        other.interrupt, lambda: db.cursor(), lambda: pycairndb.connect(path)):
                try:
                    use()
                except pycairndb.OperationalError as error:
                    good += error.sqlstate in ("55000", "55006")
            alone = pycairndb.connect(":memory:")
            good += alone.execute("SELECT 1").fetchone() == (1,)
            alone.close()
            status = 0 if good == 9 else 100 + good
        finally:
            os._exit(status)
    deadline = time.time() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.time() < deadline:
        time.sleep(0.05)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
    other.interrupt()
    busy.join(30)
    assert ended[0] == child and os.waitstatus_to_exitcode(ended[1]) == 0, ended
    assert db.execute("INSERT INTO t VALUES (1)").rowcount == 1
    other.close()
    db.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_does_not_wait_for_what_a_thread_of_its_parent_had_begun(path):
    code = """if True:
        import os, signal, sys, threading, pycairndb
        db = pycairndb.connect(sys.argv[1], autocommit=True)
        begun, goes_on, make = threading.Event(), threading.Event(), sys.modules["pycairndb._errors"].make

        class Slow:
            # Looked up by the first exception there is.
            @property
            def make(self):
                if threading.current_thread() is thread:
                    begun.set()
                    goes_on.wait()
                return make

        def fails():
            try:
                db.execute("SELECT 1/0")
            except pycairndb.DataError:
                print("told", flush=True)

        sys.modules["pycairndb._errors"] = Slow()
        thread = threading.Thread(target=fails)
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                db.execute("SELECT 1")
            except pycairndb.OperationalError as error:
                os._exit(int(error.sqlstate == "55000"))
            os._exit(2)
        _, status = os.waitpid(child, 0)
        goes_on.set()
        thread.join()
        print(os.waitstatus_to_exitcode(status))
        db.close()
    """
    assert run(code, path) == (0, "told\n1\n", "")


def test_a_statement_is_interrupted_from_another_thread(db):
    timer = threading.Timer(0.2, db.interrupt)
    timer.start()
    with pytest.raises(pycairndb.OperationalError) as raised:
        db.execute(LONG)
    timer.join()
    assert raised.value.sqlstate == "57014" and db.execute("SELECT 1").fetchone() == (1,)


def test_ctrl_c_ends_a_statement(db):
    for fetch in (lambda: db.execute(LONG), lambda: db.execute("SELECT * FROM generate_series(1, 100000000000)").fetchall()):
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        begun = time.time()
        with pytest.raises(KeyboardInterrupt):
            fetch()
        timer.join()
        assert time.time() - begun < 5
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_signal_handler_that_returns_ends_nothing(db):
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        timer = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        assert db.execute("SELECT count(*) FROM generate_series(1, 3000000)").fetchone() == (3000000,)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]


def test_a_progress_handler_stops_a_statement(db):
    told = []
    db.set_progress_handler(lambda: told.append(1) or len(told) < 5, 0.01)
    with pytest.raises(pycairndb.OperationalError) as raised:
        db.execute(LONG)
    assert raised.value.sqlstate == "57014" and len(told) == 5
    db.set_progress_handler(lambda: 1 / 0)
    with pytest.raises(pycairndb.OperationalError) as raised:
        db.execute(LONG)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    db.set_progress_handler(None)
    assert db.execute("SELECT count(*) FROM generate_series(1, 100000)").fetchone() == (100000,)


def test_functions_and_aggregates(db):
    db.create_function("reverse_it", ["text"], "text", lambda text: text[::-1], deterministic=True)
    db.create_function("add", ["bigint", "double precision"], "double precision", lambda a, b: a + b)
    db.create_function("is_null", ["text"], "boolean", lambda text: text is None, called_on_null=True)
    db.create_function("tags", ["text"], "text[]", lambda text: text.split(","))
    assert db.execute("SELECT reverse_it('abc'), add(1, 2), is_null(NULL), tags('a,b'), reverse_it(NULL)").fetchone() == (
        "cba", 3.0, True, ["a", "b"], None)

    class Product:
        def __init__(self):
            self.value = 1

        def step(self, number):
            self.value *= number

        def finalize(self):
            return self.value

    db.create_aggregate("product", ["bigint"], "bigint", Product)
    assert db.execute("SELECT product(n) FROM generate_series(1, 10) n").fetchone() == (3628800,)
    assert db.remove_function("add", ["bigint", "double precision"]) and not db.remove_function("add", ["bigint"])
    with pytest.raises(pycairndb.ProgrammingError):
        db.execute("SELECT add(1, 2)")
    with pytest.raises(pycairndb.ProgrammingError):
        db.create_function("lower", ["text"], "text", str)
    with pytest.raises(pycairndb.ProgrammingError):
        db.create_function("f", ["nothing"], "text", str)


def test_callbacks_that_raise_re_enter_and_leave(db):
    db.execute("CREATE TABLE t (a int)")

    def boom(number):
        raise KeyError(number)

    def again(number):
        return db.execute("SELECT 1").fetchone()[0]

    def leave(number):
        raise SystemExit(7)

    db.create_function("boom", ["int"], "int", boom)
    db.create_function("again", ["int"], "int", again)
    db.create_function("leave", ["int"], "int", leave)
    db.create_function("lie", ["int"], "int", lambda number: "no number")
    db.create_function("big", ["int"], "int", lambda number: 2**40)
    db.create_function("close_it", ["int"], "int", lambda number: db.close())
    with pytest.raises(pycairndb.InternalError) as raised:
        db.execute("SELECT boom(1)")
    assert raised.value.sqlstate == "38000" and isinstance(raised.value.__cause__, KeyError)
    for name in ("again", "close_it"):
        with pytest.raises(pycairndb.InternalError) as raised:
            db.execute(f"SELECT {name}(1)")
        assert raised.value.__cause__.sqlstate == "55006"
    with pytest.raises(SystemExit):
        db.execute("SELECT leave(1)")
    with pytest.raises(pycairndb.Error):
        db.execute("SELECT lie(1)")
    with pytest.raises(pycairndb.Error):
        db.execute("SELECT big(1)")
    with pytest.raises(pycairndb.Error):
        db.execute("INSERT INTO t SELECT boom(n) FROM generate_series(1, 10) n")
    assert db.execute("SELECT count(*) FROM t").fetchone() == (0,)

    class Bad:
        def step(self, number):
            raise ValueError

        def finalize(self):
            return 1

    db.create_aggregate("bad", ["int"], "int", Bad)
    with pytest.raises(pycairndb.InternalError) as raised:
        db.execute("SELECT bad(1)")
    assert isinstance(raised.value.__cause__, ValueError)
    db.create_aggregate("unmade", ["int"], "int", lambda: 1 / 0)
    with pytest.raises(pycairndb.InternalError):
        db.execute("SELECT unmade(1)")
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_a_callback_may_use_another_connection_and_other_threads_the_interpreter(path):
    db, other = pycairndb.connect(path, autocommit=True), pycairndb.connect(path, autocommit=True)
    other.executescript("CREATE TABLE t (a int); CREATE TABLE log (a int)")

    def note(number):
        other.execute("INSERT INTO log VALUES (?)", (number,))
        return number

    db.create_function("note", ["int"], "int", note)
    busy, stop = [], threading.Event()
    thread = threading.Thread(target=lambda: [busy.append(other.execute("SELECT 1").fetchone()) for _ in iter(stop.is_set, True)])
    thread.start()
    db.execute("INSERT INTO t SELECT note(n) FROM generate_series(1, 200) n")
    stop.set()
    thread.join(30)
    assert other.execute("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM log)").fetchone() == (200, 200)
    db.close()
    other.close()


def test_threads_share_a_connection(db):
    db.execute("CREATE TABLE t (a int)")
    wrong = []

    def work(first):
        try:
            for n in range(first, first + 100):
                db.execute("INSERT INTO t VALUES (?)", (n,))
                assert db.execute("SELECT a FROM t WHERE a = ?", (n,)).fetchone() == (n,)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not wrong and db.execute("SELECT count(*) FROM t").fetchone() == (800,)


def test_a_cursor_that_two_threads_use_raises_and_does_not_crash(db):
    cursor = db.execute("SELECT * FROM generate_series(1, 200000)")
    taken, wrong = [], []

    def work():
        try:
            while rows := cursor.fetchmany(1000):
                taken.extend(rows)
        except pycairndb.OperationalError as error:
            assert error.sqlstate == "55006"
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not wrong and len(set(taken)) == len(taken)


def test_the_interpreter_ends_with_everything_open(path):
    code = """if True:
        import sys, threading, pycairndb
        db = pycairndb.connect(sys.argv[1], autocommit=True)
        db.execute("CREATE TABLE IF NOT EXISTS t (a int)")
        db.execute("INSERT INTO t VALUES (1)")
        rows = db.execute("SELECT * FROM generate_series(1, 100000)")
        rows.fetchone()
        other = pycairndb.connect(sys.argv[1])
        other.execute("INSERT INTO t VALUES (2)")
        third = pycairndb.connect(sys.argv[1])
        def long():
            try:
                third.execute("SELECT count(*) FROM generate_series(1, 100000000000)")
            except pycairndb.Error:
                pass
        thread = threading.Thread(target=long, daemon=True)
        thread.start()
        import time; time.sleep(0.2)
        print("done")
    """
    status, out, err = run(code, path)
    assert (status, out.strip()) == (0, "done"), (status, out, err)
    db = pycairndb.connect(path)
    assert db.execute("SELECT a FROM t").fetchall() == [(1,)]
    db.close()


def test_what_is_dropped_is_let_go_of(path):
    class Factory:
        def __call__(self, cursor, row):
            return row

    for _ in range(3):
        db = pycairndb.connect(path)
        factory = Factory()
        db.row_factory = factory
        watched = weakref.ref(factory)
        cursor = db.execute("SELECT * FROM generate_series(1, 100000)")
        cursor.fetchone()
        gone = [weakref.ref(db), weakref.ref(cursor)]
        del db, cursor, factory
        gc.collect()
        assert all(reference() is None for reference in gone) and watched() is None
    assert not os.path.exists(path + "-lock")


def test_memory_does_not_grow(db):
    resource = pytest.importorskip("resource")
    db.execute("CREATE TABLE t (id int PRIMARY KEY, v text, j jsonb)")
    db.execute("INSERT INTO t VALUES (1, 'x', '[1]')")

    def work(count):
        for n in range(count):
            db.execute("SELECT v, j, id FROM t WHERE id = ?", (1,)).fetchone()
            db.execute("SELECT ?, ?, ?", (n, "text", [1, 2])).fetchall()
            try:
                db.execute("SELECT ? FROM t", (object(),))
            except pycairndb.Error:
                pass
            db.executemany("UPDATE t SET v = ?", [("y",)])

    work(500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(3000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_soak_of_threads_forks_and_kills(path):
    """Processes that work with threads, fork and are killed, one after the other: what each was told is there."""
    code = """if True:
        import os, sys, threading, pycairndb
        path, begin = sys.argv[1], int(sys.argv[2])
        db = pycairndb.connect(path, autocommit=True)
        db.execute("CREATE TABLE IF NOT EXISTS t (n bigint PRIMARY KEY)")
        lock = threading.Lock()
        def work(first):
            mine = pycairndb.connect(path, autocommit=True)
            for n in range(first, first + 100000):
                mine.execute("INSERT INTO t VALUES (?)", (n,))
                with lock:
                    os.write(1, b"%d\\n" % n)
                if n % 50 == 0 and os.fork() == 0:
                    try:
                        mine.execute("SELECT 1")
                    except pycairndb.OperationalError:
                        os._exit(0)
                    os._exit(1)
        for at in range(3):
            threading.Thread(target=work, args=(begin + at * 100000,), daemon=True).start()
        threading.Event().wait()
    """
    told = set()
    for round_ in range(4):
        worker = subprocess.Popen([sys.executable, "-c", code, path, str(round_ * 1000000)], stdout=subprocess.PIPE)
        time.sleep(1.5)
        worker.send_signal(signal.SIGKILL)
        out, _ = worker.communicate(timeout=60)
        told.update(int(line) for line in out.split(b"\n")[:-1] if line)
        db = pycairndb.connect(path)
        there = {n for (n,) in db.execute("SELECT n FROM t")}
        db.close()
        assert told <= there and len(there - told) <= 3 * (round_ + 1)
    assert told
