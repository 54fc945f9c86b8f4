"""Options of a multiple choice: their letters, and the probability of each."""

from collections.abc import Mapping, Sequence
from math import exp, fsum

from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter, begin_cost, stored_cost, take_cost
from conflictscore.prompts import PromptSet, material
from conflictscore.records import Answer

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""In the order of the options."""


def form_of(options: Sequence[str], *, weighed: bool = False) -> str:
    """The first words of a template's name.

    The paper's templates are for two options and a reply such as ``(A)``. A letter can be weighed
    only where the reply begins with it.
    """
    if len(options) > 2 or weighed:
        return "options"
    return "multiple_choice" if options else "free_form"


def option_fields(options: Sequence[str], *, weighed: bool = False) -> dict[str, str]:
    """The options as fields of these templates; none in free form."""
    if not options:
        return {}
    if form_of(options, weighed=weighed) == "multiple_choice":
        return {"option_a": material(options[0]), "option_b": material(options[1])}
    letters = LETTERS[: len(options)]
    lines = (f"({letter}) {material(one)}" for letter, one in zip(letters, options, strict=True))
    named = f"{', '.join(letters[:-1])} or {letters[-1]}"
    return {"options": "\n".join(lines), "letters": named}


async def weigh(
    model: LanguageModel,
    prompt: str,
    options: Sequence[str],
    prompts: PromptSet,
    meter: UsageMeter,
) -> Answer:
    """The likeliest option by the probabilities of the letters as the first token of the reply.

    They are normalised over the options; a letter that the server does not report has at most what
    the reported tokens leave over.
    """
    letters = LETTERS[: len(options)]

    def read(logprobs: Mapping[str, float]) -> Answer:
        weights = [exp(logprobs[letter]) for letter in letters]
        option = max(range(len(options)), key=weights.__getitem__)
        total = fsum(weights)
        return Answer(
            text=options[option],
            option=option,
            probabilities=tuple(weight / total for weight in weights),
        )

    cache = model.cache if model.deterministic and model.identity is not None else None
    key = {"letters to": prompt, "of": letters, "by": model.identity}
    stored = {} if cache is None else await cache.get_async(key)
    if "logprobs" in stored:
        meter.cached(stored_cost(stored), model.name)
        return read(stored["logprobs"])
    begin_cost()
    logprobs = await model.ask_letter(prompt, letters, dict, prompts=prompts, meter=meter)
    if cache is not None:
        cache.put(key, {"logprobs": logprobs, **take_cost()})
    return read(logprobs)
