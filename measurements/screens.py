"""Pictures of the service's pages, taken by Chromium from the real demo.

    python -m measurements.screens --out docs/images

serves the example documents with the local model, asks the demo's question on the chat page, opens
its run on the runs page, and takes a picture of each. With ``--all`` it takes every page at 390 and
1280 pixels, light and dark. Needs chromium and chromedriver.
"""

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

__all__ = ["main"]

ROOT = Path(__file__).parents[1]
QUESTION = "In which year did the Vennick Point lighthouse first light its lamp?"
WIDTHS = {390: 844, 1280: 800}
_STARTS_WITHIN_S = 60.0


@contextmanager
def served(model: str, runs: Path) -> Iterator[str]:
    """The demo's service; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = ["--docs", "examples/lighthouse", "--model", model, "--port", str(port)]
    options += ["--runs-file", str(runs), "--example", QUESTION, "--timeout", "3000"]
    command = [sys.executable, "-m", "conflictscore", "serve", *options]
    address, ends = f"http://127.0.0.1:{port}", time.monotonic() + _STARTS_WITHIN_S
    with subprocess.Popen(command, cwd=ROOT) as service:  # noqa: S603 - our own
        try:
            while True:
                try:
                    urlopen(f"{address}/healthz").close()  # noqa: S310 - our own
                    break
                except URLError:
                    if time.monotonic() > ends:
                        raise
                    time.sleep(0.2)
            yield address
        finally:
            service.terminate()


def driver_in(profile: str) -> webdriver.Chrome:
    """Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or sys.exit("chromium is not installed")
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--window-size=1000,900",
    ):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def picture(page: webdriver.Chrome, out: Path, width: int, height: int, scheme: str) -> None:
    """Save what is seen of a page."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    page.save_screenshot(str(out))
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--model", default="local")
    parser.add_argument("--all", action="store_true", help="every page, width and scheme")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        served(given.model, Path(folder) / "runs.sqlite") as address,
    ):
        page = driver_in(folder)
        try:
            _take(page, address, given.out, every=given.all)
        finally:
            page.quit()


def _take(page: webdriver.Chrome, address: str, out: Path, *, every: bool) -> None:
    def wait(selector: str, seconds: float = 30.0) -> None:
        WebDriverWait(page, seconds).until(
            lambda found: found.find_elements(By.CSS_SELECTOR, selector)
        )

    def take(name: str) -> None:
        for width, height in WIDTHS.items() if every else ():
            for scheme in ("light", "dark"):
                picture(page, out / f"{name}-{width}-{scheme}.png", width, height, scheme)

    page.get(address)
    wait(".example")
    take("welcome")
    page.find_element(By.CLASS_NAME, "example").click()
    wait(".answer", 3000)
    page.execute_script("document.querySelector('.claim').open = true; scrollTo(0, 0)")
    take("answer")
    if not every:
        picture(page, out / "chat.png", 900, 860, "light")
    page.get(f"{address}/runs")
    wait(".run a")
    take("list")
    page.find_element(By.CSS_SELECTOR, ".run a").click()
    wait(".review")
    take("run")
    if not every:
        for given in (
            "[value=wrong]",
            "[name=decided_by][value='1']",
            "[name=decided_by][value='5']",
        ):
            page.find_element(By.CSS_SELECTOR, f".review {given}").click()
        why = "The keeper wrote it down on the night, and the engineer says why the stone has 1871."
        page.find_element(By.CSS_SELECTOR, ".review textarea").send_keys(why)
        page.find_element(By.CSS_SELECTOR, ".review [name=reviewer]").send_keys("Ann")
        page.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
        picture(page, out / "runs.png", 900, 1300, "light")


if __name__ == "__main__":
    main()
