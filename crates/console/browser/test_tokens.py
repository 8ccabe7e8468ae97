"""Tokens: made, seen and revoked by who may; one that ends while somebody looks."""

import contextlib
import datetime
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

from page import accessible, button, look, one, run, told, texts, until
from selenium.webdriver.common.keys import Keys

CAIRN = os.environ["CAIRN"]


@contextlib.contextmanager
def serving(folder):
    """A server of a folder: its address over HTTP."""
    subprocess.run([CAIRN, folder / "shop.cairn", "CREATE TABLE crew (id int)"], check=True, capture_output=True)
    child = subprocess.Popen([CAIRN, "serve", folder, "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        yield next(f"http://{found[1]}/" for line in child.stderr if (found := re.search(r"listening http=(\S+)", line)))
    finally:
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 0
        child.stderr.close()


def token(folder, name, scopes, *more):
    command = [CAIRN, "token", "create", folder, name, "--scopes", scopes, *more]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def login(browser, address, secret):
    browser.get(address)
    one(browser, "#token").send_keys(secret, Keys.ENTER)
    one(browser, "#sql")


def lets(address, secret):
    asked = urllib.request.Request(address + "db/shop/sql", b'{"sql": "SELECT 1"}', {"Authorization": "Bearer " + secret, "Content-Type": "application/json"})
    try:
        return urllib.request.urlopen(asked).status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_tokens_are_made_and_revoked(tmp_path, browser):
    with serving(tmp_path) as address:
        login(browser, address, token(tmp_path, "owner", "read,sql,tokens"))
        look(browser, "tokens")
        until(browser, lambda: one(browser, ".token").is_displayed())
        one(browser, "#token-name").send_keys("<b>app")
        assert texts(browser, ".token fieldset label") == [" read", " sql"], "what this token has not it gives nobody"
        one(browser, "#scope-sql").send_keys(Keys.SPACE)
        one(browser, "#token-databases").send_keys("shop")
        later = datetime.date.today() + datetime.timedelta(days=2)
        browser.execute_script("document.getElementById('token-expires').value = arguments[0]", later.isoformat())
        one(browser, "#token-name").send_keys(Keys.ENTER)
        secret = until(browser, lambda: one(browser, "dialog .secret").text)
        assert lets(address, secret) == 200
        accessible(browser)
        button(browser, "Close").click()
        until(browser, lambda: texts(browser, "[aria-label=Tokens] td")[:4] == ["<b>app", "sql", "shop", "all"])
        shown = browser.execute_script("return document.documentElement.outerHTML + JSON.stringify(localStorage)")
        assert secret not in shown
        button(browser, "Revoke").click()
        one(browser, "dialog button.main").click()
        until(browser, lambda: texts(browser, "[aria-label=Tokens] td") == [])
        assert lets(address, secret) == 401
        # Who may not is told who gives that.
        button(browser, "Log out").click()
        login(browser, address, token(tmp_path, "app", "read,sql"))
        look(browser, "tokens")
        until(browser, lambda: "makes no others" in one(browser, "[aria-label=Tokens]").text)
        assert not one(browser, ".token").is_displayed()


def test_a_token_that_ends_ends_what_is_looked_at(tmp_path, browser):
    with serving(tmp_path) as address:
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=6)
        login(browser, address, token(tmp_path, "short", "read,sql", "--expires", soon.strftime("%Y-%m-%dT%H:%M:%SZ")))
        run(browser, "SELECT 1")
        assert told(browser)[0].startswith("SELECT")
        look(browser, "live")
        one(browser, "#watched").send_keys("SELECT * FROM crew")
        one(browser, "#watch").click()
        until(browser, lambda: "0 rows" in one(browser, "#watching").text)
        # What is told without being asked ends by itself.
        until(browser, lambda: one(browser, "#watching").text == "The server has ended it: the token has expired.")
        look(browser, "query")
        one(browser, "#sql").send_keys(Keys.CONTROL, Keys.ENTER)
        until(browser, lambda: "The session has ended" in one(browser, "[role=alert]").text)
        assert one(browser, "#token") == browser.switch_to.active_element
