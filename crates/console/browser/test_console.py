"""The console as somebody sees it who clicks and types: coming in, statements, results."""

import os

import pytest
from page import ODD, accessible, cells, look, one, run, told, until
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# What is seen of a view once it is there.
VIEWS = {"query": ".chart svg", "schema": ".item summary", "diagram": ".box", "data": ".data [role=grid]", "documents": "#collection", "live": "#watch", "events": "#listen", "activity": "td", "metrics": ".plot", "databases": "td",
         "tokens": "[aria-label=Tokens] p"}


def test_an_address_is_good_once_and_its_secret_is_nowhere(served, browser):
    browser.get(served)
    one(browser, "#sql")
    assert browser.current_url == served.split("#")[0]
    secret = served.split("token=")[1]
    assert secret not in browser.execute_script("return JSON.stringify(localStorage) + document.cookie + location.href")
    assert browser.execute_script("return document.cookie") == "", "the session's cookie is none of scripts"
    browser.refresh()
    one(browser, "#sql")
    browser.find_element(By.XPATH, "//button[text()='Log out']").click()
    one(browser, "#token")
    browser.get("about:blank")
    browser.get(served)
    assert "not known" in until(browser, lambda: one(browser, "[role=alert]").text)


def test_statements_run_and_what_is_wrong_is_marked_at_its_place(served, browser):
    browser.get(served)
    run(browser, "INSERT INTO crew VALUES (1, 'Ada'), (2, NULL);\nSELECT * FROM crew ORDER BY id")
    assert [line.split(" \u00b7 ")[:2] for line in told(browser)] == [["INSERT", "2"], ["SELECT", "2 rows"]]
    until(browser, lambda: cells(browser) == ["1", "Ada", "2", "NULL"])
    run(browser, "SELECT '\U0001f680';\nSELECT nme FROM crew; SELECT 3")
    assert one(browser, ".under mark").get_property("textContent") == "nme"
    assert "42703" in one(browser, ".error").text and len(told(browser)) == 2
    assert browser.execute_script("const text = document.getElementById('sql'); return text.selectionStart === text.selectionEnd")
    # What was typed is there again after the page was left.
    browser.refresh()
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, "#history option")) == 3)


def test_the_editor_completes_by_keys_alone(served, browser):
    browser.get(served)
    one(browser, "#sql").send_keys("SELECT * FROM cr")
    browser.switch_to.active_element.send_keys(Keys.CONTROL, Keys.SPACE)
    until(browser, lambda: [item.text for item in browser.find_elements(By.CSS_SELECTOR, ".offers li")] == ["crew"])
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert one(browser, "#sql").get_property("value") == "SELECT * FROM crew"
    browser.switch_to.active_element.send_keys(Keys.CONTROL, Keys.ENTER)
    until(browser, lambda: told(browser) and told(browser)[0].startswith("SELECT"))


def test_names_and_values_are_texts_whatever_is_in_them(served, browser):
    browser.get(served)
    name = ODD.replace('"', '""')
    value = ODD.replace("'", "''")
    run(browser, f"SELECT '{value}' AS \"{name}\", repeat('{value}', 1000)")
    until(browser, lambda: cells(browser))
    # (A name has 63 bytes.)
    shown = browser.execute_script("return document.querySelector('[role=columnheader]').textContent")
    assert cells(browser)[0] == ODD and ODD.startswith(shown) and "onerror" in shown
    grid = one(browser, "[role=grid]")
    grid.send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
    assert one(browser, "dialog pre").get_property("textContent") == ODD * 1000
    one(browser, "dialog button").click()
    run(browser, f'SELECT "{name}"')
    assert ODD.splitlines()[0] in one(browser, ".error").text
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements(By.CSS_SELECTOR, "#page img, #page script") == []


def test_a_million_rows_scroll(served, browser):
    browser.get(served)
    editor = one(browser, "#sql")
    browser.execute_script("arguments[0].value = \"SELECT n, 'row ' || n FROM generate_series(1, 1000000) AS n\"", editor)
    first = browser.execute_async_script("""
        const done = arguments[0], begun = performance.now();
        new MutationObserver((_, seen) => {
            if (document.querySelector("[role=gridcell]")) { seen.disconnect(); done(performance.now() - begun); }
        }).observe(document.body, { childList: true, subtree: true });
        document.getElementById("run").click();""")
    until(browser, lambda: one(browser, "#run").is_enabled(), 120)
    frames = browser.execute_async_script("""
        const done = arguments[0], grid = document.querySelector("[role=grid]"), times = [];
        let last = performance.now(), at = 0;
        const step = (now) => {
            times.push(now - last); last = now;
            grid.scrollTop = (grid.scrollHeight / 120) * ++at;
            at < 120 ? requestAnimationFrame(step) : done(times.slice(1).sort((a, b) => a - b));
        };
        requestAnimationFrame(step);""")
    heap = browser.execute_script("return performance.memory.usedJSHeapSize") / 1e6
    print(f"first row {first:.0f} ms; frame median {frames[60]:.1f}, p95 {frames[113]:.1f} ms; heap {heap:.0f} MB")
    one(browser, "[role=grid]").send_keys(Keys.CONTROL, Keys.END)
    until(browser, lambda: "1000000" in cells(browser))
    assert "1,000,000 rows" in told(browser)[0]
    assert len(browser.find_elements(By.CSS_SELECTOR, "[role=gridcell]")) < 200 and heap < 200


def test_a_statement_without_end_is_stopped(served, browser):
    browser.get(served)
    editor = one(browser, "#sql")
    editor.send_keys("SELECT pg_sleep(1000)", Keys.CONTROL, Keys.ENTER)
    stop = one(browser, "#stop")
    until(browser, stop.is_enabled)
    stop.click()
    until(browser, lambda: one(browser, "#run").is_enabled(), 5)
    assert "57014" in one(browser, ".error").text or "stopped" in one(browser, ".error").text


def test_a_plan_is_a_tree(served, browser):
    browser.get(served)
    run(browser, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FROM crew")
    assert "Aggregate" in one(browser, ".plan").text and "Seq Scan crew" in one(browser, ".plan ul").text


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_is_accessible_in_both_schemes_and_on_small_screens(served, browser, scheme, width):
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    browser.get(served.split("#")[0])
    one(browser, "#token")
    accessible(browser)
    browser.get("about:blank")
    browser.get(served)
    run(browser, "SELECT n, 'x' AS name, NULL AS nothing FROM generate_series(1, 100) AS n; SELECT nothing")
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, ".error"))
    one(browser, "article .bar button:last-of-type").click()
    for view, there in VIEWS.items():
        look(browser, view)
        seen = one(browser, there)
        if view == "schema":
            seen.click()
            one(browser, ".inside table")
        accessible(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, view
        if folder := os.environ.get("CAIRN_SCREENSHOTS"):
            browser.save_screenshot(f"{folder}/{view}-{scheme}-{width}.png")
