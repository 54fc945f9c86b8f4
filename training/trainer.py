"""Trains a model; training can be stopped at any step, and resumes from there."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from training import weights
from training.batches import Batch, assemble, measured
from training.encoder import Parameters, as_weights, frozen_names, parameters
from training.figures import mean_macro_f1
from training.kept import KeptActivations
from training.learning import Run, loss_of, measure, on, taught_loss
from training.low_rank import add_products, learned_in
from training.packed import Packed
from training.plan import Epoch, Plan, Settings

_MOST_NORM = 1.0  # gradients are scaled down to this norm, so that one odd batch cannot ruin a run
_AVERAGING = 0.02
"""Rate of the moving average, which therefore covers about the last 50 steps."""
_DECAYED = 2
"""Weight decay applies to arrays with at least this many dimensions, not to biases and norms."""


class Trainer:
    """One run in one folder.

    The folder gets ``checkpoint.pt``, from which the run resumes; ``best.npz``, the weights of the
    epoch with the best mean macro-F1 on the validation sets; ``learned.npz``, the trained weights
    of the whole run, averaged if that was requested; and ``log.jsonl``, the figures of each epoch.
    """

    def __init__(
        self,
        packed: Packed,
        start: weights.Weights,
        folder: Path,
        settings: Settings,
        *,
        device: str,
    ) -> None:
        """Begin a run, or resume the one in the folder.

        Raises:
            ValueError: The run in the folder has different settings, pairs or layers; the pairs
                were made with the tokenizer of a different encoder; or the pairs have no
                probabilities of a teacher.
        """
        if ("relative" in start) != (len(packed.marks.middle) > 1):
            raise ValueError(
                "the pairs were made with the tokenizer of another encoder: make new ones with the"
                " tokenizer.json that was written beside the weights"
            )
        if packed.taught is None:
            raise ValueError("the pairs have no teacher's labels: give a file by training.teach")
        self._pairs_sha256 = packed.sha256()
        self._packed, self._folder, self._settings = packed, folder, settings
        self._device = device
        self._plan = Plan(packed, settings)
        self._validation = measured(packed, settings.validated, settings.seed)
        self.epoch = self.step = 0
        self.best = 0.0
        self._p = parameters(start, device=device)
        for name in frozen_names(self._p, settings.frozen):
            self._p[name].requires_grad_(False)
        if settings.rank:
            add_products(self._p, settings.rank, frozen=settings.frozen, seed=settings.seed)
        self._mean: Parameters = {}
        self._optimizer = _optimizer(self._p, settings)
        self._kept: KeptActivations | None = None
        torch.manual_seed(settings.seed)
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "checkpoint.pt").exists():
            self._take_up()

    @property
    def finished(self) -> bool:
        """Whether the run is complete."""
        return self.epoch >= self._settings.epochs

    def run(self, *, minutes: float, save_minutes: float, say: Callable[[str], None]) -> None:
        """Train until the run is finished or the time is up; progress is saved either way.

        Args:
            minutes: Stop after this many minutes, at the end of a step.
            save_minutes: Minutes between checkpoints, at most.
            say: Called with progress messages.
        """
        end = time.monotonic() + 60 * minutes
        with _stop_signals() as stopped:
            while not self.finished:
                if not self._epoch(end, 60 * save_minutes, stopped, say):
                    break
                self._close_epoch(say)
        self._save()

    def _epoch(
        self, end: float, save_every: float, stopped: list[int], say: Callable[[str], None]
    ) -> bool:
        """Train an epoch; return whether it was completed."""
        epoch = self._plan.epoch(self.epoch)
        model = self._learning_model(say)
        begun, first, saved = time.monotonic(), self.step, time.monotonic()
        total = torch.zeros((), device=self._device)
        while self.step < len(epoch.batches):
            now = time.monotonic()
            if now >= end or stopped:
                return False
            if now - saved > save_every:
                self._save()
                saved = now
            batch = assemble(self._packed, epoch.batches[self.step])
            said = model(batch, self._settings.dropout)
            self._learn(loss := self._loss(said, batch), epoch.rates[self.step])
            self._average()
            total += loss.detach()
            self.step += 1
            if self.step % 100 == 0 or self.step == len(epoch.batches):
                say(_line(self, epoch, begun, first, float(total)))
        return True

    def _learning_model(self, say: Callable[[str], None]) -> Run:
        """Return a function that runs the model on training pairs, or only its trained layers."""
        frozen = self._settings.frozen
        if self._device != "cpu" or frozen < self._settings.keep_from:
            return on(self._p, device=self._device)
        if self._kept is None:
            path = self._folder / "activations.f16"
            self._kept = KeptActivations(self._packed, self._p, frozen, path, say=say)
        return self._kept.logits

    def _loss(self, said: Tensor, batch: Batch) -> Tensor:
        loss = loss_of(said, batch, smoothing=self._settings.smoothing)
        return torch.lerp(loss, taught_loss(said, batch), self._settings.taught_share)

    def _learn(self, loss: Tensor, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        clip_grad_norm_(self._p.values(), _MOST_NORM)
        self._optimizer.step()

    def _average(self) -> None:
        """Update the average of the trained weights, in the last steps."""
        averaged = self._settings.averaged
        if not averaged or self._plan.progress(self.epoch, self.step) < 1 - averaged:
            return
        if not self._mean:
            self._mean = {name: value.clone() for name, value in learned_in(self._p).items()}
        for name, value in self._mean.items():
            value.lerp_(self._p[name].detach(), _AVERAGING)

    def _use_average(self) -> None:
        with torch.no_grad():
            for name, value in self._mean.items():
                self._p[name].copy_(value)

    def _close_epoch(self, say: Callable[[str], None]) -> None:
        if self.epoch == self._settings.epochs - 1:
            self._use_average()
            learned = as_weights(learned_in(self._p))
            weights.save(learned, self._folder / "learned.npz")
        model, tokens = on(self._p, device=self._device), self._settings.batch_tokens
        sets = measure(model, self._packed, self._validation, tokens=tokens)
        mean = mean_macro_f1(sets)
        self._log({"epoch": self.epoch, "mean_macro_f1": mean}, sets)
        for name, one in sets.items():
            say(
                f"  {name:<20} {one.pairs:>6} pairs  accuracy {one.accuracy:.3f}"
                f"  macro-F1 {one.macro_f1:.3f}  {one.confusion}"
            )
        say(f"epoch {self.epoch + 1} of {self._settings.epochs}: mean macro-F1 {mean:.4f}")
        if mean > self.best:
            self.best = mean
            weights.save(as_weights(self._p), self._folder / "best.npz")
        self.epoch, self.step = self.epoch + 1, 0
        self._save()

    def _log(self, about: dict[str, Any], sets: dict[str, Any]) -> None:
        line = {**about, "sets": {name: one._asdict() for name, one in sets.items()}}
        with (self._folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def _save(self) -> None:
        path = self._folder / "checkpoint.pt"
        part = path.with_suffix(".part")
        state = {
            "settings": asdict(self._settings),
            "pairs_sha256": self._pairs_sha256,
            "epoch": self.epoch,
            "step": self.step,
            "best": self.best,
            "parameters": {name: value.detach() for name, value in self._p.items()},
            "optimizer": self._optimizer.state_dict(),
            "chance": torch.get_rng_state(),
            "mean": self._mean,
        }
        if self._device == "cuda":
            state["cuda_chance"] = torch.cuda.get_rng_state_all()
        torch.save(state, part)
        part.replace(path)

    def _take_up(self) -> None:
        state = torch.load(self._folder / "checkpoint.pt", map_location="cpu", weights_only=True)
        if other := self._differences(state):
            raise ValueError(
                f"{self._folder} has a run with another {', '.join(other)}: give another --out,"
                " or the same values as that run"
            )
        with torch.no_grad():
            for name, value in state["parameters"].items():
                self._p[name].copy_(value)
        self._optimizer.load_state_dict(state["optimizer"])
        self._mean = state["mean"]
        torch.set_rng_state(state["chance"])
        if self._device == "cuda" and "cuda_chance" in state:
            torch.cuda.set_rng_state_all(state["cuda_chance"])
        self.epoch, self.step, self.best = state["epoch"], state["step"], state["best"]

    def _differences(self, state: dict[str, Any]) -> list[str]:
        """Return the settings in which a checkpoint's run differs from this run.

        Only the names and shapes of the weights are compared, since a run may resume with other
        values.
        """
        here, there = asdict(self._settings), state["settings"]
        found = sorted(name for name in here | there if here.get(name) != there.get(name))
        if state["pairs_sha256"] != self._pairs_sha256:
            found.append("--pairs")
        if _shapes(state["parameters"]) != _shapes(self._p):
            found.append("--start")
        return found


def _shapes(p: Parameters) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in p.items()}


def _optimizer(p: Parameters, settings: Settings) -> torch.optim.AdamW:
    learned = [value for value in p.values() if value.requires_grad]
    groups = [
        {"params": [v for v in learned if v.dim() >= _DECAYED], "weight_decay": settings.decay},
        {"params": [v for v in learned if v.dim() < _DECAYED], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.rate)


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Yield a list that is empty until the process is asked to end."""
    seen: list[int] = []
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda number, frame: seen.append(number)) for kind in kinds]
    try:
        yield seen
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


def _line(trainer: Trainer, epoch: Epoch, begun: float, first: int, loss: float) -> str:
    steps = trainer.step - first
    pace = (time.monotonic() - begun) / steps
    return (
        f"epoch {trainer.epoch + 1}: step {trainer.step} of {len(epoch.batches)},"
        f" loss {loss / steps:.4f}, {pace:.3f} s a step"
    )
