"""Measure weights on all pairs that are measured on, before they are exported.

torch runs them, in bfloat16 where the processor multiplies in it, and on a GPU where there is one:
a large model takes half the time that ``training.evaluate`` takes, whose figures are those of the
model as it is shipped. Every set is printed with its confusion, people's labels as rows and the
model's as columns: SUPPORTS, CONTRADICTS, IRRELEVANT.

What the model says of each window is kept beside ``--out``, in ``.said.npz``, so that the same
command goes on where it was stopped; ``--out`` is what ``training.choose_bias`` reads.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import torch

from training.asking import asked
from training.decision import conflict_figures
from training.figures import figures, verdicts
from training.packed import Numbers, Packed, load_packed
from training.pairs import LABELS

__all__ = ["main", "set_rows"]

_HEAD = (
    "| pairs of | pairs | accuracy | macro-F1 | claims | conflicts | conflict F1 (always)"
    " | conflict accuracy (always, never) | confusion |\n|---|---|---|---|---|---|---|---|---|"
)
_ANSWERS, _GENERAL = "ramdocs", ".dev"
"""How names of sets begin that have answers to RAMDocs' questions, and end that are general."""
_SIDES = {LABELS.index("SUPPORTS"), LABELS.index("CONTRADICTS")}


def set_rows(packed: Packed, places: Numbers, given: Numbers) -> Iterator[str]:
    """A row of the table for each set, and one for all sets that people labelled.

    Args:
        packed: The pairs.
        places: Those that were measured on.
        given: The label of each.
    """
    names = np.array(packed.sources)[packed.source[places]]
    people = np.array([not _is_answer(name) and not _is_general(name) for name in names])
    for name in dict.fromkeys(names):
        own = names == name
        yield _row(packed, str(name), places[own], given[own])
    if people.any():
        yield _row(packed, "people's sets", places[people], given[people])


def _is_answer(name: str) -> bool:
    return name.startswith(_ANSWERS)


def _is_general(name: str) -> bool:
    return name.endswith(_GENERAL)


def _row(packed: Packed, name: str, places: Numbers, given: Numbers) -> str:
    gold = packed.label[places].astype(np.int64)
    found = figures(gold, given)
    claims = list(zip(packed.source[places], packed.claim[places], strict=True))
    of_claim: dict[tuple[int, int], set[int]] = {}
    for claim, label in zip(claims, gold, strict=True):
        of_claim.setdefault(claim, set()).add(int(label))
    conflicts, count = sum(labels >= _SIDES for labels in of_claim.values()), len(of_claim)
    f1, accuracy = conflict_figures(gold, given, claims)
    always = conflicts / count
    cells = [
        name,
        f"{found.pairs:,}",
        f"{found.accuracy:.3f}",
        f"{found.macro_f1:.3f}",
        str(count),
        str(conflicts),
        f"{f1:.3f} ({2 * always / (1 + always):.3f})" if conflicts else "–",
        f"{accuracy:.3f} ({always:.3f}, {1 - always:.3f})" if conflicts else "–",
        " / ".join(" ".join(map(str, row)) for row in found.confusion),
    ]
    return f"| {' | '.join(cells)} |"


@click.command(help=__doc__)
@click.option("--pairs", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--weights", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--batch-tokens", default=3072, show_default=True)
@click.option("--threads", default=1, show_default=True, help="Where there is no GPU.")
def main(pairs: Path, weights: Path, out: Path, batch_tokens: int, threads: int) -> None:
    """Write the windows and print the table."""
    torch.set_num_threads(threads)
    packed = load_packed(pairs)
    places = packed.of_part("validation")
    kept = out.with_suffix(".said.npz")
    said = asked(packed, places, weights, kept, batch_tokens=batch_tokens).astype(np.float64)
    owner = np.repeat(np.arange(len(places)), packed.window_count[places])
    of_general = np.array([_is_general(packed.sources[at]) for at in packed.source[places]])
    for_bias = ~of_general[owner]
    np.savez(out, probabilities=said[for_bias], owner=owner[for_bias])
    click.echo(_HEAD)
    for row in set_rows(packed, places, verdicts(said, owner, len(places))):
        click.echo(row)


if __name__ == "__main__":
    main()
