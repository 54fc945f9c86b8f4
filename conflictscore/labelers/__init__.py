"""From (claim, document) to an evidence label: one protocol, several judges.

``LABELERS`` names them and says what each one does. A labeler of your own offers ``Labeler``: one
method that judges one pair; or ``TableLabeler``, where it judges many pairs better together.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conflictscore.labelers.batch_judge import BatchJudge
    from conflictscore.labelers.calibration import Calibration, FittedCalibration
    from conflictscore.labelers.cascade import Cascade, Certain
    from conflictscore.labelers.choice_judge import ChoiceJudge
    from conflictscore.labelers.json_judge import JsonJudge
    from conflictscore.labelers.nli.labeler import NliLabeler
    from conflictscore.labelers.protocol import Labeler, LabelerFactory, Pair, TableLabeler
    from conflictscore.labelers.registry import LABELERS, LabelerKind, LabelerName, make_labeler
    from conflictscore.labelers.table import label_table

__all__ = [
    "LABELERS",
    "BatchJudge",
    "Calibration",
    "Cascade",
    "Certain",
    "ChoiceJudge",
    "FittedCalibration",
    "JsonJudge",
    "Labeler",
    "LabelerFactory",
    "LabelerKind",
    "LabelerName",
    "NliLabeler",
    "Pair",
    "TableLabeler",
    "label_table",
    "make_labeler",
]

_HOMES = {
    "LABELERS": "registry",
    "BatchJudge": "batch_judge",
    "Calibration": "calibration",
    "Cascade": "cascade",
    "Certain": "cascade",
    "ChoiceJudge": "choice_judge",
    "FittedCalibration": "calibration",
    "JsonJudge": "json_judge",
    "Labeler": "protocol",
    "LabelerFactory": "protocol",
    "LabelerKind": "registry",
    "LabelerName": "registry",
    "NliLabeler": "nli.labeler",
    "Pair": "protocol",
    "TableLabeler": "protocol",
    "label_table": "table",
    "make_labeler": "registry",
}

if not TYPE_CHECKING:  # a checker that sees this finds any name in the package

    def __getattr__(name: str) -> Any:
        """Import on first use: the judges need clients and extras; names and help do not."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
