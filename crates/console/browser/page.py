"""What tests do with the page."""

import os

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

ODD = "<img src=x onerror=window.hacked=1>\"'\n\u202eabc</textarea><script>window.hacked=1</script>"


def until(browser, what, time=20):
    # (What is looked at may have been drawn anew meanwhile.)
    wait = WebDriverWait(browser, time, poll_frequency=0.02, ignored_exceptions=[StaleElementReferenceException])
    return wait.until(lambda _: what())


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
    wrong = [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in found]
    assert not wrong, wrong


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
    return browser.execute_script(script, selector)


def button(browser, name):
    # (A name may have quotes in it, which paths have no word for.)
    script = "return [...document.querySelectorAll('button')].filter((button) => button.textContent === arguments[0])"
    return until(browser, lambda: browser.execute_script(script, name))[0]


def choose(browser, selector, text):
    # (Keys that are typed one after the other are one beginning of a name.)
    Select(one(browser, selector)).select_by_visible_text(text)


def field(browser, name):
    """A column's field of a row's form."""
    label = f"//dialog//label[starts-with(., '{name} ')]/following-sibling::textarea"
    return until(browser, lambda: browser.find_elements(By.XPATH, label))[0]


def closed(browser):
    until(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, "dialog"))


def rows(browser, text):
    """What a query tells, beside what the page shows."""
    script = """import("/console/page/ask.js").then((page) => page.rows("shop", arguments[0])).then(arguments[1])"""
    return browser.execute_async_script(script, text)


def sql(browser, text):
    """Runs a statement beside what the page shows."""
    script = """import("/console/page/ask.js").then((page) => page.ask("POST", "/db/shop/sql", { sql: arguments[0] })).then(
        () => arguments[1](null), (refused) => arguments[1](refused.message))"""
    assert browser.execute_async_script(script, text) is None


def look(browser, view):
    one(browser, f"nav a[href='#{view}']").click()
