"""The chat page in a real browser, in front of the real service with a scripted upstream."""

import json
import re
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import Reader, severe
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.middleware.service.serving import QUESTION, Served, serving, until
from tests.world import DISAGREEING, World

KEY = "a-key-of-this-deployment-0123456789"
PWN = "window.__pwned = true"
HOSTILE = (
    f'<img src=x onerror="{PWN}"></script><script>{PWN}</script> \u202eright to left\u202c'
    " \u0645\u0631\u062d\u0628\u0627 " + "endless" * 400
)


@dataclass
class Waiting(World):
    """A world that holds one verdict back until it is released."""

    free: threading.Event = field(default_factory=threading.Event)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        if "The tower is white." in request.prompt and '"document_snippet"' in request.prompt:
            self.free.wait(30)
        return super().__call__(request)


def answer(reader: Reader, served: Served) -> None:
    """Open the page, and ask the question there."""
    reader.open(served.address)
    reader.ask(QUESTION)
    reader.answered()


def test_a_changed_answer_is_asked_for_and_read_by_keyboard(reader: Reader, served: Served) -> None:
    answer(reader, served)
    reader.press(Keys.TAB, Keys.TAB)  # past the button to the link under the field
    assert reader.focused == "Go to the latest answer"
    reader.press(Keys.ENTER)
    assert reader.focused == QUESTION
    reader.press(Keys.TAB, Keys.TAB, Keys.TAB)  # past editing and the document the reason cites
    assert reader.focused == "It was lit in 1874.\nSources disagree\n1 for, 1 against"
    assert not reader.all("details.claim[open]")
    reader.press(Keys.ENTER)

    opened = "details.claim[open]"
    assert "The log says the lamp was lit in 1874." in reader.text(f"{opened} .supports mark")
    assert "The lamp was lit in 1871." in reader.text(f"{opened} .contradicts mark")
    assert "The years were compared." in reader.text(f"{opened} .supports")
    assert "document 3" in reader.text(f"{opened} .others")
    reader.press(Keys.TAB)
    assert reader.focused == "Log"
    assert reader.does("document.activeElement.href") == "https://log.test/b"
    assert reader.does("document.activeElement.rel") == "noopener noreferrer nofollow"
    assert severe(reader.driver) == []
    assert reader.text(".change .before del") == "1871."
    assert reader.text(".change .after ins") == "1874."
    assert reader.text(".change .after .text") == "It was lit in 1874."
    assert "The log was written on the night (Doc 2)." in reader.text(".change .reason")
    assert "For it: document 1. Against it: document 2." in reader.text(".change .reason")
    assert "the answer was changed" in reader.text(".outcome")
    assert reader.text(".scores .value").startswith("1.00\nthen 1.00\n0.50\nthen 0.50")
    reader.all(".earlier > summary")[0].send_keys(Keys.ENTER)
    assert "It was lit in 1871." in reader.text(".earlier .claims")


def test_the_steps_are_seen_while_they_are_taken(reader: Reader) -> None:
    world = Waiting()
    with serving(world) as served:
        reader.open(served.address)
        reader.ask(QUESTION)
        reader.sees(".bar", "2 of 3 verdicts")
        assert reader.does("document.querySelector('progress').value") == 2
        assert reader.text(".steps").splitlines() == [
            "Looking for documents",
            "Found 3 documents; answering",
            "Answered; splitting the answer into claims",
            "1 claim; checking each claim against every document",
        ]
        assert reader.text(".draft .text") == "It was lit in 1871."
        assert reader.all('.steps[aria-live="polite"]')
        world.free.set()
        reader.answered()
    reader.all(".log > summary")[0].send_keys(Keys.ENTER)
    assert "Asking the sources again: claim 1 has evidence on both sides" in reader.text(".log")
    assert "The answer changed" in reader.text(".log")
    reader.until(lambda: "Answered." in reader.does("document.getElementById('said').textContent"))


@pytest.mark.parametrize("way", ["escape", "button"])
def test_stop_ends_the_run_here_and_in_the_service(reader: Reader, way: str) -> None:
    world = Waiting()
    with serving(world) as served:
        reader.open(served.address)
        reader.ask(QUESTION)
        reader.sees(".bar", "2 of 3 verdicts")
        if way == "escape":
            reader.press(Keys.ESCAPE)
        else:
            reader.press(Keys.TAB, Keys.ENTER)
        reader.sees(".stopped", "Stopped.")
        until(lambda: served.metric('conflictscore_failures_total{kind="client_gone"}'))
        assert reader.does("document.activeElement.id") == "question"
        world.free.set()
        reader.all(".stopped button")[0].click()
        reader.answered()
        assert len(reader.all(".exchange")) == 1


def test_hostile_texts_neither_run_nor_break_the_layout(reader: Reader) -> None:
    found = [
        {"text": f"{HOSTILE} lit in 1871.", "title": HOSTILE, "url": f"javascript:{PWN}"},
        {
            "text": f"lit in 1874. {HOSTILE}",
            "title": f'"><img src=x onerror="{PWN}">',
            "url": f'https://log.test/"onmouseover="{PWN}"/{"x" * 3000}',
        },
        {"text": "lit in 1871", "title": "", "url": f"data:text/html,<script>{PWN}</script>"},
    ]
    world = World(
        answer=f"{HOSTILE} 1871",
        regenerated=f"{HOSTILE} 1874",
        reason=HOSTILE,
        decomposition=f"Claims:\n- {HOSTILE} lit in 1871\n- __proto__ constructor 1874",
    )
    with serving(world, found=found) as served:
        reader.narrow()
        reader.open(served.address)
        reader.ask(HOSTILE[:600])
        reader.answered()
        for element in reader.all("summary"):
            element.send_keys(Keys.ENTER)
        assert reader.all("details.claim.conflict[open]")
        assert f'<img src=x onerror="{PWN}">' in reader.text(".answer > .text")
        assert "\u202e" not in reader.does("document.body.innerText")
        assert not reader.all("main img, main script, main [onerror], main [onmouseover]")
        links = reader.does("Array.from(document.querySelectorAll('.source a'), a => a.host)")
        assert set(links) == {"log.test"}
        assert not reader.is_too_wide()
        assert reader.does("window.__pwned") is None
        assert severe(reader.driver) == []


def test_markdown_is_laid_out_with_citations(reader: Reader, world: World, served: Served) -> None:
    first = "It was lit in **1871** (Docs 1, 9).\n\n| who | year |\n|-|-|\n| Log | 1874 |"
    world.answer, world.decomposition = first, "Claims:\n- It was lit in 1871."
    world.regenerated = first.replace("1871", "1874") + "\n\n<b>x</b> [no](javascript:alert(1))"
    answer(reader, served)
    assert reader.text(".answer > .text strong") == "1874"
    assert reader.text(".answer > .text td") == "Log\n1874"
    assert "<b>x</b> [no](javascript:alert(1))" in reader.text(".answer > .text")
    assert reader.text(".change del") == "1871"
    assert "who | year" in reader.text(".change .after .text")
    assert reader.text(".answer > .text .cite") == "1"
    reader.does("document.querySelector('.reason .cite').scrollIntoView({block: 'center'})")
    reader.all(".reason .cite")[0].click()
    assert reader.focused.startswith("2Log")
    assert "They do not show whether the answer is right" in reader.text(".scores")


def test_links_are_plain_and_images_unloaded(reader: Reader, world: World, served: Served) -> None:
    said = (
        "# It was lit in 1871\n\n- a *list* with `code`\n\n"
        "[https://bank.test/](https://user@log.test/a) <https://log.test/b> Look!"
        " ![the lamp](https://pixel.test/1.png) ![](https://pixel.test/2.png)\n"
        "[![badge](https://pixel.test/3.png)](https://log.test/c) ![gone](data:image/png;base64,AA)"
        f" [no](javascript:{PWN.replace(' ', '')}) [no](JAVA&#x53;cript:alert(1)) [no](/runs)\n"
        f'<img src="https://pixel.test/4.png" onerror="{PWN}"><svg onload="{PWN}"></svg>\n\n'
        + "[" * 5_000
        + "]" * 5_000
    )
    world.answer, world.regenerated, world.decomposition = said, said, "Claims:\n- Lit in 1871."
    answer(reader, served)
    shown = reader.text(".answer > .text")
    assert "https://bank.test/ (https://user@log.test/a) https://log.test/b Look!" in shown
    assert "Image: the lamp (https://pixel.test/1.png)" in shown
    assert "Image: no description (https://pixel.test/2.png)" in shown
    assert "Image: badge (https://pixel.test/3.png)" in shown
    assert "![gone](data:image/png;base64,AA)" in shown
    assert '<img src="https://pixel.test/4.png"' in shown
    assert "[" * 5_000 in shown
    assert reader.text(".answer > .text :is(h6, li em, code)") == "It was lit in 1871\nlist\ncode"
    links = reader.does(
        "Array.from(document.querySelectorAll('.answer > .text a'), a => [a.href, a.rel])"
    )
    rel = "noopener noreferrer nofollow"
    assert links == [["https://user@log.test/a", rel], ["https://log.test/b", rel]]
    assert not reader.all("main :is(img, svg, script, iframe)")
    asked = reader.does("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert all(address.startswith(served.address) for address in asked)
    assert reader.does("window.__pwned") is None
    assert severe(reader.driver) == []


def test_a_newcomer_sees_model_sources_and_past_questions(reader: Reader, served: Served) -> None:
    reader.open(served.address)
    reader.sees("#about", "scripted")
    assert "Shelf" in reader.text("#about")
    reader.ask(QUESTION)
    reader.answered()
    assert not reader.all(".to-runs")[0].is_displayed()
    reader.all("#fresh")[0].click()
    reader.all("#history summary")[0].click()
    reader.all("#history a")[0].click()
    reader.answered()
    assert reader.text(".question") == QUESTION


def test_the_policy_stops_a_script_that_got_in_all_the_same(reader: Reader, served: Served) -> None:
    reader.open(served.address)
    reader.driver.execute_script(
        "const script = document.createElement('script');"
        f"script.textContent = '{PWN}'; document.body.append(script)"
    )
    assert reader.does("window.__pwned") is None
    assert "Content Security Policy" in "".join(severe(reader.driver))


def test_a_failing_model_can_be_retried(reader: Reader, world: World, served: Served) -> None:
    world.broken["generate"] = Fault(500, should_retry=False)
    reader.open(served.address)
    reader.ask(QUESTION)
    reader.sees(".trouble", "There is no answer")
    assert "HTTP 500" in reader.text(".trouble")
    assert "try again" in reader.text(".trouble").casefold()
    assert severe(reader.driver) == []
    world.broken.clear()
    reader.all(".trouble button")[0].send_keys(Keys.ENTER)
    reader.answered()
    assert not reader.all(".trouble")


def test_missing_verdicts_have_their_errors(reader: Reader, world: World, served: Served) -> None:
    world.broken["label"] = Fault(500, message="the judge is out", should_retry=False)
    answer(reader, served)
    assert "This answer was not checked." in reader.text(".outcome")
    assert "Not checked" in reader.text("details.claim summary")
    reader.all("details.claim summary")[0].send_keys(Keys.ENTER)
    assert reader.text(".failed").count("has no verdict: ") == len(DISAGREEING)


def test_the_key_is_asked_for_and_kept_in_this_tab_only(reader: Reader, world: World) -> None:
    with serving(world, settings={"keys": (KEY,)}) as served:
        reader.open(served.address)
        reader.ask(QUESTION)
        reader.sees("#door[open]", "This service asks for a key")
        assert reader.does("document.getElementById('key').type") == "password"
        reader.press("not-a-key-of-this-deployment", Keys.ENTER)
        reader.sees("#door-why", "does not know that key")
        reader.press(KEY, Keys.ENTER)
        reader.answered()
        assert KEY not in reader.driver.current_url
        assert KEY not in reader.driver.page_source
        assert reader.does("localStorage.length") == 0
        assert KEY in reader.does("Object.values(sessionStorage)")
        reader.all("#forget")[0].click()
        assert reader.does("sessionStorage.length") == 0
        reader.ask("And now?")
        reader.sees("#door[open]")
        reader.press(Keys.ESCAPE)
        reader.sees(".trouble", "no valid key")


def test_a_run_is_opened_again_by_its_address(reader: Reader, served: Served) -> None:
    answer(reader, served)
    address, shown = reader.driver.current_url, reader.text(".answer")
    assert re.search(r"#run=\w+$", address)
    reader.open("about:blank")
    reader.open(address)
    reader.answered()
    assert reader.text(".question") == QUESTION
    assert reader.text(".answer") == shown
    reader.driver.execute_script("location.hash = '#run=nosuchrun'")
    reader.sees(".trouble", "there is no such run")


def test_a_follow_up_carries_the_conversation(reader: Reader, served: Served) -> None:
    answer(reader, served)
    before = len(served.upstream.requests)
    reader.ask("Who lit it?")
    reader.answered(2)
    since = served.upstream.requests[before].prompt
    assert QUESTION in since
    assert "It was lit in 1874." in since
    assert "Who lit it?" in since
    reader.all("#fresh")[0].click()
    assert not reader.all(".exchange")
    before = len(served.upstream.requests)
    reader.ask("Who lit it?")
    reader.answered()
    assert all(QUESTION not in request.prompt for request in served.upstream.requests[before:])


def test_an_edited_question_cuts_the_conversation_there(reader: Reader, served: Served) -> None:
    reader.open(served.address)
    for number, question in enumerate([QUESTION, "Who lit it?", "Who saw it?"], start=1):
        reader.ask(question)
        reader.answered(number)
    assert [one.is_displayed() for one in reader.all(".another")] == [False, False, True]
    reader.driver.execute_script("document.querySelectorAll('.exchange > h2')[1].focus()")
    reader.press(Keys.TAB)
    assert reader.focused == "Edit question"
    reader.press(Keys.ENTER, Keys.ESCAPE)
    assert reader.focused == "Edit question"
    assert len(reader.all(".exchange")) == 3
    reader.press(Keys.ENTER)
    field = reader.driver.switch_to.active_element
    assert (field.accessible_name, field.get_attribute("value")) == (
        "Edited question",
        "Who lit it?",
    )
    before = len(served.upstream.requests)
    reader.press(Keys.CONTROL + "a" + Keys.NULL, "Why was it lit?", Keys.ENTER)
    reader.until(lambda: len(reader.all(".exchange")) == 2)
    reader.answered(2)
    assert reader.text(".question") == f"{QUESTION}\nWhy was it lit?"
    assert reader.focused == "Why was it lit?"
    since = "".join(request.prompt for request in served.upstream.requests[before:])
    assert QUESTION in since
    assert "Who lit it?" not in since
    assert "Who saw it?" not in since


def test_another_answer_is_new_and_continued(reader: Reader, world: World, served: Served) -> None:
    world.regenerated = world.answer
    answer(reader, served)
    assert "the answer was kept" in reader.text(".outcome")
    assert not reader.all(".change")
    first = reader.driver.current_url
    world.answer = world.regenerated = "It was lit in 1874."
    before = len(served.upstream.requests)
    reader.all(".another button")[0].send_keys(Keys.ENTER)
    reader.sees(".answer > .text", "1874")
    assert len(reader.all(".exchange")) == 1
    assert reader.focused == QUESTION
    assert reader.driver.current_url != first
    assert served.upstream.requests[before].body["temperature"] == 1
    reader.all(".another button")[0].send_keys(Keys.ENTER)
    reader.sees(".exchange", "The model gave the same answer again.")
    before = len(served.upstream.requests)
    reader.all("#question")[0].send_keys("Who lit it?", Keys.ENTER)
    reader.answered(2)
    assert "1871" not in served.upstream.requests[before].prompt
    reader.open("about:blank")
    reader.open(first)
    reader.answered()
    reader.all(".another button")[0].send_keys(Keys.ENTER)
    reader.sees(".answer > .text", "1874")
    assert reader.text(".question") == QUESTION


def test_an_answer_is_copied_as_markdown(reader: Reader, world: World, served: Served) -> None:
    world.answer = world.regenerated = "It was lit in **1871**, see [it](https://log.test/)."
    both = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    allowed = {"origin": served.address, "permissions": both}
    reader.driver.execute_cdp_cmd("Browser.grantPermissions", allowed)
    answer(reader, served)
    reader.all(".foot button")[0].send_keys(Keys.ENTER)
    reader.sees(".foot", "Copied")
    assert reader.does("navigator.clipboard.readText()") == world.answer


def test_a_quotation_is_marked_or_said_to_be_missing(reader: Reader, world: World) -> None:
    verdict = {
        "claim": "It was lit in 1871.",
        "document_snippet": "the lamp (of the tower) was lit",
        "reasoning": "It says so.",
        "answer": "SUPPORTS",
    }
    world.broken["label"] = json.dumps(verdict)
    told = "After years of planning, The Lamp\n(of the tower)  was LIT, and the village came."
    found = [
        {"text": told, "title": "First", "url": "https://first.test/"},
        {"text": "Of something else.", "title": "Second", "url": "notes/second.txt"},
        {"text": told, "title": "Copy", "url": "https://copy.test/"},
    ]
    with serving(world, found=found) as served:
        answer(reader, served)
        assert "Supported\n3 for, 0 against" in reader.text("details.claim.supported")
        reader.all("details.claim summary")[0].send_keys(Keys.ENTER)
        assert "3 documents, 2 independent" in reader.text(".supports h4")
        first, second, copy = (element.text for element in reader.all(".evidence"))
        assert reader.all(".evidence mark")[0].text == "The Lamp\n(of the tower) was LIT"
        assert "After years of planning" in first
        assert "the judge's quote is not in the document" in second
        assert "the lamp (of the tower) was lit" not in second
        assert reader.all(".evidence mark")[1].text == "Of something else."
        assert len(reader.all(".evidence mark")) == 3
        assert "nearly the same text as document 1" in copy
        assert reader.text(".evidence .source-name") == "Second"
        assert "None has sources on both sides" in reader.text(".outcome")


def test_a_quotation_in_parts_is_found_in_a_hostile_text_at_once(
    reader: Reader, served: Served
) -> None:
    def marked(text: str, passage: str) -> str:
        script = """
            const [text, passage, done] = arguments;
            import("/page/excerpt.js").then(({ excerpt }) => {
              const mark = excerpt(text, passage).querySelector("mark");
              done(mark ? mark.textContent : "");
            });
        """
        return str(reader.driver.execute_async_script(script, text, passage))

    reader.open(served.address)

    assert marked("One a.  Two\nB. Three c.", "a. […] two b. […] C.") == "a.  Two\nB. Three c."
    assert marked(f"One a. {'x ' * 3000} two b.", "a. […] two b.") == "a."
    assert marked("One a.", "two […] three") == ""
    assert marked("a b " * 20_000, "a […] b […] a […] b […] c") == "a"


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({"conflicting": True, "supports": [1], "contradicts": [2]}, "disagree about 1 claim"),
        ({"contradicts": [2]}, "contradict 1 claim"),
        ({"irrelevant": [1]}, "say nothing about 1 claim"),
        ({"supports": [1]}, "dispute no claim"),
    ],
)
def test_the_outcome_names_what_the_sources_do(
    reader: Reader, served: Served, claim: dict[str, Any], said: str
) -> None:
    labels = {"conflicting": False, "supports": [], "contradicts": [], "irrelevant": []}
    report = {"cs_c": 0.0, "claims": [{**labels, **claim}]}
    run = {"answer": "Lit.", "report": report, "documents": [], "status": "failed"}
    script = """
        const [run, done] = arguments;
        import("/page/answer.js").then(({ outcome }) => done(outcome(run)));
    """
    reader.open(served.address)

    told = {**run, "reason": "too few labels"}
    got = reader.driver.execute_async_script(script, told)

    assert got == f"The sources {said} of this answer (too few labels)."


def test_the_run_can_be_saved_as_json(reader: Reader, served: Served, tmp_path: Path) -> None:
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    reader.driver.execute_cdp_cmd("Page.setDownloadBehavior", where)
    answer(reader, served)
    reader.all(".foot button")[-1].send_keys(Keys.ENTER)
    [saved] = until(lambda: list(tmp_path.glob("*.json")))
    _, _, run_id = reader.driver.current_url.rpartition("=")
    assert json.loads(saved.read_text()) == served.http.get(f"/v1/runs/{run_id}").json()
