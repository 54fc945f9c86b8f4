"""The report in a real browser: filters, keyboard, hostile documents, no network."""

import functools
import http.server
import threading
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from conflictscore.benchmarks.harness.report.page.render import write_report
from tests.benchmarks.harness.report.lamps import choice, free, run
from tests.benchmarks.harness.report.test_page import hostile_run
from tests.browser import Reader, severe


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: a correction, a refused harm and a kept conflict; and a free-form neutral flip."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    chosen = [
        choice("tower", 1, 0, category="Towers"),
        choice("pier", 0, 1, refused=True, category="Piers"),
        choice("reef", 0, 0, category="Reefs"),
    ]
    told = [free("buoy", ("It was 1871.", False), ("It was 1869.", False), category="Piers")]
    write_report([run("choices", chosen), run("free", told)], out)
    return out


def lamps(reader: Reader) -> list[str]:
    """The visible questions."""
    cards = [card for card in reader.all(".card") if card.is_displayed()]
    titles = [card.find_element(By.TAG_NAME, "h4").text for card in cards]
    return [title.removeprefix("When was the lamp of ").removesuffix(" lit?") for title in titles]


def tick(reader: Reader, *kinds: str) -> None:
    for kind in kinds:
        reader.all(f'input[value="{kind}"]')[0].send_keys(Keys.SPACE)


def pick(reader: Reader, name: str, option: str) -> None:
    """Choose an option by keyboard."""
    reader.all(f'select[name="{name}"]')[0].send_keys(option)


def seek(reader: Reader, words: str) -> None:
    field = reader.all("input[type=search]")[0]
    field.clear()
    field.send_keys(words)


def unfold(reader: Reader) -> None:
    """Open everything visible that is folded."""
    for element in reader.all("details:not([open]) > summary"):
        if element.is_displayed():
            element.send_keys(Keys.ENTER)


def test_flips_are_filtered_by_kind_guard_run_category_and_words(
    reader: Reader, report: Path
) -> None:
    reader.open(report.as_uri())
    assert (lamps(reader), reader.text("#count")) == (
        ["tower", "pier", "buoy"],
        "3 of 3 flips shown",
    )
    pick(reader, "guard", "refused")
    assert lamps(reader) == ["pier"]
    pick(reader, "guard", Keys.HOME)
    pick(reader, "category", "Piers")
    assert lamps(reader) == ["pier", "buoy"]
    pick(reader, "run", "free")
    assert lamps(reader) == ["buoy"]
    reader.all("button[type=reset]")[0].send_keys(Keys.ENTER)
    reader.until(lambda: lamps(reader) == ["tower", "pier", "buoy"])
    seek(reader, "LOG  tower")
    reader.until(lambda: lamps(reader) == ["tower"])
    seek(reader, "an anchor")
    reader.until(lambda: reader.text("#count") == "0 of 3 flips shown")
    reader.press(Keys.ENTER)  # this must not submit anything
    assert reader.does("location.pathname").endswith("/report.html")
    seek(reader, "1869")
    reader.until(lambda: lamps(reader) == ["buoy"])
    tick(reader, "correction", "harm", "neutral", "kept")
    seek(reader, "reef")
    reader.until(lambda: lamps(reader) == ["reef"])
    assert reader.text("#count") == "0 of 3 flips shown, and 1 of 1 kept"
    assert severe(reader.driver) == []


def test_hostile_texts_neither_run_nor_break_the_layout(reader: Reader, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    write_report([hostile_run(), run("other", [choice("a", 1, 0)])], out)
    reader.narrow()
    reader.open(out.as_uri())
    unfold(reader)
    assert not reader.all("img:not(#pictures img), main script, [onerror], [onmouseover]")
    assert not reader.is_too_wide()
    # its run and category can be chosen, whatever their names
    run_name = reader.all("select[name=run] option")[1].get_attribute("value")
    reader.driver.execute_script(
        "const s = document.querySelector('select[name=run]'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change', {bubbles: true}))",
        run_name,
    )
    assert len(lamps(reader)) == 2
    assert severe(reader.driver) == []
    reader.driver.execute_script(  # injected code is stopped by the policy
        "try { const script = document.createElement('script');"
        "script.text = 'window.__pwned = true'; document.body.append(script) } catch {}"
        "try { document.body.insertAdjacentHTML('beforeend',"
        " '<img src=x onerror=\"window.__pwned = true\">') } catch {}"
    )
    assert reader.does("window.__pwned") is None
    assert not reader.all("img:not(#pictures img)")


def test_the_page_asks_for_nothing_but_itself_and_is_read_without_javascript(
    reader: Reader, report: Path
) -> None:
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *_: Any) -> None:
            asked.append(self.path)

    serve = functools.partial(Handler, directory=str(report.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        reader.open(f"http://127.0.0.1:{server.server_port}/report.html")
        unfold(reader)
        server.shutdown()
    assert asked == ["/report.html"]
    assert reader.does("performance.getEntriesByType('resource').length") == 0
    assert severe(reader.driver) == []

    reader.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    reader.open(report.as_uri())
    reader.until(lambda: lamps(reader))  # without scripts, nothing says that the page is painted
    assert lamps(reader) == ["tower", "pier", "buoy"]
    assert not reader.all("#filters")[0].is_displayed()
    assert reader.text("#count") == "3 flips; 1 conflict whose answer was kept."
    reader.all("#kept > summary")[0].send_keys(Keys.ENTER)
    assert lamps(reader) == ["tower", "pier", "buoy", "reef"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_window_shows_all_in_colours_that_can_be_told_apart(
    reader: Reader, report: Path, scheme: str
) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    reader.narrow()
    reader.open(report.as_uri())
    tick(reader, "kept")
    unfold(reader)
    assert not reader.is_too_wide()
    faint = reader.driver.execute_script(_CONTRAST)
    assert faint == []


def test_no_number_is_broken_into_two_lines_in_a_narrow_window(
    reader: Reader, report: Path
) -> None:
    reader.narrow()
    reader.open(report.as_uri())
    unfold(reader)
    assert reader.all("td.short")
    assert reader.driver.execute_script(_BROKEN_CELLS) == []


_BROKEN_CELLS = """
  return [...document.querySelectorAll('td.short')].filter((cell) => {
    if (!/^[^\\s-]{1,16}$/.test(cell.textContent.trim())) return false;
    const range = document.createRange();
    range.selectNodeContents(cell);
    const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
    return new Set(tops).size > 1;
  }).map((cell) => cell.textContent);
"""


_CONTRAST = """
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).map(Number).slice(0, 3).map((value) => value / 255);
    const [r, g, b] = parts.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!colour.endsWith(', 0)')) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const told = [...document.querySelectorAll('body *')].filter((element) =>
    element.checkVisibility() && !element.closest('svg, option') &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return told.filter((element) => {
    const pair = [light(getComputedStyle(element).color), light(ground(element))];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5;
  }).map((element) => `${element.className}: ${element.textContent.slice(0, 40)}`);
"""
