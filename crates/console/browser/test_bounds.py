"""What is much, what does not end, what there is two of, and what fingers on keys reach."""

import time

from page import button, cells, choose, closed, field, look, one, rows, run, sql, texts, until
from selenium.webdriver.common.keys import Keys


def heap(browser):
    return browser.execute_script("return performance.memory.usedJSHeapSize") / 1e6


def opened_table(browser, name):
    look(browser, "data")
    until(browser, lambda: name in texts(browser, "#table option"))
    choose(browser, "#table", name)


def test_a_thousand_columns_are_looked_at_and_changed(served, browser):
    browser.get(served)
    run(browser, "SELECT " + ", ".join(f"n * {at} AS c{at}" for at in range(1000)) + " FROM generate_series(1, 1000) AS n")
    until(browser, lambda: cells(browser))
    grid = one(browser, "[role=grid]")
    assert grid.get_attribute("aria-colcount") == "1000" and len(cells(browser)) < 1000
    grid.send_keys(Keys.END, Keys.CONTROL, Keys.END)
    until(browser, lambda: "999000" in cells(browser))
    assert len(cells(browser)) < 1000 and heap(browser) < 200
    sql(browser, "CREATE TABLE wide (id int PRIMARY KEY, " + ", ".join(f"c{at} int" for at in range(1, 1000)) + ")")
    sql(browser, "INSERT INTO wide (id, c1, c999) VALUES (1, 2, 3)")
    opened_table(browser, "wide")
    until(browser, lambda: cells(browser)[:2] == ["1", "2"])
    one(browser, ".data [role=grid]").send_keys(Keys.END, Keys.ENTER)
    until(browser, lambda: browser.switch_to.active_element == field(browser, "c999"))
    browser.switch_to.active_element.send_keys("4", Keys.CONTROL, Keys.ENTER)
    closed(browser)
    assert rows(browser, "SELECT c1, c998, c999 FROM wide") == [[2, None, 34]]
    one(browser, ".data [role=grid]").send_keys(Keys.DELETE)
    button(browser, "Delete").click()
    closed(browser)
    assert rows(browser, "SELECT count(*) FROM wide") == [[0]]


def test_a_value_of_50_mb_is_shown_by_its_beginning_and_stays_as_it_is(served, browser):
    browser.get(served)
    one(browser, "#sql")
    sql(browser, "ALTER TABLE crew ADD COLUMN age int")
    sql(browser, "INSERT INTO crew VALUES (1, 'begins' || repeat('x', 50000000), 30)")
    run(browser, "SELECT name FROM crew")
    until(browser, lambda: cells(browser) and cells(browser)[0].startswith("beginsxxx"))
    one(browser, "[role=grid]").send_keys(Keys.ENTER)
    until(browser, lambda: "The first MB of 50,000,006 bytes." in texts(browser, "dialog p"))
    assert len(one(browser, "dialog pre").get_property("textContent")) <= 1 << 20
    button(browser, "Close").click()
    opened_table(browser, "crew")
    until(browser, lambda: "30" in cells(browser))
    one(browser, ".data [role=grid]").send_keys(Keys.END, Keys.ENTER)
    until(browser, lambda: browser.switch_to.active_element == field(browser, "age"))
    assert not field(browser, "name").is_enabled() and "too long" in " ".join(texts(browser, "dialog .field small"))
    browser.switch_to.active_element.send_keys("1", Keys.CONTROL, Keys.ENTER)
    closed(browser)
    assert rows(browser, "SELECT length(name), left(name, 7), age FROM crew") == [[50000006, "beginsx", 301]]
    # The row that stands there now is known by what its long value begins with.
    one(browser, ".data [role=grid]").send_keys(Keys.DELETE)
    button(browser, "Delete").click()
    closed(browser)
    assert rows(browser, "SELECT count(*) FROM crew") == [[0]] and heap(browser) < 200


def test_two_tabs_are_one_session_and_tell_each_other_apart(served, browser):
    browser.get(served)
    one(browser, "#sql")
    sql(browser, "INSERT INTO crew VALUES (1, 'Ada')")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        browser.get(served.split("#")[0])
        opened_table(browser, "crew")
        until(browser, lambda: cells(browser) == ["1", "Ada"])
        second = browser.current_window_handle
        browser.switch_to.window(first)
        opened_table(browser, "crew")
        until(browser, lambda: cells(browser) == ["1", "Ada"])
        one(browser, ".data [role=grid]").send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
        field(browser, "name").send_keys(" first")
        browser.switch_to.window(second)
        one(browser, ".data [role=grid]").send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
        field(browser, "name").send_keys(" second", Keys.CONTROL, Keys.ENTER)
        closed(browser)
        browser.switch_to.window(first)
        button(browser, "Save").click()
        until(browser, lambda: "somebody else" in one(browser, "dialog .error").text)
        assert rows(browser, "SELECT name FROM crew") == [["Ada second"]]
        button(browser, "Cancel").click()
        # Who leaves in one has left in both.
        button(browser, "Log out").click()
        one(browser, "#token")
        browser.switch_to.window(second)
        button(browser, "Look again").click()
        until(browser, lambda: "The session has ended" in one(browser, "[role=alert]").text)
    finally:
        if len(browser.window_handles) > 1:
            browser.switch_to.window(browser.window_handles[-1])
            browser.close()
        browser.switch_to.window(first)


def test_a_table_that_never_ends_is_left_for_another(served, browser):
    browser.get(served)
    one(browser, "#sql")
    sql(browser, "INSERT INTO crew VALUES (1, 'Ada')")
    sql(browser, "CREATE VIEW endless AS SELECT pg_sleep(1000)::text AS never")
    opened_table(browser, "endless")
    running = """import("/console/page/ask.js").then((page) => page.ask("GET", "/console/activity"))
        .then(({ sessions }) => arguments[0](sessions.length))"""
    until(browser, lambda: browser.execute_async_script(running) == 1)
    choose(browser, "#table", "crew")
    until(browser, lambda: cells(browser) == ["1", "Ada"])
    until(browser, lambda: browser.execute_async_script(running) == 0)


VIEWS = ["query", "schema", "diagram", "data", "documents", "live", "events", "activity", "metrics", "databases", "tokens"]
# What somebody may press, type into or scroll, as it is shown. (It is looked for anew each time: what moves is made anew, in the same place.)
REACHED = """window.reached = () => [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex='0']")]
        .filter((node) => !node.disabled && node.checkVisibility({ visibilityProperty: true }));
    return window.reached().length"""


def test_everything_is_reached_by_the_tab_key_and_seen_to_be(served, browser):
    browser.get(served)
    run(browser, "SELECT 1 AS a")
    sql(browser, "INSERT INTO crew VALUES (1, 'Ada')")
    script = """import("/console/page/ask.js").then(({ ask }) => ask("PUT", "/db/shop/collections/notes", {})).then(arguments[0])"""
    browser.execute_async_script(script)
    for view in VIEWS:
        # From the head of the page on, to the view by its link.
        browser.execute_script("document.getElementById('database').focus()")
        place = VIEWS.index(view)
        browser.switch_to.active_element.send_keys(Keys.TAB * (place + 1))
        assert browser.switch_to.active_element.get_attribute("hash") == "#" + view
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        # It is there when its address has been noticed.
        until(browser, lambda: browser.find_elements("css selector", f"a[href='#{view}'][aria-current=page]"))
        if view in ("data", "diagram", "documents", "activity", "databases"):
            until(browser, lambda: texts(browser, ".data [role=gridcell], .box, #found, td"))
        # So is what it asks for when nothing comes any more.
        counts = [-1, browser.execute_script(REACHED)]
        while counts[-1] != counts[-2]:
            time.sleep(0.3)
            counts.append(browser.execute_script(REACHED))
        browser.execute_script("document.getElementById('database').focus()")
        count = browser.execute_script(REACHED)
        seen, unseen = {0}, []
        for _ in range(count + 2):
            at, outline = browser.execute_script("""const node = document.activeElement;
                return [window.reached().indexOf(node), getComputedStyle(node).outlineStyle + getComputedStyle(node.querySelector("rect") ?? node).stroke]""")
            # (Behind the last there is the browser itself.)
            if at >= 0 and outline.startswith("none"):
                unseen.append(at)
            seen.add(at)
            browser.switch_to.active_element.send_keys(Keys.TAB)
        missed = [at for at in range(count) if at not in seen]
        told = browser.execute_script("return arguments[0].map((at) => window.reached()[at].outerHTML.slice(0, 120))", missed)
        assert told == [] and unseen == [], view


def test_it_is_usable_soon_after_its_last_byte(served, browser):
    browser.get(served)
    one(browser, "#sql")
    note = """new MutationObserver((_, seen) => {
        if (!document.activeElement || document.activeElement.id !== "sql") return;
        seen.disconnect();
        window.usable = performance.now();
    }).observe(document, { childList: true, subtree: true });"""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": note})["identifier"]
    times = []
    try:
        for _ in range(5):
            browser.refresh()
            usable = until(browser, lambda: browser.execute_script("return window.usable || null"))
            files = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/console/page/'))"
            last = browser.execute_script(f"return Math.max(...{files}.map(({{ responseEnd }}) => responseEnd))")
            times.append(usable - last)
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})
    print("usable after its last byte: " + ", ".join(f"{time:.0f} ms" for time in times))
    assert min(times) < 200
