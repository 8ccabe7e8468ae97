"""A table as a grid: looked at by conditions and in an order, changed row by row, by keys alone."""

import subprocess

from page import ODD, button, cells, choose, closed, field, look, one, rows, sql, texts, until
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def opened(browser, served, *statements):
    browser.get(served)
    one(browser, "#sql")
    for statement in statements:
        sql(browser, statement)
    look(browser, "data")
    until(browser, lambda: "rows" in one(browser, "#data").text)


def grid(browser):
    return one(browser, ".data [role=grid]")


def press(browser, *keys):
    browser.switch_to.active_element.send_keys(*keys)


CREW = "INSERT INTO crew VALUES (1, 'Ada'), (2, NULL), (3, ''), (4, 'Bo')"


def test_rows_are_filtered_and_sorted(served, browser):
    opened(browser, served, CREW)
    until(browser, lambda: cells(browser) == ["1", "Ada", "2", "NULL", "3", "", "4", "Bo"])
    head = "document.querySelector('[role=columnheader]:nth-child(2)')"
    browser.execute_script(head + ".click()")
    until(browser, lambda: cells(browser)[::2] == ["3", "1", "4", "2"])
    assert browser.execute_script(f"return {head}.ariaSort") == "ascending"
    choose(browser, "#order", "id \u2193")
    until(browser, lambda: cells(browser)[::2] == ["4", "3", "2", "1"])
    choose(browser, "#column", "name")
    choose(browser, "#comparison", "contains")
    one(browser, "#value").send_keys("A'\"; DROP", Keys.ENTER)
    until(browser, lambda: one(browser, "#data").text.startswith("0 rows"))
    button(browser, "name contains A'\"; DROP \u00d7").click()
    choose(browser, "#comparison", "is NULL")
    assert not one(browser, "#value").is_displayed()
    button(browser, "Filter").click()
    until(browser, lambda: cells(browser) == ["2", "NULL"])
    # What a comparison makes no sense of is told.
    browser.find_elements(By.CSS_SELECTOR, ".condition")[0].click()
    choose(browser, "#column", "id")
    choose(browser, "#comparison", "=")
    one(browser, "#value").send_keys("x", Keys.ENTER)
    until(browser, lambda: "22P02" in one(browser, ".data .error").text)


def test_a_row_is_changed_added_and_deleted_by_keys_alone(served, browser):
    opened(browser, served, CREW)
    until(browser, lambda: len(cells(browser)) == 8)
    grid(browser).send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    until(browser, lambda: browser.switch_to.active_element == field(browser, "name"))
    assert one(browser, "dialog select[aria-label='name is']").get_property("value") == "null"
    press(browser, ODD)
    press(browser, Keys.CONTROL, Keys.ENTER)
    closed(browser)
    until(browser, lambda: one(browser, "#data").text == "The row is changed.")
    assert rows(browser, "SELECT name FROM crew WHERE id = 2") == [[ODD]] and cells(browser)[3] == ODD
    # An empty text is no NULL, and NULL no text.
    grid(browser).send_keys(Keys.ENTER)
    until(browser, lambda: browser.switch_to.active_element == field(browser, "name"))
    press(browser, Keys.CONTROL, "a")
    press(browser, Keys.DELETE, Keys.CONTROL, Keys.ENTER)
    closed(browser)
    assert rows(browser, "SELECT name FROM crew WHERE id = 2") == [[""]]
    # A new row, first one that a constraint refuses.
    grid(browser).send_keys(Keys.INSERT)
    until(browser, lambda: browser.switch_to.active_element == field(browser, "id"))
    press(browser, "4", Keys.TAB, Keys.TAB, "Cy", Keys.CONTROL, Keys.ENTER)
    until(browser, lambda: "23505" in one(browser, "dialog .error").text)
    field(browser, "id").send_keys("2")
    press(browser, Keys.CONTROL, Keys.ENTER)
    closed(browser)
    until(browser, lambda: cells(browser)[-2:] == ["42", "Cy"])
    assert rows(browser, "SELECT name FROM crew WHERE id = 42") == [["Cy"]]
    # It stands under the cursor, and goes.
    grid(browser).send_keys(Keys.DELETE)
    until(browser, lambda: "id = 42" in one(browser, "dialog p").text)
    press(browser, Keys.ENTER)
    closed(browser)
    assert rows(browser, "SELECT count(*) FROM crew") == [[4]]
    assert texts(browser, ".row.gone")[0].startswith("42")
    assert browser.execute_script("return window.hacked") is None


def test_what_somebody_else_has_written_is_told_and_stays(served, browser):
    opened(browser, served, "ALTER TABLE crew ADD COLUMN age int CHECK (age > 0)", "INSERT INTO crew VALUES (1, 'Ada', 36), (2, 'Bo', 20)")
    until(browser, lambda: len(cells(browser)) == 6)
    grid(browser).send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
    field(browser, "name").send_keys(" Lovelace")
    # (Another column of it: nobody is in nobody's way.)
    sql(browser, "UPDATE crew SET age = 37 WHERE id = 1")
    button(browser, "Save").click()
    closed(browser)
    until(browser, lambda: cells(browser)[:3] == ["1", "Ada Lovelace", "37"])
    grid(browser).send_keys(Keys.ENTER)
    field(browser, "name").send_keys(", Countess")
    sql(browser, "UPDATE crew SET name = 'Theirs', age = 38 WHERE id = 1")
    button(browser, "Save").click()
    until(browser, lambda: "somebody else has changed the row" in one(browser, "dialog .error").text)
    assert rows(browser, "SELECT name FROM crew WHERE id = 1") == [["Theirs"]]
    assert "somebody else has written: Theirs" in texts(browser, "dialog .field small")
    assert field(browser, "age").get_property("value") == "38" and field(browser, "name").get_property("value") == "Ada Lovelace, Countess"
    # What the table does not let be is told at its column; then it is written over that.
    age = field(browser, "age")
    age.clear()
    age.send_keys("-1")
    button(browser, "Save").click()
    until(browser, lambda: "23514" in one(browser, "dialog .error").text)
    age.clear()
    age.send_keys("39")
    button(browser, "Save").click()
    closed(browser)
    assert rows(browser, "SELECT name, age FROM crew WHERE id = 1") == [["Ada Lovelace, Countess", 39]]
    # A row that has changed is not deleted; one that is gone is told.
    sql(browser, "UPDATE crew SET age = 21 WHERE id = 2")
    grid(browser).send_keys(Keys.ARROW_DOWN, Keys.DELETE)
    button(browser, "Delete").click()
    until(browser, lambda: "it is not deleted" in one(browser, "dialog .error").text)
    button(browser, "Cancel").click()
    until(browser, lambda: cells(browser)[3:] == ["2", "Bo", "21"])
    sql(browser, "DELETE FROM crew WHERE id = 2")
    grid(browser).send_keys(Keys.ENTER)
    field(browser, "name").send_keys("x")
    button(browser, "Save").click()
    until(browser, lambda: "not there any more" in one(browser, "dialog .error").text)
    button(browser, "Cancel").click()
    until(browser, lambda: len(texts(browser, ".row.gone")) == 1)


KINDS = {
    "smallint": "3", "bigint": "9223372036854775807", "numeric(30,2)": "12345678901234567890.10", "real": "1.5", "double precision": "1e+300",
    "text": "it's \"q\"", "varchar(5)": "abc", "char(4)": "ab", "boolean": "true", "date": "2024-02-29", "time": "12:30:00.5",
    "timestamp": "2024-01-01 00:00:00", "timestamptz": "2024-01-01 00:00:00+00", "interval": "1 day 02:03:04", "bytea": "\\xdeadbeef",
    "uuid": "6f1c1f0e-7b3b-4d7e-9f5a-0b9c6d7e8f90", "json": '{"a":  1}', "jsonb": '{"a": 12345678901234567890.10}', "int[]": "{1,NULL,3}",
    "text[]": '{a,"b c",NULL}', "mood": "ok",
}


def test_values_of_every_type_are_written_by_their_text(served, browser):
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(KINDS))
    opened(browser, served, "CREATE TYPE mood AS ENUM ('sad', 'ok')", "DROP TABLE crew",
           f"CREATE TABLE kinds (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {columns}, twice int GENERATED ALWAYS AS (c0 * 2) STORED)")
    button(browser, "Add row").click()
    for at, text in enumerate(KINDS.values()):
        field(browser, f"c{at}").send_keys(text)
    assert not field(browser, "twice").is_enabled() and not field(browser, "id").is_enabled()
    button(browser, "Insert").click()
    closed(browser)
    until(browser, lambda: len(cells(browser)) > 5)
    names = ", ".join(f"c{at}::text" for at in range(len(KINDS)))
    assert rows(browser, f"SELECT {names}, twice FROM kinds") == [[*KINDS.values(), 6]]
    # As they are each is known again, and NULL is written in place of it.
    for kind in ["double precision", "json", "text[]", "bytea", "timestamptz"]:
        at = list(KINDS).index(kind)
        button(browser, "Change row").click()
        choose(browser, f"dialog select[aria-label='c{at} is']", "NULL")
        button(browser, "Save").click()
        closed(browser)
        assert rows(browser, f"SELECT c{at} FROM kinds") == [[None]]


def test_who_may_only_read_is_offered_no_more(tmp_path, browser):
    from conftest import CAIRN, console

    file = tmp_path / "shop.cairn"
    subprocess.run([CAIRN, file, "CREATE TABLE crew (id int PRIMARY KEY); INSERT INTO crew VALUES (7)"], check=True, capture_output=True)
    with console(file, "--read-only") as address:
        opened(browser, address)
        assert "read only" in one(browser, "#data").text and not button(browser, "Add row").is_enabled()
        grid(browser).send_keys(Keys.ENTER)
        assert until(browser, lambda: one(browser, "dialog pre").text) == "7"


def test_what_has_no_key_is_only_looked_at(served, browser):
    opened(browser, served, "DROP TABLE crew", "CREATE TABLE log (at int, what text)", "INSERT INTO log VALUES (1, 'a')")
    assert "without a primary key" in one(browser, "#data").text and not button(browser, "Change row").is_enabled()
