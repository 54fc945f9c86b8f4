"""Keys with names, what each may spend in a day, and the log of who spent what on which run."""

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.middleware.service.budgets import Account, Budgets
from conflictscore.middleware.service.keys import Allowance, KeyFile, KeyHolder, holder_of
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.models.prices import Price
from conflictscore.records import Usage
from tests.fakes.openai_server import OpenAIServer
from tests.full_disk import no_room
from tests.middleware.service.serving import QUESTION, ChatWorld, Served, asking, serving

ONE, OTHER = "key-number-one-0123456789", "key-number-two-0123456789"
PAID = Price(input=1.0, output=2.0, source="a test")
USED = Usage(calls=1, input_tokens=1_000_000, output_tokens=500_000)


def asked(served: Served, key: str, **more: Any) -> httpx2.Response:
    bearer = {"authorization": f"Bearer {key}"}
    return served.http.post("/v1/chat/completions", json=asking(**more), headers=bearer)


class TestLines:
    def test_a_name_a_key_or_its_digest_and_limits(self) -> None:
        digest = hashlib.sha256(ONE.encode())
        plain = holder_of(f"door {ONE} requests=5 usd=0.5", "line 1")
        hashed = holder_of(f"door sha256:{digest.hexdigest().upper()}", "line 2")

        assert plain == KeyHolder("door", digest.digest(), Allowance(requests=5, usd=0.5))
        assert hashed == KeyHolder("door", digest.digest())
        assert holder_of(ONE, "line 3").name == digest.hexdigest()[:32]
        assert holder_of(f"door {ONE}==", "line 4").digest != digest.digest()

    @pytest.mark.parametrize(
        "line",
        [
            "short",
            "door short",
            f"two words {ONE}",
            f"na/me {ONE}",
            "door sha256:1234",
            f"door {ONE}\xe9",
            f"door {ONE} requests=many",
            f"door {ONE} usd=-1",
            f"door {ONE} tokens=nan",
            f"door {ONE} request=5",
        ],
    )
    def test_a_wrong_line_is_named_and_not_shown(self, line: str) -> None:
        with pytest.raises(InputError, match=r"^line 7") as raised:
            holder_of(line, "line 7")
        assert ONE not in str(raised.value)
        assert "short" not in str(raised.value)


class TestFile:
    def test_keys_change_without_a_restart(self, upstream: OpenAIServer, tmp_path: Path) -> None:
        path = tmp_path / "keys"
        path.write_text(f"# keys\ndoor {ONE}\n")
        with serving(upstream, settings={"key_file": path}) as served:
            run = asked(served, ONE).headers["x-conflictscore-run-id"]
            path.write_text(f"door {OTHER}\n")
            bearer = {"authorization": f"Bearer {OTHER}"}
            found = served.http.get(f"/v1/runs/{run}", headers=bearer)

            assert asked(served, ONE).status_code == 401
            assert found.status_code == 200, "the same caller, by name"

    def test_a_file_that_becomes_wrong_leaves_the_keys_of_before(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "keys"
        path.write_text(f"door {ONE}\n")
        file = KeyFile(path)
        before = file.holders()
        for wrong in ("", f"door {ONE} usd=x", None):
            path.unlink() if wrong is None else path.write_text(wrong)
            assert file.holders() == before
        assert caplog.text.count("the keys of before are still good") == 3
        assert ONE not in caplog.text


class TestBudgets:
    @pytest.mark.parametrize(
        ("allowance", "used", "left"),
        [
            (Allowance(requests=2), Usage(), 2),
            (Allowance(tokens=1_500_001), USED, 2),
            (Allowance(usd=2.0), USED, 1),
            (Allowance(usd=2.01), USED, 2),
            (Allowance(requests=0), Usage(), 0),
        ],
    )
    def test_a_used_up_allowance_is_told_until_midnight(
        self, allowance: Allowance, used: Usage, left: int
    ) -> None:
        budgets, caller = Budgets(allowance, [PAID]), KeyHolder("me")
        for _ in range(left):
            budgets.admit(caller)
            Account(budgets, "me").count(used)
        with pytest.raises(RefusedError, match="used up") as refused:
            budgets.admit(caller)

        assert (refused.value.status, refused.value.code) == (429, "budget_used_up")
        assert 0 < int(refused.value.retry_after or 0) <= 86_400
        if allowance.requests != 0:
            budgets.admit(KeyHolder("you"))

    def test_a_key_may_have_limits_of_its_own(self) -> None:
        budgets = Budgets(Allowance(requests=1), [PAID])
        generous = KeyHolder("door", allowance=Allowance(requests=3))
        for _ in range(3):
            budgets.admit(generous)
        with pytest.raises(RefusedError):
            budgets.admit(generous)

    def test_a_day_ends_and_a_restart_does_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, caller = tmp_path / "spent.sqlite", KeyHolder("me")
        for _ in range(2):
            budgets = Budgets(Allowance(requests=2), [PAID], path)
            budgets.admit(caller)
            budgets.close()
        budgets = Budgets(Allowance(requests=2), [PAID], path)
        with pytest.raises(RefusedError):
            budgets.admit(caller)

        class Tomorrow(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> "Tomorrow":
                return cls(2999, 1, 1, tzinfo=UTC)

        monkeypatch.setattr("conflictscore.middleware.service.budgets.datetime", Tomorrow)
        budgets.admit(caller)

    def test_what_is_not_known_is_never_taken_for_nothing(self) -> None:
        unpriced = Budgets(Allowance(usd=1.0), [None])
        silent = Budgets(Allowance(tokens=100), [PAID])
        Account(silent, "you").count(Usage(calls=1))
        for budgets in (unpriced, silent):
            with pytest.raises(RefusedError) as refused:
                budgets.admit(KeyHolder("me"))
            assert refused.value.code == "budget_not_kept"

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
    def test_where_nothing_can_be_kept_nobody_with_an_allowance_is_served(
        self, tmp_path: Path
    ) -> None:
        budgets = Budgets(Allowance(requests=9), [PAID], tmp_path / "spent.sqlite")
        with no_room(), pytest.raises(RefusedError) as refused:
            budgets.admit(KeyHolder("me"))
        assert refused.value.status == 503

    def test_a_file_that_is_no_database_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "spent.sqlite").write_text("notes, and no database" * 100)
        with pytest.raises(ConfigurationError, match=r"--spent-file .*spent\.sqlite: cannot be"):
            Budgets(Allowance(), [], tmp_path / "spent.sqlite")


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": "correct"},
        {"mode": "annotate", "first_answer": "upstream"},
        {"mode": "observe"},
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_every_call_of_a_run_counts_for_its_key(
    upstream: OpenAIServer, tmp_path: Path, settings: Mapping[str, Any], stream: bool
) -> None:
    audit = tmp_path / "audit.jsonl"
    more = {"keys": (f"door {ONE} requests=1", OTHER), "audit_log": audit}
    with serving(upstream, settings={**settings, **more}) as served:
        served.key = ONE
        first, second = asked(served, ONE, stream=stream), asked(served, ONE, stream=stream)
        run = served.run(first)
        other = asked(served, OTHER)
        served.key = OTHER
        served.run(other)
        calls = len(upstream.requests)

    assert (first.status_code, second.status_code, other.status_code) == (200, 429, 200)
    assert second.json()["error"]["code"] == "budget_used_up"
    [line, another] = map(json.loads, audit.read_text().splitlines())
    assert (line["key"], line["run_id"]) == ("door", run["run_id"])
    assert (line["status"], line["flipped"]) == (run["status"], run["flipped"])
    assert line["calls"] + another["calls"] == calls
    assert line["input_tokens"] > 0 < line["output_tokens"]
    assert QUESTION not in audit.read_text()


def test_content_is_in_the_audit_log_only_where_it_is_asked_for(
    upstream: OpenAIServer, tmp_path: Path
) -> None:
    settings = {"audit_log": tmp_path / "audit.jsonl", "audit_content": True}
    with serving(upstream, settings=settings) as served:
        served.run(served.ask())

    line = json.loads((tmp_path / "audit.jsonl").read_text())
    assert (line["question"], line["answer"]) == (QUESTION, "It was lit in 1874.")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
def test_an_audit_log_on_a_full_disk_is_told_of(
    upstream: OpenAIServer, world: ChatWorld, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(upstream, settings={"audit_log": tmp_path / "audit.jsonl"}) as served:
        with no_room():
            assert served.ask().status_code == 200
            failures = served.metric('conflictscore_failures_total{kind="audit_log"}')
        assert failures == 1
        assert "audit.jsonl: cannot be written" in caplog.text
