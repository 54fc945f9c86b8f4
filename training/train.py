"""Train the NLI model: on made pairs, on pairs that people labelled, on answers to questions.

It needs torch and numpy, the file ``pairs.npz`` that ``training.build_pairs`` wrote and weights to
start from. Stopped in any way, or after ``--minutes``, the same command goes on where it was. The
exit code is 3 where there is more to do.
"""

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from training import weights
from training.packed import load_packed
from training.plan import Settings

__all__ = ["main"]

_CHOICES: dict[str, Any] = {
    "pooling": click.Choice(["mean", "cls"]),
    "made_share": click.FloatRange(0, 1, max_open=True),
    "taught_share": click.FloatRange(0, 1),
}
_UNFINISHED = 3
_RUN_BOOK = """\b
The model that comes with the package was trained in six stages on one core with bfloat16. The
first two took 1 h 50:
\b
       python -m training.carry start --out build/nli
       python -m training.build_pairs --data DATA --tokenizer build/nli/tokenizer.json \\
         --out build/nli --rounds 3 --pair-tokens 128
       python -m training.train --pairs build/nli/pairs.npz --start build/nli/start.npz \\
         --out build/nli/run --synthetic-epochs 1 --epoch-pairs 40000 --human-epochs 3 \\
         --made-share 0.3 --human-rate 5e-5 --batch-tokens 4096 --windows 2 --validated 100
\b
The third, on answers to questions and on passages that say nothing of a claim, began from their
int8 model, which was bundled before (OLD). It takes two seeds, some 15 minutes of a core each; the
mean of their weights, and of a fifth of the start; and a bias towards the two sides:
\b
       python -m training.carry unpack --model OLD --out build/nli
       python -m training.build_pairs --data DATA --tokenizer build/nli/tokenizer.json \\
         --out build/nli --rounds 1 --pair-tokens 128
       python -m training.train --pairs build/nli/pairs.npz --start build/nli/start.npz \\
         --out build/nli/run0 --seed 0 --synthetic-epochs 0 --human-epochs 0 \\
         --question-epochs 2 --drawn-questions 2400 --drawn-human 1600 --drawn-general 1600 \\
         --drawn-made 400 --drawn-neutral 1600 --question-rate 6e-5 --dropout 0 \\
         --batch-tokens 3072 --windows 2 --frozen 2 --validated 60
       python -m training.carry mean build/nli/run0/best.npz build/nli/run1/best.npz \\
         build/nli/mean.npz
       python -m training.carry mean build/nli/start.npz build/nli/mean.npz build/nli/mixed.npz \\
         --share .2 --share .8
       python -m training.carry bias build/nli/mixed.npz build/nli/best.npz \\
         --supports .6 --contradicts .5
\b
The fourth began from the int8 model of the third (OLD), with more pairs, for half an hour of a core
a seed. Its second seed gave sets that label otherwise a head of their own. Then how readily a side
is taken was chosen anew:
\b
       python -m training.carry unpack --model OLD --out build/nli
       python -m training.build_pairs --data DATA --tokenizer build/nli/tokenizer.json \\
         --out build/nli --rounds 1 --pair-tokens 128
       python -m training.train --pairs build/nli/pairs.npz --start build/nli/start.npz \\
         --out build/nli/run0 --seed 0 --synthetic-epochs 0 --human-epochs 0 \\
         --question-epochs 2 --drawn-questions 5500 --drawn-human 2400 --drawn-general 1400 \\
         --drawn-made 300 --drawn-neutral 2200 --question-rate 1e-4 --dropout 0 \\
         --batch-tokens 3072 --windows 2 --frozen 1 --validated 60
       (run1 likewise, with --seed 1 --drawn-questions 5000 --drawn-general 5000
         --drawn-neutral 1600 --own-head true)
       python -m training.carry mean build/nli/start.npz build/nli/run0/best.npz \\
         build/nli/run1/best.npz build/nli/mixed.npz --share .15 --share .25 --share .6
       python -m training.export --weights build/nli/mixed.npz --pairs build/nli/pairs.npz \\
         --tokenizer build/nli/tokenizer.json --out build/nli/unbiased
       python -m training.decision --data DATA --model build/nli/unbiased --out build/windows.npz
       python -m training.choose_bias --data DATA --windows build/windows.npz
       python -m training.carry bias build/nli/mixed.npz build/nli/best.npz \\
         --supports .6 --contradicts .6
\b
On a machine with a GPU that gets this repository and at most 64 MiB of other files, keeps files for
a while, and ends a command after ten minutes:
\b
  1. Here, once:
       python -m training.carry start --out build/nli
       python -m training.build_pairs --data DATA --tokenizer build/nli/tokenizer.json \\
         --out build/nli
  2. Carry build/nli/start.npz and build/nli/pairs.npz, one after the other where they are too large
     together, and copy them to a folder that outlasts a command:
       mkdir -p ~/nli && cp build/nli/*.npz ~/nli
  3. There, again and again until the exit code is 0:
       python3 -m training.train --pairs ~/nli/pairs.npz --start ~/nli/start.npz \\
         --out ~/nli/run --minutes 8.5
  4. There, to bring the weights back as files of at most 15 MiB:
       python3 -m training.carry split ~/nli/run/best.npz OUT
  5. Here:
       python -m training.carry join PIECES... build/nli/best.npz
       python -m training.export --weights build/nli/best.npz --pairs build/nli/pairs.npz \\
         --tokenizer build/nli/tokenizer.json --out build/nli/model
       python -m training.evaluate --model build/nli/model --data DATA --out build/nli/figures
\b
The larger model, nli-mpnet, learned low-rank products beside MPNet's last eight layers, a step of
2,048 tokens in 2 s of two cores; its tokenizer is another, so the pairs are made anew. (Between
its two stages stood 228 steps of another run like the second, whose weights were its start.)
\b
       python -m training.carry start --encoder mpnet --out build/mpnet
       python -m training.build_pairs --data DATA --tokenizer build/mpnet/tokenizer.json \\
         --out build/mpnet --rounds 1 --pair-tokens 128
       python -m training.train --pairs build/mpnet/pairs.npz --start build/mpnet/start.npz \\
         --out build/mpnet/general --threads 2 --seed 0 --synthetic-epochs 0 --human-epochs 0 \\
         --question-epochs 1 --drawn-questions 0 --drawn-human 0 --drawn-general 21000 \\
         --drawn-made 0 --drawn-neutral 1500 --question-rate 4e-4 --dropout 0 --windows 1 \\
         --batch-tokens 2048 --frozen 4 --rank 16 --own-head true --validated 60
       python -m training.train --pairs build/mpnet/pairs.npz \\
         --start build/mpnet/general/best.npz --out build/mpnet/questions --threads 2 --seed 2 \\
         --synthetic-epochs 0 --human-epochs 0 --question-epochs 1 --drawn-questions 5500 \\
         --drawn-human 7600 --drawn-general 5000 --drawn-made 500 --drawn-neutral 2400 \\
         --question-rate 4e-4 --warmup 0.02 --dropout 0 --windows 2 --batch-tokens 2048 \\
         --frozen 4 --rank 16 --own-head true --validated 60
\b
In a third stage two runs went on from there, 75 minutes of a core each; the model is the mean of
both. `training.measure` says what it is worth before it is exported:
\b
       python -m training.train --pairs build/mpnet/pairs.npz \\
         --start build/mpnet/questions/best.npz --out build/mpnet/more11 --seed 11 \\
         --synthetic-epochs 0 --human-epochs 0 --question-epochs 1 --drawn-questions 2800 \\
         --drawn-human 5800 --drawn-general 4300 --drawn-made 700 --drawn-neutral 1200 \\
         --question-rate 3e-4 --warmup 0.03 --dropout 0 --windows 2 --batch-tokens 2048 \\
         --frozen 4 --rank 16 --own-head true --validated 60
       (more12 likewise, with --seed 12)
       python -m training.carry mean build/mpnet/more11/best.npz build/mpnet/more12/best.npz \\
         build/mpnet/mean.npz
       python -m training.measure --pairs build/mpnet/pairs.npz --weights build/mpnet/mean.npz \\
         --threads 2 --out build/mpnet/windows.npz
       python -m training.adapted --weights build/mpnet/mean.npz --out build/adapted
\b
It is trained further from build/further/start.npz, after `conflictscore model fetch nli-mpnet`:
\b
       python -m training.carry unpack --model nli-mpnet --out build/further
\b
In the fifth stage the model that comes with the package learned what nli-mpnet says, from the
weights of the fourth before their bias. In 24 minutes of two cores that labelled 18,354 pairs; two
runs took 33 minutes of a core each:
\b
       python -m training.teach --pairs build/nli/pairs.npz --tokenizer build/nli/tokenizer.json \\
         --teacher build/mpnet/questions/best.npz \\
         --teacher-tokenizer build/mpnet/tokenizer.json --threads 2 --minutes 24 \\
         --out build/nli/taught.npz
       python -m training.train --pairs build/nli/taught.npz --start build/nli/mixed.npz \\
         --out build/nli/taught0 --seed 0 --synthetic-epochs 0 --human-epochs 0 \\
         --taught-epochs 2 --dropout 0 --batch-tokens 3072 --frozen 1 --validated 60
       (taught1 likewise, with --seed 1)
       python -m training.carry mean build/nli/taught0/best.npz build/nli/taught1/best.npz \\
         build/nli/student.npz
       (then its bias, chosen and added as in the fourth stage: .4 and .1)
\b
The sixth did the same from the int8 model of the fifth, without its bias. The teacher, nli-mpnet as
it is shipped, was asked for 28 minutes of two cores about other draws. With made pairs that came to
25,741 pairs; two runs took 44 minutes of a core each:
\b
       python -m training.carry unpack --model nli-mpnet --out build/teacher
       python -m training.carry unpack --model OLD --out build/nli
       python -m training.build_pairs --data DATA --tokenizer build/nli/tokenizer.json \\
         --out build/nli --rounds 1 --pair-tokens 128
       python -m training.carry bias build/nli/start.npz build/nli/before.npz \\
         --supports -.4 --contradicts -.1
       python -m training.teach --pairs build/nli/pairs.npz --tokenizer build/nli/tokenizer.json \\
         --teacher build/teacher/start.npz --teacher-tokenizer build/teacher/tokenizer.json \\
         --seed 1 --threads 2 --minutes 28 --out build/nli/taught.npz
       (then two runs from build/nli/before.npz, and their mean, as in the fifth)
\b
Its windows, and those of means with .25, .5 and 1 of before.npz, were read as in the fourth stage;
`training.choose_bias` with all four chose the mean alone, and a bias of .5 and .4. Its temperature:
\b
       python -m training.evaluate --model build/nli/model --data DATA --out build/nli/figures
       conflictscore calibrate --labeler nli --nli-model build/nli/model --sample 300 \\
         --data build/nli/figures/groups/SET.jsonl ... --out build/nli/model/calibration.json
\b
To learn all that an encoder has instead, as was tried with MPNet's first six layers:
\b
       python -m training.carry start --encoder mpnet --layers 6 --out build/mpnet
       python -m training.build_pairs --data DATA --tokenizer build/mpnet/tokenizer.json \\
         --out build/mpnet --rounds 3 --pair-tokens 128
\b
Without --layers it has twelve, which take twice the time and lose more in int8. A step of 4,096
tokens takes 9 s of a core with six layers, 15 s with twelve, and 3 s from MiniLM. start.npz has 133
or 218 MB: to carry it to another machine, cut it in pieces with `training.carry split`.

A machine that is lost in between costs what it did since weights were last brought back: give these
as --start, with --synthetic-epochs 0 for the second stage alone.
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
@click.option("--minutes", default=1e9, help="Stop after so many, and go on another time.")
@click.option("--save-minutes", default=5.0, show_default=True, help="Time between checkpoints.")
@click.option("--threads", default=1, show_default=True, help="Where there is no GPU.")
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
    """Run, and say how it goes."""
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
