"""A real browser without a window, which can reach only this machine."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.middleware.service.serving import until

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_DRIVER = shutil.which("chromedriver")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1100,900",
)


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Chromium with its own profile; without Chromium the test is skipped."""
    if _CHROMIUM is None or _DRIVER is None:
        pytest.skip("chromium and chromedriver are not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = _CHROMIUM
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        # with both paths set, Selenium searches for neither
        service = webdriver.ChromeService(_DRIVER, env={"PATH": os.defpath, "HOME": profile})
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("no_proxy", "*")
            driver = webdriver.Chrome(options, service)
        try:
            yield driver
        finally:
            driver.quit()


def severe(driver: webdriver.Chrome) -> list[str]:
    """The console's complaints since it was last read."""
    log: Any = driver.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in log if entry["level"] == "SEVERE"]


class Reader:
    """A reader of the page."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def ask(self, question: str) -> None:
        self.driver.switch_to.active_element.send_keys(question, Keys.ENTER)

    def press(self, *pressed: str) -> None:
        for key in pressed:
            self.driver.switch_to.active_element.send_keys(key)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """The texts there, as a reader sees them."""
        return "\n".join(element.text for element in self.all(selector))

    def sees(self, selector: str, text: str = "") -> None:
        """Wait until this text is visible there."""
        self.until(lambda: self.all(selector) and text in self.text(selector))

    def answered(self, answers: int = 1) -> None:
        self.until(lambda: len(self.all(".answer")) == answers)

    def until(self, seen: Callable[[], Any]) -> Any:
        """Wait until this is true of the page; each look at it takes two processes some time."""
        return until(seen, pause=0.05)

    def does(self, script: str) -> Any:
        return self.driver.execute_script(f"return {script}")

    @property
    def focused(self) -> str:
        return self.driver.switch_to.active_element.text

    def narrow(self) -> None:
        size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def is_too_wide(self) -> bool:
        wide: bool = self.does("document.documentElement.scrollWidth > window.innerWidth")
        return wide
