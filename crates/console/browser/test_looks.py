"""Each panel as it looks, beside a picture that is kept. CAIRN_BLESS=1 keeps what is seen as the picture.

Pictures are compared by the means of small squares: how letters are smoothed is not told apart, what stands where is.
"""

import base64
import os
import pathlib

import pytest
from page import button, cells, choose, look, one, run, sql, texts, until
from selenium.webdriver.common.by import By

KEPT = pathlib.Path(__file__).parent / "looks"
DOCS = pathlib.Path(__file__).parents[3] / "docs"
WIDTH, HEIGHT, OF_QUERY = 900, 560, 1000
# Of squares whose means differ by so much of 255 there may be this share.
SQUARE, DIFFERS, SHARE = 6, 24, 0.01

COMPARE = """
const [square, differs, done] = [arguments[2], arguments[3], arguments[4]];
const pixels = async (text) => {
    const image = new Image();
    image.src = "data:image/png;base64," + text;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
};
Promise.all([pixels(arguments[0]), pixels(arguments[1])]).then(([a, b]) => {
    if (a.width !== b.width || a.height !== b.height) return done(1);
    let wrong = 0, all = 0;
    for (let y = 0; y + square <= a.height; y += square) for (let x = 0; x + square <= a.width; x += square) {
        const sums = [0, 0, 0];
        for (let dy = 0; dy < square; dy++) for (let dx = 0; dx < square; dx++) for (let c = 0; c < 3; c++) {
            const at = ((y + dy) * a.width + x + dx) * 4 + c;
            sums[c] += a.data[at] - b.data[at];
        }
        all++;
        if (sums.some((sum) => Math.abs(sum) / square ** 2 > differs)) wrong++;
    }
    done(wrong / all);
}, () => done(1));"""

# What is another each time is not seen.
MASKED = ".told, time, output, .plot svg, [aria-label=Activity] td, [aria-label=Databases] td, [aria-label=Audit] td"


# Of letters that are the same on every machine which has these (Debian: fonts-dejavu-core).
LETTERS = """for (const node of document.querySelectorAll("body, body *"))
    node.style.fontFamily = /mono/i.test(getComputedStyle(node).fontFamily) ? "DejaVu Sans Mono" : "DejaVu Sans";"""


def seen(browser):
    """A picture of the page once nothing moves."""
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0);" + LETTERS)
    until(browser, lambda: browser.execute_script("return document.getAnimations().length === 0"))
    browser.execute_script("document.querySelectorAll(arguments[0]).forEach((node) => (node.style.visibility = 'hidden'))", MASKED)
    return browser.get_screenshot_as_base64()


def share(browser, a, b):
    """How much of two pictures differs: asked of a page of its own, whose images may be of anywhere."""
    return browser.execute_async_script(COMPARE, a, b, SQUARE, DIFFERS)


def filled(browser, served):
    browser.get(served)
    one(browser, "#sql")
    for statement in [
        "ALTER TABLE crew ADD COLUMN born date, ADD COLUMN mass numeric(5, 1) CHECK (mass > 0)",
        "INSERT INTO crew VALUES (1, 'Ada', '1815-12-10', 61.5), (2, 'Bo', '1907-06-25', 70), (3, NULL, NULL, 48.3), (4, 'Dag', '1905-07-29', 82)",
        "CREATE TABLE ships (name text PRIMARY KEY, captain int REFERENCES crew, built int NOT NULL)",
        "CREATE TABLE voyages (ship text REFERENCES ships, began date, PRIMARY KEY (ship, began))",
        "INSERT INTO ships VALUES ('Fram', 4, 1892), ('Vega', 2, 1872)",
        "CREATE INDEX ships_built ON ships (built)",
    ]:
        sql(browser, statement)
    script = """import("/console/page/ask.js").then(async ({ ask }) => {
        const notes = "/db/shop/collections/notes";
        await ask("PUT", notes, {});
        for (const [at, title] of ["Tides", "Stars", "Ice"].entries()) {
            await ask("PUT", notes + "/documents/n" + at, { title, open: at > 0, by: { name: "Ada", tags: ["sea"] } });
        }
    }).then(arguments[0])"""
    browser.execute_async_script(script)


def query(browser):
    run(browser, "SELECT name, mass FROM crew WHERE mass > 50 ORDER BY id;\nEXPLAIN (FORMAT JSON) SELECT name FROM ships WHERE built = 1892")
    button(browser, "Chart").click()
    one(browser, ".chart svg")


def schema(browser):
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".item")) >= 4)
    browser.execute_script("[...document.querySelectorAll('.item')].find((item) => item.dataset.name.endsWith('ships')).open = true")
    until(browser, lambda: len(texts(browser, ".inside table")) == 3)


def diagram(browser):
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".edge")) == 2)


def data(browser):
    until(browser, lambda: "crew" in " ".join(texts(browser, "#table option")))
    choose(browser, "#table", "crew")
    until(browser, lambda: "1905-07-29" in cells(browser))


def documents(browser):
    button(browser, "n1").click()
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".member")) == 5)


def live(browser):
    one(browser, "#watched").send_keys("SELECT id, name FROM crew")
    one(browser, "#watch").click()
    until(browser, lambda: len(texts(browser, ".live td")) == 8)


def events(browser):
    one(browser, "#channel").send_keys("news")
    one(browser, "#listen").click()
    until(browser, lambda: one(browser, "#listen-said").text == "Listening.")


def metrics(browser):
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".plot")) == 20)


def databases(browser):
    until(browser, lambda: texts(browser, "td"))


def tokens(browser):
    one(browser, "[aria-label=Tokens] p")


def audit(browser):
    until(browser, lambda: texts(browser, "[aria-label='What happened'] td"))


PANELS = [query, schema, diagram, data, documents, live, events, metrics, databases, tokens, audit]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_panels_look_as_they_did(served, browser, scheme):
    bless = os.environ.get("CAIRN_BLESS") == "1"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    filled(browser, served)
    pictures = {}
    for panel in PANELS:
        height = OF_QUERY if panel is query else HEIGHT
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False})
        look(browser, panel.__name__)
        panel(browser)
        pictures[panel.__name__] = seen(browser)
    browser.get("about:blank")
    differ = {}
    for name, picture in pictures.items():
        # (The one that the documents show is kept there.)
        kept = DOCS / "console.png" if (name, scheme) == ("query", "light") else KEPT / f"{name}-{scheme}.png"
        if bless:
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(base64.b64decode(picture))
        different = share(browser, picture, base64.b64encode(kept.read_bytes()).decode())
        if different > SHARE:
            differ[name] = f"{different:.1%}"
            if folder := os.environ.get("CAIRN_SCREENSHOTS"):
                pathlib.Path(folder, kept.name).write_bytes(base64.b64decode(picture))
    assert differ == {}, "run it with CAIRN_BLESS=1 where that is right; CAIRN_SCREENSHOTS=FOLDER has what is seen"
    # A picture that lacks something differs.
    lacks = share(browser, pictures["data"], pictures["tokens"])
    assert lacks > SHARE
    assert sum(file.stat().st_size for file in KEPT.iterdir()) < 1_000_000
