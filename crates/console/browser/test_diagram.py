"""Constraints as a drawing."""

from page import ODD, accessible, button, choose, look, one, sql, texts, until
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def boxes(browser):
    script = """return [...document.querySelectorAll(".box")].map((box) => {
        const { x, y, width, height } = box.getBBox(), { e, f } = box.transform.baseVal[0].matrix;
        return [box.querySelector("text").firstChild.data, e + x, f + y, width, height]; })"""
    return {name: place for name, *place in browser.execute_script(script)}


def overlap(boxes):
    all = list(boxes.items())
    return [(a, b) for at, (a, (ax, ay, aw, ah)) in enumerate(all) for b, (bx, by, bw, bh) in all[at + 1:]
            if ax < bx + bw and bx < ax + aw and ay < by + bh and by < ay + ah]


def test_thirty_tables_are_drawn_with_what_they_refer_to(served, browser):
    browser.get(served)
    one(browser, "#sql")
    odd = ODD.replace('"', '""')[:40]
    sql(browser, f'CREATE TABLE "{odd}" (a int)')
    sql(browser, "ALTER TABLE crew ADD COLUMN boss int REFERENCES crew")
    sql(browser, """DO $$ BEGIN FOR i IN 1..28 LOOP
        EXECUTE 'CREATE TABLE t' || i || ' (id int PRIMARY KEY, a text, up int REFERENCES ' || CASE i WHEN 1 THEN 'crew' ELSE 't' || i / 3 + 1 END || ')'; END LOOP; END $$"""
        .replace("i / 3 + 1", "greatest(1, i / 3)"))
    look(browser, "diagram")
    until(browser, lambda: one(browser, "#drawn").text == "30 of 30 tables, 29 foreign keys")
    drawn = boxes(browser)
    assert len(drawn) == 30 and overlap(drawn) == []
    assert len(browser.find_elements(By.CSS_SELECTOR, ".edge")) == 29
    # What refers stands to the right of what it refers to.
    assert drawn["crew"][0] < drawn["t1"][0] < drawn["t4"][0] < drawn["t13"][0]
    assert any(text.startswith("\u2192 up integer") for text in texts(browser, ".box text"))
    assert browser.execute_script("return window.hacked") is None
    accessible(browser)
    # One more: then it is what stands around one of them, chosen by keys.
    sql(browser, "CREATE TABLE alone (id int)")
    button(browser, "Look again").click()
    until(browser, lambda: "of 31 tables" in one(browser, "#drawn").text)
    choose(browser, "#center", "t4")
    until(browser, lambda: set(boxes(browser)) == {"t1", "t4", "t12", "t13", "t14"})
    box = browser.find_element(By.CSS_SELECTOR, ".box[aria-label^='t1,']")
    browser.execute_script("arguments[0].focus()", box)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(browser, lambda: set(boxes(browser)) == {"crew", "t1", "t2", "t3", "t4", "t5"})
    button(browser, "Open as a grid").click()
    until(browser, lambda: one(browser, ".data [role=grid]").get_attribute("aria-label") == 'Rows of "public"."t1"')
    look(browser, "diagram")
    choose(browser, "#steps", "2 steps")
    until(browser, lambda: "t12" in boxes(browser))
    until(browser, lambda: overlap(boxes(browser)) == [])
