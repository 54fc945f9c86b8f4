"""The embedded model: a small language model on this machine, for people without any API key.

A model file is fetched once into the user's cache folder, checked, and served by llama.cpp through
the same kind of endpoint that every other model is reached by.
"""

from pathlib import Path

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.models.local.catalog import CATALOG, DEFAULT
from conflictscore.models.local.server import CONTEXT_WINDOW, LocalServer, shared_server
from conflictscore.storage.fetching import fetch_weights, fetch_with_bar, fetched, weights_dir
from conflictscore.storage.weights import Weights

__all__ = [
    "CATALOG",
    "CONTEXT_WINDOW",
    "DEFAULT",
    "LocalServer",
    "Weights",
    "fetch_weights",
    "fetch_with_bar",
    "fetched",
    "resolve",
    "shared_server",
    "weights_dir",
]


def resolve(spec: str) -> Weights | Path:
    """What the part of a model spec after ``local:`` means.

    Args:
        spec: Empty for the default, a name of the catalog, or the path of a GGUF file; a path is
            what has a separator in it or ends in ``.gguf``.

    Raises:
        InputError: There is no file at the path.
        ConfigurationError: The name is not known.
    """
    if not spec:
        return DEFAULT
    if weights := CATALOG.get(spec):
        return weights
    if "/" in spec or "\\" in spec or spec.endswith(".gguf"):
        try:
            path = Path(spec).expanduser()
            found = path.is_file()
        except (OSError, RuntimeError, ValueError):
            found = False
        if not found:
            raise InputError(f"there is no model file {spec}")
        return path
    raise ConfigurationError(
        f"unknown local model {spec!r}; known are {', '.join(CATALOG)}, or give the path of a"
        " .gguf file"
    )
