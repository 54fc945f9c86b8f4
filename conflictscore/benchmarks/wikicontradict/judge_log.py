"""Every rating of a judge check as a JSON line, from which the same check goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.judged_answers import JudgedAnswers
from conflictscore.benchmarks.wikicontradict.judge import TEMPLATE, Judgement
from conflictscore.benchmarks.wikicontradict.rated_answers import RatedAnswer
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage

__all__ = ["RatingLog", "judge_of"]

_Known = tuple[tuple[str, ...], Judgement]


class RatingLog(JudgedAnswers[_Known]):
    """A file of ratings."""

    def __init__(self, path: str | Path, *, judge: Mapping[str, Any]) -> None:
        """Read what the file holds, and open it for more; half a line at its end is cut off.

        Args:
            path: The file.
            judge: All that tells this judge from others, as plain JSON; see :func:`judge_of`.

        Raises:
            InputError: It holds something else, or cannot be written.
        """
        super().__init__(
            path,
            judge={"check": "wikicontradict", **judge},
            start=b'{"check": "wikicontradict", ',
            read=_known,
            holds="a rating of this check",
        )

    def get(self, answer: RatedAnswer) -> Judgement | None:
        """This judge's rating of an answer, by the same right ones; None where there is none."""
        right, judgement = self.known(answer.id, answer.answer) or ((), None)
        return judgement if right == answer.right else None

    def add(self, answer: RatedAnswer, judgement: Judgement, usage: Usage) -> None:
        """Keep a rating; it is with the operating system when this returns.

        Raises:
            InputError: The file cannot be written, as on a full disk.
        """
        said = {
            "question": answer.question,
            "right": list(answer.right),
            "people": answer.rating,
            "judgement": judgement.to_json(),
            "usage": usage.to_json(),
        }
        self.keep(answer.id, answer.answer, said)


def judge_of(model: LanguageModel, prompts: PromptSet) -> dict[str, Any]:
    """What tells a language model as a judge from others: name, endpoint and prompt."""
    return {
        "judge": model.name,
        "endpoint": model.endpoint,
        "prompt": prompts.sha256_of(TEMPLATE),
    }


def _known(row: Mapping[str, Any]) -> _Known | None:
    judgement = Judgement.model_validate(row["judgement"])
    return None if judgement.rating is None else (tuple(row["right"]), judgement)
