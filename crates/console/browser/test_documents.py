"""Collections: documents as a list, a form and as JSON; their history and rules; what happens to them; channels."""

from page import ODD, accessible, button, choose, look, one, rows, sql, texts, until
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def put(browser, path, body):
    script = """import("/console/page/ask.js").then((page) => page.send("PUT", "/db/shop/collections/" + arguments[0], arguments[1]))
        .then(() => arguments[2](null), (refused) => arguments[2](refused.message))"""
    assert browser.execute_async_script(script, path, body) is None


def opened(browser, served, **docs):
    browser.get(served)
    one(browser, "#sql")
    put(browser, "notes", "{}")
    for id, doc in docs.items():
        put(browser, f"notes/documents/{id}", doc)
    look(browser, "documents")
    until(browser, lambda: f"{len(docs)} documents" == one(browser, "#found").text)


def ids(browser):
    return texts(browser, ".documents tbody button")


def member(browser, name):
    return until(browser, lambda: browser.find_elements(By.XPATH, f"//*[@class='document']//label[text()='{name}']/following-sibling::textarea"))[0]


def doc(browser, id):
    return rows(browser, f"SELECT doc::text FROM notes WHERE id = '{id}'")


def test_documents_are_found_and_changed_as_a_form_and_as_json(served, browser):
    opened(browser, served, a='{"title": "Tides", "n": 12345678901234567890.10, "at": {"deep": true, "who": "Ada"}, "tags": ["x"]}', b='{"title": "b", "n": 2}')
    assert ids(browser) == ["a", "b"]
    one(browser, "#sort").send_keys("-title")
    one(browser, "#wanted").send_keys('{"n": 12345678901234567890.1}', Keys.ENTER)
    until(browser, lambda: ids(browser) == ["a"])
    button(browser, "a").send_keys(Keys.ENTER)
    until(browser, lambda: browser.switch_to.active_element.get_attribute("id").startswith("member"))
    assert member(browser, "n").get_property("value") == "12345678901234567890.10"
    member(browser, "who").send_keys(" L.")
    choose(browser, "select[aria-label='deep is']", "null")
    tags = member(browser, "tags")
    tags.clear()
    tags.send_keys('["x", "\\"y"]')
    one(browser, "input[aria-label='Name of a new member']").send_keys("__proto__")
    browser.find_elements(By.XPATH, "//button[text()='Add']")[-1].click()
    member(browser, "__proto__").send_keys(ODD.replace("\n", " "))
    tags.send_keys(Keys.CONTROL, Keys.ENTER)
    until(browser, lambda: "Saved" in one(browser, ".document [role=status]").text)
    (text,), = doc(browser, "a")
    for part in ['"n": 12345678901234567890.10', '"deep": null', '"who": "Ada L."', '"tags": ["x", "\\"y"]', '"__proto__": "<img']:
        assert part in text
    button(browser, "JSON").click()
    json = one(browser, "textarea.json")
    assert '"n": 12345678901234567890.10' in json.get_property("value")
    json.clear()
    json.send_keys("{")
    button(browser, "Save").click()
    until(browser, lambda: "JSON" in one(browser, ".document .error").text)
    json.send_keys('"n": 1e400}')
    button(browser, "Save").click()
    until(browser, lambda: len(doc(browser, "a")[0][0]) > 400)
    assert browser.execute_script("return window.hacked") is None
    # A new one, under an id that is taken first.
    button(browser, "New document").click()
    one(browser, "#id").send_keys("b")
    button(browser, "Save").click()
    until(browser, lambda: "somebody else has changed" in one(browser, ".document .error").text)
    assert '"title": "b"' in doc(browser, "b")[0][0]
    accessible(browser)


def test_a_document_that_somebody_else_has_changed_is_told_and_not_written_over(served, browser):
    opened(browser, served, a='{"n": 1}')
    button(browser, "a").click()
    number = member(browser, "n")
    number.clear()
    number.send_keys("2")
    sql(browser, """UPDATE notes SET doc = '{"n": 7}' WHERE id = 'a'""")
    button(browser, "Save").click()
    until(browser, lambda: "nothing was written" in one(browser, ".document .error").text)
    assert doc(browser, "a") == [['{"n": 7}']] and '"n": 7' in one(browser, ".theirs").text
    button(browser, "Save").click()
    until(browser, lambda: doc(browser, "a") == [['{"n": 2}']])
    sql(browser, """UPDATE notes SET doc = '{"n": 8}' WHERE id = 'a'""")
    until(browser, lambda: "Saved" in one(browser, ".document [role=status]").text)
    browser.find_element(By.XPATH, "//*[@class='document']//button[text()='Delete']").click()
    one(browser, "dialog button.main").click()
    until(browser, lambda: "it is not deleted" in one(browser, ".document .error").text)
    sql(browser, "DELETE FROM notes")
    button(browser, "Save").click()
    until(browser, lambda: "has deleted the document" in one(browser, ".document .error").text)
    button(browser, "Save").click()
    until(browser, lambda: doc(browser, "a") == [['{"n": 2}']])
    # All that became of it is in the feed.
    button(browser, "History").click()
    until(browser, lambda: "changes" in texts(browser, ".document section p, .document p[role=status]")[-1])
    told = texts(browser, ".history summary, .history > li:not(:has(details))")
    assert len(told) == 6 and told[0].startswith("insert") and told[1] == "deleted" and told[-1].startswith("insert")
    browser.find_elements(By.CSS_SELECTOR, ".history summary")[-1].click()
    one(browser, ".history li:last-child button").click()
    assert member(browser, "n").get_property("value") == "1"


def test_rules_are_shown_and_set(served, browser):
    opened(browser, served)
    button(browser, "Rules").click()
    until(browser, lambda: browser.switch_to.active_element.get_attribute("id") == "rule-list")
    one(browser, "#rule-view").send_keys("doc -> 'owner' = claims -> 'sub'")
    one(browser, "#rule-list").send_keys("wrong")
    button(browser, "Set rules").click()
    until(browser, lambda: "42703" in one(browser, ".rules .error").text)
    one(browser, "#rule-list").clear()
    button(browser, "Set rules").click()
    until(browser, lambda: "The rules are set." in one(browser, ".rules [role=status]").text)
    button(browser, "Rules").click()
    button(browser, "Rules").click()
    until(browser, lambda: "'sub'" in one(browser, "#rule-view").get_property("value"))
    assert one(browser, "#rule-delete").get_property("value") == ""
    accessible(browser)


def test_changes_and_notifications_are_told_as_they_come(served, browser):
    opened(browser, served, a='{"n": 1}')
    look(browser, "events")
    one(browser, "#followed-filter").send_keys('{"n": 12345678901234567890}')
    until(browser, lambda: texts(browser, "#followed option") == ["notes"])
    one(browser, "#follow").click()
    until(browser, lambda: one(browser, "#follow-said").text == "Listening.")
    one(browser, "#channel").send_keys("it's \"news\"", Keys.ENTER)
    until(browser, lambda: one(browser, "#listen-said").text == "Listening.")
    one(browser, "#payload").send_keys("<b>hello", Keys.ENTER)
    until(browser, lambda: "it's \"news\"<b>hello" in texts(browser, "[aria-label=Channels] tbody")[0])

    def told():
        # (Nobody says when a feed is listened to.)
        put(browser, "notes/documents/b", '{"n": 12345678901234567890}')
        return "insertb" in texts(browser, "[aria-label='Change feed'] tbody")[0] or "updateb" in texts(browser, "[aria-label='Change feed'] tbody")[0]

    until(browser, told)
    assert '{"n":12345678901234567890}' in texts(browser, "[aria-label='Change feed'] tbody")[0]
    put(browser, "notes/documents/a", '{"n": 5}')
    sql(browser, "DELETE FROM notes")
    until(browser, lambda: "deleteb" in texts(browser, "[aria-label='Change feed'] tbody")[0])
    assert "updatea" not in texts(browser, "[aria-label='Change feed'] tbody")[0]
    accessible(browser)
    look(browser, "query")
    look(browser, "events")
    assert "nobody looked" in one(browser, "#follow-said").text and "nobody looked" in one(browser, "#listen-said").text
