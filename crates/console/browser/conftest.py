"""A console, and a browser that looks at it."""

import contextlib
import os
import signal
import subprocess

import pytest
from selenium import webdriver

CAIRN = os.environ["CAIRN"]


@contextlib.contextmanager
def console(*arguments):
    """The address of a console."""
    child = subprocess.Popen([CAIRN, "console", *arguments], stdout=subprocess.PIPE, text=True)
    yield child.stdout.readline().strip()
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 0


@pytest.fixture
def served(tmp_path):
    file = tmp_path / "shop.cairn"
    subprocess.run([CAIRN, file, "CREATE TABLE crew (id int PRIMARY KEY, name text)"], check=True, capture_output=True)
    with console(file) as address:
        yield address


@pytest.fixture(scope="session")
def driver():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,800"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver):
    """One for all tests: each has a server at a port of its own, whose cookie and storage no other has."""
    yield driver
    # (What is refused is said by its status, and a server that is gone.)
    log = [line["message"] for line in driver.get_log("browser")]
    said = [line for line in log if "status of 4" not in line and "ERR_CONNECTION_REFUSED" not in line]
    driver.get("about:blank")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    assert said == []
