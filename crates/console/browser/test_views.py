"""What there is beside statements: files of results and charts, the schema, live queries, metrics, databases."""

import json
import os
import signal
import subprocess
import time

from page import ODD, button, cells, look, one, run, sql, texts, until
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def test_a_result_is_saved_as_files_and_copied(served, browser, tmp_path):
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.get(served)
    run(browser, "SELECT n, 'a\t\"b\"' AS name, NULL AS nothing FROM generate_series(1, 3000) AS n")
    for name, file in [("CSV", "result.csv"), ("JSON", "result.json"), ("Arrow", "result.arrows")]:
        button(browser, name).click()
        until(browser, (tmp_path / file).exists)
    lines = (tmp_path / "result.csv").read_text().splitlines()
    assert lines[:2] == ["n,name,nothing", '1,"a\t""b""",'] and len(lines) == 3001
    rows = json.loads((tmp_path / "result.json").read_text())
    assert rows[2999] == {"n": 3000, "name": 'a\t"b"', "nothing": None}
    assert (tmp_path / "result.arrows").stat().st_size > 3000
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.execute_cdp_cmd("Browser.grantPermissions", {"permissions": permissions})
    button(browser, "Copy").click()
    until(browser, lambda: "3,000 of 3,000 rows are copied." in texts(browser, ".bar [role=status]"))
    copied = browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])").splitlines()
    assert copied[:2] == ["n\tname\tnothing", '1\t"a\t""b"""\t'] and len(copied) == 3001


def test_a_chart_is_guessed_from_the_columns_and_changed_by_hand(served, browser):
    browser.get(served)
    for statement, kind, mark, count in [
        ("SELECT date '2024-01-01' + n AS day, n * n AS sold FROM generate_series(1, 500) AS n", "line", "path.line", 1),
        ("SELECT 'crew ' || n AS name, n - 3 AS sold FROM generate_series(1, 8) AS n", "bar", "rect.mark", 8),
        ("SELECT n AS mass, n * n AS price FROM generate_series(1, 300) AS n", "scatter", "path.points", 1),
        ("SELECT n % 90 AS age FROM generate_series(1, 20000) AS n", "histogram", "rect.mark", 30),
    ]:
        run(browser, statement)
        button(browser, "Chart").click()
        drawing = one(browser, ".chart svg")
        assert one(browser, "select.kind").get_property("value") == kind
        assert drawing.get_attribute("aria-label").startswith(kind)
        assert len(browser.find_elements(By.CSS_SELECTOR, ".chart " + mark)) == count
        if kind == "line":
            assert len(one(browser, ".chart path.line").get_attribute("d").split("L")) == 500
            assert "2024-01-02" in one(browser, ".chart").text
    assert "the first 10,000 rows" in one(browser, "figcaption").text
    # By hand.
    run(browser, "SELECT n AS mass, n * n AS price FROM generate_series(1, 300) AS n")
    button(browser, "Chart").click()
    one(browser, "select.kind").send_keys("bar")
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".chart rect.mark")) == 60)
    # What can not be drawn is said.
    run(browser, "SELECT 'a' AS a, 'b' AS b")
    button(browser, "Chart").click()
    assert "nothing to draw" in one(browser, ".chart").text


def told_uses(browser):
    """Of a table, and of its primary key: how often it was used, and what was read of it."""
    whole = [text for text in texts(browser, ".inside p") if text.startswith("Read whole")]
    keys = [row for row in texts(browser, ".inside tr") if "crew_pkey" in row]
    cells = browser.execute_script("""return [...document.querySelectorAll(".inside tr")].filter((row) => row.textContent.includes("crew_pkey"))
        .flatMap((row) => [...row.children].slice(2).map((cell) => cell.textContent))""")
    return (whole[0].split(",")[0], cells) if whole and keys else None


def test_a_thousand_tables_are_a_tree_at_once(served, browser):
    browser.get(served)
    one(browser, "#sql")
    odd = ODD.replace('"', '""')[:50]
    sql(browser, f'CREATE TABLE "{odd}" (a int)')
    sql(browser, "CREATE INDEX crew_name ON crew (name)")
    sql(browser, "CREATE VIEW named AS SELECT name FROM crew WHERE name IS NOT NULL")
    sql(browser, "CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT a * 2'")
    for part in range(5):
        numbers = f"{200 * part + 1}..{200 * (part + 1)}"
        sql(browser, f"DO $$ BEGIN FOR i IN {numbers} LOOP EXECUTE 'CREATE TABLE t' || i || ' (id int PRIMARY KEY, at date)'; END LOOP; END $$")
    times = []
    for _ in range(3):
        took = browser.execute_async_script("""
            const done = arguments[0];
            location.hash = "query";
            setTimeout(() => {
                const begun = performance.now();
                const before = document.querySelector(".tree");
                before?.replaceChildren();
                new MutationObserver((_, seen) => {
                    if (document.querySelectorAll(".tree .item").length < 1000) return;
                    seen.disconnect();
                    // (Until it is drawn.)
                    requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
                }).observe(document.body, { childList: true, subtree: true });
                location.hash = "schema";
                if (before) setTimeout(() => document.querySelector(".schema button").click());
            }, 100);""")
        times.append(took)
    print("a thousand tables: " + ", ".join(f"{took:.0f} ms" for took in times))
    titles = texts(browser, ".tree > details > summary")
    assert titles == ["Tables (1,002)", "Views (1)", "Functions (1)"]
    assert any("onerror=window.hacked=1" in name for name in texts(browser, ".item summary"))
    one(browser, "#filter").send_keys("crew")
    until(browser, lambda: len([item for item in browser.find_elements(By.CSS_SELECTOR, ".item") if item.is_displayed()]) == 1)
    summary = [item for item in browser.find_elements(By.CSS_SELECTOR, ".item summary") if item.is_displayed()][0]
    summary.click()
    until(browser, lambda: len(texts(browser, ".inside table")) == 3)
    columns, indexes, constraints = texts(browser, ".inside table")
    assert "idintegeryes" in columns and "nametext" in columns
    assert "crew_name ON public.crew" in indexes and "PRIMARY KEY (id)" in constraints
    assert told_uses(browser) == ("Read whole 0 times (0 rows)", ["0", "0"])
    for _ in range(3):
        sql(browser, "SELECT name FROM crew WHERE id = 3")
    sql(browser, "SELECT count(name) FROM crew")
    button(browser, "Look again").click()
    until(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, ".inside"))
    [item for item in browser.find_elements(By.CSS_SELECTOR, ".item summary") if item.is_displayed()][0].send_keys(Keys.ENTER)
    until(browser, lambda: told_uses(browser) == ("Read whole 1 times (0 rows)", ["3", "0"]))
    button(browser, "Look at rows").click()
    until(browser, lambda: "SELECT" in one(browser, ".told").text)
    assert one(browser, "#sql").get_property("value") == "SELECT * FROM public.crew LIMIT 1000"
    look(browser, "schema")
    button(browser, "Open as a grid").click()
    until(browser, lambda: one(browser, ".data [role=grid]").get_attribute("aria-label") == 'Rows of "public"."crew"')
    assert browser.execute_script("return window.hacked") is None


def test_a_live_query_changes_where_it_stands(served, browser):
    browser.get(served)
    one(browser, "#sql")
    sql(browser, "INSERT INTO crew VALUES (1, 'Ada'), (2, 'Bo')")
    look(browser, "live")
    one(browser, "#watched").send_keys("SELECT id, name FROM crew")
    one(browser, "#watch").click()
    until(browser, lambda: texts(browser, ".live td") == ["1", "Ada", "2", "Bo"])
    sql(browser, "UPDATE crew SET name = '<b>' WHERE id = 2")
    until(browser, lambda: texts(browser, ".live td") == ["1", "Ada", "2", "<b>"])
    assert texts(browser, ".changed") == ["<b>"]
    sql(browser, "DELETE FROM crew WHERE id = 1")
    sql(browser, "INSERT INTO crew VALUES (3, NULL)")
    until(browser, lambda: texts(browser, ".live td") == ["2", "<b>", "3", "NULL"])
    assert "2 rows; 3 changes." in one(browser, "#watching").text
    one(browser, "#watched").send_keys(" WHERE wrong")
    look(browser, "query")
    look(browser, "live")
    assert "nobody looked" in one(browser, "#watching").text
    one(browser, "#watch").click()
    until(browser, lambda: "42703" in one(browser, ".live .error").text)


def test_twenty_plots_move_and_take_little(served, browser):
    browser.get(served)
    one(browser, "#sql")
    look(browser, "metrics")
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".plot")) == 20)
    until(browser, lambda: texts(browser, ".plot output")[0].endswith("/s"))
    for at in range(10):
        sql(browser, f"INSERT INTO crew VALUES ({at}, 'x')")

    def commits():
        path = browser.execute_script("return document.querySelector('.plot path').getAttribute('d')")
        return {point.split(" ")[1] for point in path.replace("L", "M").split("M")[1:]}

    until(browser, lambda: len(commits()) > 1)
    browser.execute_cdp_cmd("Performance.enable", {})

    def busy():
        metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return {metric["name"]: metric["value"] for metric in metrics}["TaskDuration"]

    before = busy()
    time.sleep(5)
    print(f"twenty plots: {(busy() - before) / 5:.1%} of a core")
    assert (busy() - before) / 5 < 0.05


def test_databases_say_what_a_crash_may_take_and_are_copied_and_checked(served, browser, tmp_path):
    browser.get(served)
    one(browser, "#sql")
    look(browser, "databases")
    until(browser, lambda: texts(browser, "td"))
    name, size, mode, lost = texts(browser, "td")[:4]
    assert (name, mode, lost) == ("shop", "full", "nothing that was acknowledged") and size.endswith("iB")
    button(browser, "Verify").click()
    until(browser, lambda: "every page, checksum and order is right" in " ".join(texts(browser, "[role=status]")))
    sql(browser, "INSERT INTO crew VALUES (1, 'Ada')")
    copy = tmp_path / "saved" / "shop.cairn"
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(copy.parent)})
    button(browser, "Back up").click()
    until(browser, copy.exists)
    read = subprocess.run([os.environ["CAIRN"], copy, "SELECT name FROM crew"], capture_output=True, text=True, check=True)
    assert "Ada" in read.stdout


def test_what_runs_is_seen_and_stopped(served, browser):
    browser.get(served)
    one(browser, "#sql").send_keys("SELECT pg_sleep(1000), 'secret'", Keys.CONTROL, Keys.ENTER)
    look(browser, "activity")
    until(browser, lambda: texts(browser, "td button") == ["Stop"])
    session = texts(browser, "tbody")[0]
    assert "SELECT pg_sleep (?), ?" in session and "shopconsoleconsoleactive" in session
    browser.execute_script("document.querySelector('td button').click()")
    until(browser, lambda: texts(browser, "td button") == [])
    look(browser, "query")
    until(browser, lambda: "57014" in " ".join(texts(browser, ".error")))
    # Those that ran are told by what they took.
    sql(browser, "SELECT count(*) FROM crew")
    look(browser, "activity")
    until(browser, lambda: any("SELECT count (*) FROM crew" in text for text in texts(browser, "tbody")))


def test_a_server_that_goes_is_told_and_the_page_stays(tmp_path, browser):
    cairn, file = os.environ["CAIRN"], tmp_path / "shop.cairn"
    subprocess.run([cairn, file, "CREATE TABLE crew (id int)"], check=True, capture_output=True)
    child = subprocess.Popen([cairn, "console", file], stdout=subprocess.PIPE, text=True)
    browser.get(child.stdout.readline().strip())
    one(browser, "#sql")
    look(browser, "metrics")
    until(browser, lambda: texts(browser, ".plot output")[0].endswith("/s"))
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 0
    until(browser, lambda: "can not be reached" in " ".join(texts(browser, ".error")))
    look(browser, "query")
    run(browser, "SELECT 1")
    assert "can not be reached" in one(browser, ".error").text
    # It comes back, and knows nobody.
    port = browser.current_url.split(":")[2].split("/")[0]
    child = subprocess.Popen([cairn, "console", file, "--port", port], stdout=subprocess.PIPE, text=True)
    address = child.stdout.readline().strip()
    # (Once it is refused there is no button any more.)
    run_again = "document.getElementById('run')?.click(); return document.getElementById('token') !== null"
    until(browser, lambda: browser.execute_script(run_again))
    browser.get(address)
    run(browser, "SELECT 1")
    until(browser, lambda: cells(browser) == ["1"])
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 0
