"""The runs page in a real browser, in front of the real service."""

from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from conflictscore.reviewing import add_runs_page
from tests.browser import Reader, browser, severe
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import QUESTION, serving, until
from tests.world import World

KEY = "a-key-of-this-deployment-0123456789"
HOSTILE = '<img src=x onerror="window.__pwned = true"><script>window.__pwned = true</script>'


def test_a_flip_is_found_reviewed_by_two_counted_and_exported(tmp_path: Path) -> None:
    world = World(reason=f"The log was written on the night (Doc 2). {HOSTILE}")
    settings = {"keys": (KEY,), "runs_file": tmp_path / "runs.sqlite"}
    with (
        browser() as driver,
        OpenAIServer(world) as upstream,
        serving(upstream, settings=settings) as served,
    ):
        add_runs_page(served.app)
        served.ask(QUESTION)
        served.ask(f"When? {HOSTILE}")
        world.regenerated = world.answer
        served.ask("Sure?")
        reader = Reader(driver)
        where = {"behavior": "allow", "downloadPath": str(tmp_path)}
        driver.execute_cdp_cmd("Page.setDownloadBehavior", where)

        def shows(selector: str, text: str) -> None:
            # in one script, since the page may replace an element between two calls
            inside = f"[...document.querySelectorAll({selector!r})].map((e) => e.innerText).join()"
            reader.until(lambda: text in reader.does(inside))

        def choose(name: str, option: str) -> None:
            select = driver.find_element(By.NAME, name)
            select.find_element(By.XPATH, f"option[. = '{option}']").click()

        def review(verdict: str, who: str) -> None:
            shows(".review", "Was the change right?")
            reader.all(f".review [value='{verdict}']")[0].click()
            reader.all(".review [name=decided_by][value='2']")[0].click()
            reader.all(".review textarea")[0].send_keys(f"The log was there. {HOSTILE}")
            reader.all(".review [name=reviewer]")[0].clear()
            reader.all(".review [name=reviewer]")[0].send_keys(who, Keys.ENTER)

        reader.open(f"{served.address}/runs")
        shows("#door[open]", "This service asks for a key")
        reader.press(KEY, Keys.ENTER)
        shows("#count", "3 runs")
        severe(driver)  # the browser reports that the key was missing
        choose("changed", "changed")
        shows("#count", "2 matching runs")
        reader.all(".run a")[0].click()
        review("better", "Ann")
        shows("#one .question", QUESTION)  # the next run that she has not reviewed
        review("worse", "Ann")
        shows("#totals summary", "2 of 2 changed answers")
        reader.all(".run a")[1].click()
        shows(".judging", "You have reviewed this run")
        review("worse", HOSTILE)
        shows("#one .question", "When? <img")
        assert reader.text(".judging li") == ""
        reader.all(".judging summary")[0].click()
        assert "Ann: Right: the new answer is better. The log was there." in reader.text(".judging")

        reader.all("#one > p > a")[0].click()
        shows("#list", "When?")
        reader.all("#totals summary")[0].click()
        shows("#totals", "1 better, 2 worse")
        choose("review", "open")
        shows("#count", "No run matches.")
        choose("review", "any")
        shows("#count", "2 matching runs")
        choose("to", "CSV")
        reader.all("#export button")[0].click()
        saved = until(lambda: list(tmp_path.glob("runs.csv")))
        assert "The log was there." in saved[0].read_text()

        reader.narrow()
        assert not reader.is_too_wide()
        assert not reader.all("main img, main script, main [onerror]")
        assert reader.does("window.__pwned") is None
        assert severe(driver) == []


def test_reviews_that_fill_several_pages_are_all_shown() -> None:
    with (
        browser() as driver,
        OpenAIServer(World()) as upstream,
        serving(upstream) as served,
    ):
        add_runs_page(served.app)
        run_id = served.ask(QUESTION).headers["x-conflictscore-run-id"]
        for number in range(21):  # one more than a page of the API
            review = {"reviewer": f"reviewer {number}", "verdict": "better"}
            assert served.http.post(f"/v1/runs/{run_id}/reviews", json=review).status_code == 201
        reader = Reader(driver)
        reader.open(f"{served.address}/runs#run={run_id}")
        reader.until(
            lambda: "Other reviewers: 21 reviews" in reader.does("document.body.innerText")
        )
