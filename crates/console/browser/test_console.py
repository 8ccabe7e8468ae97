"""The console as somebody sees it who clicks and types."""

import os
import signal
import subprocess

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

CAIRN = os.environ["CAIRN"]
ODD = "<img src=x onerror=window.hacked=1>\"'\n\u202eabc</textarea><script>window.hacked=1</script>"


@pytest.fixture
def served(tmp_path):
    file = tmp_path / "shop.cairn"
    subprocess.run([CAIRN, file, "CREATE TABLE crew (id int PRIMARY KEY, name text)"], check=True, capture_output=True)
    child = subprocess.Popen([CAIRN, "console", file], stdout=subprocess.PIPE, text=True)
    yield child.stdout.readline().strip()
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 0


@pytest.fixture
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,800"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    # (What is refused is said by its status.)
    said = [line["message"] for line in driver.get_log("browser") if "status of 4" not in line["message"]]
    driver.quit()
    assert said == []


def until(browser, what, time=20):
    return WebDriverWait(browser, time, poll_frequency=0.02).until(lambda _: what())


def one(browser, selector):
    return until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, selector))[0]


def run(browser, sql):
    editor = one(browser, "#sql")
    browser.execute_script("arguments[0].value = arguments[1]", editor, sql)
    editor.send_keys(Keys.CONTROL, Keys.ENTER)
    until(browser, lambda: one(browser, "#run").is_enabled())


def told(browser):
    return [line.text for line in browser.find_elements(By.CSS_SELECTOR, ".told")]


def cells(browser):
    # (All at once: they are others when the table is drawn again.)
    return browser.execute_script("return [...document.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)")


def accessible(browser):
    with open(os.environ["CAIRN_AXE"]) as script:
        browser.execute_script(script.read())
    found = browser.execute_async_script("axe.run().then((found) => arguments[arguments.length - 1](found.violations))")
    assert [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in found] == []


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
    shown = one(browser, "[role=columnheader]").get_property("textContent")
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
    accessible(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    if folder := os.environ.get("CAIRN_SCREENSHOTS"):
        browser.save_screenshot(f"{folder}/console-{scheme}-{width}.png")
