"""What the server keeps of what was done; the console of a server, found by the file that it has; a server that is killed meanwhile."""

import os
import re
import signal
import subprocess

from page import accessible, button, choose, look, one, run, texts, told, until
from selenium.webdriver.common.keys import Keys
from test_tokens import login, serving, token

CAIRN = os.environ["CAIRN"]


def events(browser):
    """Of each event that is shown: what it is, and of whom and what."""
    return browser.execute_script("""return [...document.querySelectorAll("[aria-label='What happened'] tbody tr")]
        .map((row) => [...row.children].slice(1).map((cell) => cell.textContent))""")


def test_what_was_done_is_shown_with_a_filter(tmp_path, browser):
    odd = "<img src=x onerror=window.hacked=1>\u202e"
    with serving(tmp_path) as address:
        login(browser, address, token(tmp_path, odd, "read,write,manage,sql,tokens"))
        run(browser, "SELECT 'hunter2'")
        browser.execute_async_script("""import("/console/page/ask.js").then(async ({ ask }) => {
            await ask("PUT", "/db/shop/collections/notes", {});
            await ask("PUT", "/db/shop/collections/notes/rules", { list: "true" });
            await ask("POST", "/console/tokens", { name: "app", scopes: ["read"] });
            await ask("POST", "/console/tokens/revoke", { name: "app" });
            await ask("POST", "/db/shop/console/verify");
        }).then(arguments[0])""")
        look(browser, "audit")
        until(browser, lambda: len(events(browser)) >= 6)
        found = dict(reversed(events(browser)))
        assert found["rules"] == f"database: shop; token: {odd}; collection: notes; what: set"
        assert found["token revoked"] == f"name: app; token: {odd}"
        assert {"started", "console begun", "token made", "verify"} <= set(found)
        assert "hunter2" not in str(found) and browser.execute_script("return window.hacked") is None
        accessible(browser)
        choose(browser, "#audit-kind", "token made")
        until(browser, lambda: [name for name, _ in events(browser)] == ["token made"])
        choose(browser, "#audit-kind", "All that happened")
        one(browser, "#audit-text").send_keys("NOTES")
        until(browser, lambda: [name for name, _ in events(browser)] == ["rules"])
        one(browser, "#audit-text").send_keys(Keys.BACKSPACE * 5)
        until(browser, lambda: len(events(browser)) >= 6)
        # Who manages some of the server is not told of all of it.
        button(browser, "Log out").click()
        login(browser, address, token(tmp_path, "some", "read,manage,sql", "--database", "shop"))
        look(browser, "audit")
        until(browser, lambda: "all of the server" in one(browser, ".audit [role=alert]").text)


def test_the_console_of_a_server_is_found_by_its_file(tmp_path, browser):
    """Two tabs are one session; the secret is good once; what it stands for ends with who has asked for it."""
    with serving(tmp_path) as address:
        child = subprocess.Popen([CAIRN, "console", tmp_path / "shop.cairn"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        told_address = child.stdout.readline().strip()
        assert told_address.startswith(address + "#token=")
        browser.get(told_address)
        run(browser, "SELECT count(*) FROM crew")
        assert told(browser)[0].startswith("SELECT")
        assert texts(browser, "#database option") == ["shop"], "it is of this database"
        assert "token=" not in browser.current_url
        first = browser.current_window_handle
        browser.switch_to.new_window("tab")
        browser.get(address)
        run(browser, "SELECT 1")
        assert told(browser)[0].startswith("SELECT")
        # It was used: nobody else comes in by it, and who is in stays.
        browser.get(told_address)
        until(browser, lambda: "not known" in one(browser, "[role=alert]").text)
        browser.close()
        browser.switch_to.window(first)
        run(browser, "SELECT 2")
        assert told(browser)[0].startswith("SELECT")
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 0
        said = child.stderr.read()
        assert re.search(r"process \d+ serves", said) and told_address.split("=")[1] not in said
        child.stdout.close()
        child.stderr.close()
        one(browser, "#sql").send_keys(Keys.CONTROL, Keys.ENTER)
        until(browser, lambda: "The session has ended" in one(browser, "[role=alert]").text)
        assert subprocess.run([CAIRN, "token", "list", tmp_path], check=True, capture_output=True, text=True).stdout.count("\n") == 1


def test_a_collection_is_made_and_tables_are_followed(served, browser):
    browser.get(served)
    one(browser, "#sql")
    look(browser, "documents")
    until(browser, lambda: "no collections yet" in one(browser, "#found").text)
    button(browser, "New collection").send_keys(Keys.ENTER)
    one(browser, "#new-name").send_keys("it's <b>")
    choose(browser, "#new-ids", "bigint")
    accessible(browser)
    one(browser, "#new-name").send_keys(Keys.ENTER)
    until(browser, lambda: texts(browser, "#collection option") == ["it's <b>"])
    until(browser, lambda: one(browser, "#found").text == "0 documents")
    assert not browser.find_elements("css selector", "dialog")
    # What can not be made says why, and what was typed stays.
    button(browser, "New collection").click()
    one(browser, "#new-name").send_keys("crew", Keys.ENTER)
    until(browser, lambda: one(browser, "dialog [role=alert]").text)
    assert one(browser, "#new-name").get_property("value") == "crew"
    one(browser, "#new-name").send_keys(Keys.ESCAPE)
    until(browser, lambda: not browser.find_elements("css selector", "dialog"))
    look(browser, "query")
    run(browser, 'CREATE TABLE "odd. \'t" (id int PRIMARY KEY, n numeric, t text) WITH (change_feed = on)')
    look(browser, "events")
    until(browser, lambda: texts(browser, "#followed option") == ["it's <b>", 'public."odd. \'t"'])
    choose(browser, "#followed", 'public."odd. \'t"')
    assert not one(browser, "#followed-filter").is_enabled()
    one(browser, "#follow").send_keys(Keys.ENTER)
    until(browser, lambda: one(browser, "#follow-said").text == "Listening.")
    script = """import("/console/page/ask.js").then((page) => page.ask("POST", "/db/shop/sql", { sql: arguments[0] })).then(() => arguments[1]())"""
    # (It listens once the server has answered; what came before that is not told.)
    def told_row():
        browser.execute_async_script(script, """INSERT INTO "odd. 't" VALUES (1, 12345678901234567890.5, '<b>') ON CONFLICT (id) DO UPDATE SET n = excluded.n""")
        return texts(browser, "[aria-label^='Follow'] tbody tr")
    until(browser, told_row)
    row = until(browser, lambda: texts(browser, "[aria-label^='Follow'] tbody tr"))[0]
    assert '"n":12345678901234567890.5' in row.replace(" ", "") and "<b>" in row
    accessible(browser)


def test_a_live_query_says_why_it_ended(served, browser):
    browser.get(served)
    one(browser, "#sql")
    look(browser, "live")
    one(browser, "#watched").send_keys("SELECT * FROM crew")
    one(browser, "#watch").click()
    until(browser, lambda: "0 rows" in one(browser, "#watching").text)
    script = """import("/console/page/ask.js").then((page) => page.ask("POST", "/db/shop/sql", { sql: arguments[0] })).then(() => arguments[1]())"""
    browser.execute_async_script(script, "DROP TABLE crew")
    until(browser, lambda: "ended it" in one(browser, "#watching").text)
    assert "crew" in one(browser, ".live [role=alert]").text
