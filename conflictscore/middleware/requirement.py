"""``require``: how far an answer has to be checked before anybody gets it.

It means the same at every entry point (agent, chat model, function, ``correct``, service).
``"fully"`` lets through what was checked fully; ``"partly"`` what was checked fully or partly. An
answer that states nothing, such as a greeting, always passes: there is nothing to check in it. All
else is refused, also where the check failed. Without it every answer passes, with its verdict.
"""

from typing import Literal, NoReturn, get_args

from conflictscore.errors import InputError, UncheckedAnswerError
from conflictscore.records import GapKind, Run

Require = Literal["fully", "partly"]
FailurePolicy = Literal["raise", "pass_through"]
"""The older option: ``raise`` is ``require="partly"`` that lets errors through as they are,
``pass_through`` is none."""

_ENOUGH = {"fully": ("fully",), "partly": ("fully", "partly")}
_NOTHING_TO_CHECK = (GapKind.STATES_NOTHING, GapKind.EMPTY_ANSWER)


def check_require(require: object) -> None:
    """Refuse an unknown requirement by an InputError."""
    if require is not None and require not in get_args(Require):
        raise InputError(f"require is {require!r}; give 'fully' or 'partly', or leave it out")


def meets(run: Run, require: Require | None) -> bool:
    """Whether the answer of a run is checked as far as is required."""
    if require is None or run.checked in _ENOUGH[require]:
        return True
    gap = run.examined.main_gap if run.examined else None
    return gap is not None and gap.kind in _NOTHING_TO_CHECK


def refuse(run: Run, require: Require | None, cause: BaseException | None = None) -> NoReturn:
    """Raise the error of an answer that is less checked than is required."""
    raise UncheckedAnswerError(why_refused(run, require), run.verdict()) from cause


def why_refused(run: Run, require: Require | None) -> str:
    """Why the answer of a run was refused, in a sentence that quotes nothing of it."""
    verdict = run.verdict()
    why = f": {verdict['reason']}" if verdict["reason"] else ""
    how_far = _IN_WORDS[verdict["checked"]]
    return f"the answer was refused: require is {require!r}, and it was checked {how_far}{why}"


_IN_WORDS = {"fully": "fully", "partly": "in part", "no": "not at all"}
