"""Runs of a service listed, reviewed, counted and exported through its API."""

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.harness.report.reviews import reviews_beside
from conflictscore.cli import OneLineErrors
from conflictscore.cli.report import export, report
from conflictscore.errors import InputError
from conflictscore.middleware.service.kept_runs import KeptRuns, RunFilter
from conflictscore.reviewing import add_runs_page
from conflictscore.reviewing.kept_reviews import MOST_REVIEWERS, KeptReviews
from tests.full_disk import no_room
from tests.middleware.service.serving import AGREEING, QUESTION, Served, serving
from tests.world import World

DOOR, DESK = "a-key-of-the-front-door-0123456789", "a-key-of-the-editors-desk-01234"


@pytest.fixture
def runs_file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
def served(world: World, runs_file: Path) -> Iterator[Served]:
    """A service whose second key can read the runs of all keys."""
    keys = (f"door {DOOR}", f"desk {DESK} runs=all", "other another-key-of-nobody-01234")
    settings = {"keys": keys, "runs_file": runs_file}
    with serving(world, settings=settings) as running:
        add_runs_page(running.app)
        running.key = DOOR
        yield running


def desk(served: Served) -> httpx2.Client:
    client = served.http
    client.headers["authorization"] = f"Bearer {DESK}"
    return client


def ask(served: Served, question: str = QUESTION) -> str:
    return str(served.ask(question).headers["x-conflictscore-run-id"])


def said(verdict: str, reviewer: str = "ann", **more: Any) -> dict[str, Any]:
    return {"reviewer": reviewer, "verdict": verdict, **more}


def listed(client: httpx2.Client, **query: str) -> list[str]:
    reply = client.get("/v1/runs", params=query)
    assert reply.status_code == 200, reply.text
    return [run["run_id"] for run in reply.json()["data"]]


def test_a_list_is_narrowed_by_every_filter(served: Served, world: World) -> None:
    changed = ask(served)
    world.regenerated = world.answer
    kept = ask(served, "Was it lit in 1871, ESPRESSO or not?")
    client = desk(served)
    client.post(f"/v1/runs/{kept}/reviews", json=said("right"))

    assert listed(client) == [kept, changed]
    assert listed(client, changed="true") == [changed]
    assert listed(client, changed="false", disputed="true") == [kept]
    assert listed(client, disputed="false") == []
    assert listed(client, status="corrected") == [changed]
    assert listed(client, review="open") == [changed]
    assert listed(client, review="reviewed") == [kept]
    assert listed(client, reviewer="ann") == [kept]
    assert listed(client, reviewer="bob") == []
    assert listed(client, reviewer="bob", review="open") == [kept, changed]
    assert listed(client, q="espresso 1871") == [kept]
    assert listed(client, q="' OR 1=1 --") == []


def test_a_key_sees_and_reviews_its_own_runs_and_one_that_may_those_of_all(served: Served) -> None:
    run = ask(served)
    place = f"/v1/runs/{run}/reviews"
    stranger = served.http
    stranger.headers["authorization"] = "Bearer another-key-of-nobody-01234"

    assert listed(served.http) == listed(desk(served)) == [run]
    assert listed(stranger) == []
    assert stranger.post(place, json=said("better")).status_code == 404
    assert stranger.get("/v1/reviews").json()["runs"] == 0
    assert desk(served).get(f"/v1/runs/{run}").status_code == 200
    assert served.http.post(place, json=said("better")).status_code == 201
    del stranger.headers["authorization"]
    for path in ("/v1/runs", place, "/v1/reviews", "/v1/reviews/export?to=csv", "/v1/about"):
        assert stranger.get(path).status_code == 401
    assert stranger.get("/runs").status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (said("right"), "verdict"),
        (said("better", reviewer="  "), "reviewer"),
        (said("better", comment="x" * 4001), "comment"),
        (said("better", decided_by=[0]), "decided_by[0]"),
        (said("better", extra=1), "extra"),
    ],
)
def test_a_review_that_does_not_fit_names_the_field(
    served: Served, runs_file: Path, body: dict[str, Any], field: str
) -> None:
    run = ask(served)
    reply = served.http.post(f"/v1/runs/{run}/reviews", json=body)

    assert (reply.status_code, reply.json()["error"]["param"]) == (400, field)
    assert not KeptReviews(runs_file).reviewed()
    assert served.http.get("/v1/runs?page=0").json()["error"]["param"] == "page"
    assert served.http.get("/v1/reviews/export?to=exe").json()["error"]["param"] == "to"


def test_no_page_of_another_site_can_review(world: World) -> None:
    with serving(world) as served:
        add_runs_page(served.app)
        place = f"/v1/runs/{ask(served)}/reviews"
        body = json.dumps(said("better"))
        plain = served.http.post(place, content=body, headers={"content-type": "text/plain"})
        foreign = served.http.post(place, json=said("better"), headers={"origin": "https://x.test"})

        assert (plain.status_code, foreign.status_code) == (415, 403)
        assert served.http.get("/v1/reviews").json()["reviewed"] == 0


def test_reviews_are_counted_with_agreement_and_outlive_the_service(
    served: Served, world: World, runs_file: Path, tmp_path: Path
) -> None:
    flips = [ask(served), ask(served, "When, again?")]
    world.regenerated = world.answer
    unchanged = ask(served, "Sure?")
    for run, ann, bob in zip(flips, ("better", "worse"), ("better", "better"), strict=True):
        for who, verdict in (("ann", "cannot tell"), ("ann", ann), ("bob", bob)):
            body = said(verdict, who, decided_by=[2, 2, 1], comment="=The log (Doc 2).")
            assert served.http.post(f"/v1/runs/{run}/reviews", json=body).status_code == 201
    served.http.post(f"/v1/runs/{unchanged}/reviews", json=said("wrong"))

    changed, kept = served.http.get("/v1/reviews").json()["tables"]

    assert (changed["total"], changed["reviewed"]) == (2, 2)
    assert changed["verdicts"] == {"better": 3, "worse": 1}
    assert changed["alpha"] == pytest.approx(0)
    assert (kept["reviewed"], kept["verdicts"]) == (1, {"wrong": 1})
    with runs_file.with_name("runs.sqlite.reviews.jsonl").open("ab") as file:
        file.write(b'{"run": "runs.sqlite", "question_id": "half')
    again = KeptReviews(runs_file)
    assert again.of(flips[1])["ann"].verdict == "worse"
    assert again.of(flips[1])["ann"].decided_by == (1, 2)

    table = served.http.get("/v1/reviews/export", params={"to": "jsonl", "changed": "true"}).text
    second = [json.loads(line) for line in table.splitlines()][1]
    assert (second["reviewers"], second["verdicts"]) == (["ann", "bob"], ["better", "better"])
    csv = served.http.get("/v1/reviews/export", params={"to": "csv"})
    assert 'attachment; filename="runs.csv"' in csv.headers["content-disposition"]

    commands = OneLineErrors("conflictscore", [report, export])
    page, out = tmp_path / "page.html", tmp_path / "table.jsonl"
    assert (
        CliRunner().invoke(commands, ["report", str(runs_file), "--out", str(page)]).exit_code == 0
    )
    assert CliRunner().invoke(commands, ["export", str(runs_file), "--to", str(out)]).exit_code == 0
    assert page.read_text().count('data-review="reviewed"') == 3
    names = served.http.get("/v1/about").json()
    for role in ("model", "judge"):
        assert f'<td dir="auto">{names[role]}</td>' in page.read_text(), "the models that answered"
    assert table in out.read_text()


def test_reviews_are_bounded_and_read_by_the_page(
    served: Served, runs_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(served)
    place = f"/v1/runs/{run}/reviews"
    reviewers = [f"reviewer {number}" for number in range(MOST_REVIEWERS)]
    posted = [served.http.post(place, json=said("better", who)) for who in reviewers]
    one_more = served.http.post(place, json=said("better", "one more"))
    again = served.http.post(place, json=said("worse", reviewers[0]))
    pages = [served.http.get(place, params={"page": page}).json() for page in (1, 2, 3)]
    monkeypatch.setattr("conflictscore.reviewing.kept_reviews.MOST_REVIEWS", len(reviewers))
    full = served.http.post(place, json=said("better", reviewers[0]))

    assert {reply.status_code for reply in posted} == {again.status_code} == {201}
    assert [one_more.json()["error"]["code"], full.status_code] == ["too_many_reviews", 409]
    assert [who for page in pages for who in page["reviews"]] == reviewers
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert pages[0]["reviews"][reviewers[0]]["verdict"] == "worse"


def test_a_review_that_cannot_be_kept_is_refused(served: Served, runs_file: Path) -> None:
    run, client = ask(served), served.http
    while run not in listed(client):  # the run is written after the reply
        time.sleep(0.01)
    with no_room():
        reply = client.post(f"/v1/runs/{run}/reviews", json=said("better"))

    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "review_not_kept")
    assert str(runs_file.parent) not in reply.text
    assert served.http.get("/v1/reviews").json()["reviewed"] == 0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"run": "r"}\n', "line 1, field question_id: Field required"),
        (
            '{"question_id": "q", "annotator": "a", "updated_at": "", "verdict": "so"}\n',
            "line 1, field verdict",
        ),
        ("{]}\n", "line 1: not JSON"),
    ],
)
def test_a_file_of_reviews_that_does_not_fit_names_line_and_field(
    runs_file: Path, line: str, reason: str
) -> None:
    runs_file.with_name("runs.sqlite.reviews.jsonl").write_text(line)

    with pytest.raises(InputError, match=r"reviews\.jsonl") as refused:
        KeptReviews(runs_file)
    assert reason in str(refused.value)


def test_thousands_of_runs_come_page_by_page_and_those_of_older_files_are_listed(
    runs_file: Path,
) -> None:
    kept = KeptRuns(most=5000, most_bytes=1 << 30, path=runs_file)
    for number in range(2000):
        kept.begin(str(number), "me")
        kept.finish(str(number), {"created": number, "question": f"Question {number}?"})
    kept.close()
    with sqlite3.connect(runs_file) as file:
        file.execute("DROP TABLE run_lines")

    kept = KeptRuns(most=1500, most_bytes=1 << 30, path=runs_file)

    total, rows = kept.listed(RunFilter(owner="me"), 30, 30)
    assert (total, rows[0].run_id, rows[-1].run_id) == (2000, "1969", "1940")
    assert kept.listed(RunFilter(owner="you"), 30) == (0, [])
    kept.begin("new", "me")
    kept.finish("new", {"created": 9999})
    assert kept.listed(RunFilter(), 1)[0] == 1500
    kept.close()


def test_what_agrees_is_not_disputed(world: World) -> None:
    with serving(world, found=AGREEING) as served:
        add_runs_page(served.app)
        ask(served)
        [row] = served.http.get("/v1/runs").json()["data"]
    assert (row["disputed"], row["flipped"], row["status"]) == (False, False, "scored")


def test_a_reviewers_name_belongs_to_the_key_that_first_reviewed_with_it(served: Served) -> None:
    reviews, door = f"/v1/runs/{ask(served)}/reviews", served.http
    first, second = door.get(reviews).json()["verdicts"][:2]
    assert door.post(reviews, json=said(first)).status_code == 201

    reply = desk(served).post(reviews, json=said(second))

    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "name_of_another")
    assert door.get(reviews).json()["reviews"]["ann"]["verdict"] == first
    assert door.post(reviews, json=said(second)).status_code == 201, "one's own is replaced"


@pytest.mark.parametrize(
    "spelling", ["Ann", " ANN ", "\uff41\uff4e\uff4e", "a\u200bnn", "\u0430nn", "\u00e1nn"]
)
def test_a_name_that_looks_the_same_belongs_to_the_same_key(served: Served, spelling: str) -> None:
    reviews, door = f"/v1/runs/{ask(served)}/reviews", served.http
    verdict = door.get(reviews).json()["verdicts"][0]
    assert door.post(reviews, json=said(verdict)).status_code == 201

    reply = desk(served).post(reviews, json={**said(verdict), "reviewer": spelling})

    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "name_of_another")
    own = door.post(reviews, json={**said(verdict), "reviewer": spelling})
    assert own.status_code == 201


def test_a_file_of_reviews_that_cannot_be_opened_is_named(
    runs_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = KeptReviews(runs_file)
    reviews_beside(runs_file).touch()

    def refuse(*arguments: Any, **settings: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"reviews\.jsonl: cannot be read \(Permission denied\)"):
        reviews.refresh()


def test_an_invalid_review_is_reported_until_it_is_mended(runs_file: Path) -> None:
    reviews = KeptReviews(runs_file)
    path = reviews_beside(runs_file)
    path.write_text('{"verdict": 5}\n')
    for _ in range(2):
        with pytest.raises(InputError, match="line 1"):
            reviews.refresh()
    path.write_text("")
    reviews.refresh()
    assert not reviews.by_run
