"""``require``: how much of an answer must be checked before it is returned.

The setting means the same at every entry point (agent, chat model, function, ``correct``, service).
``"fully"`` accepts only fully checked answers; ``"partly"`` also accepts partly checked answers.
Answers that state nothing, such as greetings, are always returned, since there is nothing to check.
All other answers are refused, including answers whose check failed. If there is no requirement,
every answer is returned with its verdict.
"""

from typing import Literal, NoReturn, get_args

from conflictscore.errors import InputError, UncheckedAnswerError
from conflictscore.records import GapKind, Run

Require = Literal["fully", "partly"]
FailurePolicy = Literal["raise", "pass_through"]
"""An older option. ``raise`` sets ``require="partly"`` and raises errors unchanged;
``pass_through`` sets no requirement."""

_ENOUGH = {"fully": ("fully",), "partly": ("fully", "partly")}
_NOTHING_TO_CHECK = (GapKind.STATES_NOTHING, GapKind.EMPTY_ANSWER)


def check_require(require: object) -> None:
    """Raise an InputError for an unknown requirement."""
    if require is not None and require not in get_args(Require):
        raise InputError(f"require is {require!r}; give 'fully' or 'partly', or leave it out")


def meets(run: Run, require: Require | None) -> bool:
    """Return whether enough of a run's answer was checked."""
    if require is None or run.checked in _ENOUGH[require]:
        return True
    gap = run.examined.main_gap if run.examined else None
    return gap is not None and gap.kind in _NOTHING_TO_CHECK


def refuse(run: Run, require: Require | None, cause: BaseException | None = None) -> NoReturn:
    """Raise the error for an answer that was checked less thoroughly than required."""
    raise UncheckedAnswerError(why_refused(run, require), run.verdict()) from cause


def why_refused(run: Run, require: Require | None) -> str:
    """Return why a run's answer was refused, in a sentence that does not quote the answer."""
    verdict = run.verdict()
    why = f": {verdict['reason']}" if verdict["reason"] else ""
    how_far = _IN_WORDS[verdict["checked"]]
    return f"the answer was refused: require is {require!r}, but it was {how_far}{why}"


_IN_WORDS = {"fully": "fully checked", "partly": "only partly checked", "no": "not checked"}
