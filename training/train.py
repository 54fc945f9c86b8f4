"""Trains the NLI model further on the probabilities of a teacher.

The command needs torch and numpy, the file that ``training.teach`` wrote, and weights to start
from. If a run was interrupted, or stopped after ``--minutes``, the same command resumes it. The
exit code is 3 if the run is not finished.
"""

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from training import weights
from training.packed import load_packed
from training.plan import Settings

_CHOICES: dict[str, Any] = {"taught_share": click.FloatRange(0, 1)}
_UNFINISHED = 3  # exit code of a run that was stopped early and can be resumed
_RUN_BOOK = """\b
The two shipped models were trained in stages, each from the weights of the stage before. This text
describes the last two stages of the bundled model, and the last stage of nli-mpnet. For the other
stages, see this command's text in earlier commits: commit 1d80338 for the bundled model's first
five stages and nli-mpnet's first two, and commit 53259e3 for nli-mpnet's third stage, which also
writes its low-rank products. nli-mpnet's fourth stage ran on a GPU, with training/fourth_stage of
commit 823c9e22.
\b
Both models learned from pairs made by rule, which training.build_pairs of commit 50cf32d writes
(--rounds 1). MADE is the pairs.jsonl.gz that it writes. If you do not have this file, leave out
--made. The model then labels passages on the topic as a side more often, and distinguishes changed
dates, numbers and names less well (608 of 685 instead of 651).
\b
The bundled model's sixth stage learned from the labels of nli-mpnet. It started from the model of
the fifth stage; these commands start from the shipped model. The teacher ran for 28 minutes on two
cores; together with the pairs made by rule, this gave 25,741 pairs. Each of the two runs took 44
minutes on one core:
\b
       conflictscore model fetch nli-mpnet
       python -m training.carry unpack --model nli-mpnet --out build/teacher
       python -m training.carry unpack --out build/nli
       python -m training.build_pairs --data DATA --made MADE \\
         --tokenizer build/nli/tokenizer.json --out build/nli --pair-tokens 128
       python -m training.carry bias build/nli/start.npz build/nli/before.npz \\
         --supports -.5 --contradicts -.4
       python -m training.teach --pairs build/nli/pairs.npz --tokenizer build/nli/tokenizer.json \\
         --teacher build/teacher/start.npz --teacher-tokenizer build/teacher/tokenizer.json \\
         --seed 1 --threads 2 --minutes 28 --out build/nli/taught.npz
       python -m training.train --pairs build/nli/taught.npz --start build/nli/before.npz \\
         --out build/nli/taught0 --seed 0
       (the same for taught1, with --seed 1)
       python -m training.carry mean build/nli/taught0/best.npz build/nli/taught1/best.npz \\
         build/nli/student.npz
\b
The bias towards the two sides was chosen on three in ten of the validation claims (with
training.choose_bias of commit 50cf32d). These commands add it, measure the model, and fit the
temperature:
\b
       python -m training.carry bias build/nli/student.npz build/nli/best.npz \\
         --supports .5 --contradicts .4
       python -m training.export --weights build/nli/best.npz --pairs build/nli/pairs.npz \\
         --tokenizer build/nli/tokenizer.json --out build/nli/model
       python -m training.groups --data DATA --out build/groups
       conflictscore bench conflict-detection --labeler nli:model=build/nli/model \\
         --data build/groups/SET_groups.jsonl ... --out build/nli/figures.jsonl
       python -m training.calibrate --model build/nli/model --sample 300 \\
         --out build/nli/model/calibration.json build/groups/SET_groups.jsonl ...
\b
The bundled model's seventh stage learned from the corpus of natural cases, and started from the
model in commit 764c115c (docs/findings/nli-model.md). After these commands, copy model.onnx,
tokenizer.json, config.json and calibration.json from build/mini/model to
conflictscore/labelers/nli/minilm:
\b
       python -m training.carry unpack --out build/mini
       python -m training.held --data DATA --times 12 --out build/held12.jsonl
       python -m training.build_natural --data DATA --held build/held12.jsonl \\
         --tokenizer build/mini/tokenizer.json --entities 300 --measured 15 \\
         --out build/natural12.npz
       python -m training.train --pairs build/natural12.npz --start build/mini/start.npz \\
         --frozen 3 --rate 1.5e-4 --averaged .5 --taught-share .5 --dropout .05 \\
         --batch-tokens 2048 --epochs 3 --threads 2 --out build/next
       python -m training.carry part build/mini/start.npz build/next/best.npz build/part.npz \\
         --share .6
       python -m training.export --weights build/part.npz --pairs build/natural12.npz \\
         --tokenizer build/mini/tokenizer.json --out build/mini/model
       python -m training.calibrate --model build/mini/model --sample 90 \\
         --out build/mini/model/calibration.json build/groups/SET_groups.jsonl ...
\b
nli-mpnet's fifth stage learned from the corpus of natural cases. It trained products of narrow
matrices beside the matrices of the upper layers (docs/findings/nli-model.md), and started from the
model in commit 10beeb3a. The last commands write the folder that comes with the package:
\b
       python -m training.held --data DATA --larger --out build/held.jsonl
       python -m training.build_natural --data DATA --held build/held.jsonl \\
         --tokenizer build/teacher/tokenizer.json --entities 300 --measured 15 \\
         --out build/natural.npz
       python -m training.train --pairs build/natural.npz --start build/teacher/start.npz \\
         --rank 16 --frozen 6 --rate 6e-4 --averaged .5 --taught-share .5 --dropout .05 \\
         --batch-tokens 2048 --epochs 3 --threads 2 --out build/next
       python -m training.carry bias build/next/learned.npz build/next/rarer.npz --contradicts -.46
       python -m training.next_stage --learned build/next/rarer.npz --share .65 --out build/mpnet
       python -m training.groups --data DATA --out build/groups
       python -m training.calibrate --model nli-mpnet --sample 45 \\
         --out build/mpnet/calibration.json build/groups/SET_groups.jsonl ...
"""


def _with_settings(command: Any) -> Any:
    for field in reversed(fields(Settings)):
        option = click.option(
            f"--{field.name.replace('_', '-')}",
            default=field.default,
            show_default=True,
            type=_CHOICES.get(field.name),
        )
        command = option(command)
    return command


@click.command(help=__doc__, epilog=_RUN_BOOK)
@click.option("--pairs", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--start", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--minutes", default=1e9, help="Stop after this many minutes; resume later.")
@click.option("--save-minutes", default=5.0, show_default=True, help="Time between checkpoints.")
@click.option("--threads", default=1, show_default=True, help="Number of threads without a GPU.")
@_with_settings
def main(
    pairs: Path,
    start: Path,
    out: Path,
    minutes: float,
    save_minutes: float,
    threads: int,
    **settings: Any,
) -> None:
    """Run the training, and report its progress."""
    import torch

    from training.trainer import Trainer

    torch.set_num_threads(threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        trainer = Trainer(
            load_packed(pairs), weights.load(start), out, Settings(**settings), device=device
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    trainer.run(minutes=minutes, save_minutes=save_minutes, say=click.echo)
    if not trainer.finished:
        click.echo(f"stopped in epoch {trainer.epoch + 1}, step {trainer.step}: run it again")
        sys.exit(_UNFINISHED)
    click.echo(f"finished: best mean macro-F1 {trainer.best:.4f}, in {out / 'best.npz'}")


if __name__ == "__main__":
    main()
