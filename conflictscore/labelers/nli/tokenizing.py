"""The tokenizer of an NLI model: pairs of premise and claim as numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from conflictscore.errors import ConfigurationError
from conflictscore.labelers.nli.folder import ModelFolder
from conflictscore.retrieval.token_windows import Vocabulary

__all__ = ["PairTokenizer", "TokenPair"]

_ROUNDED_UP = 1024
"""How many rows more than tokens an embedding matrix may have: many are rounded up."""


class TokenPair(NamedTuple):
    """A premise and a claim with the model's marks, as token numbers, and which side each is of."""

    ids: list[int]
    sides: list[int]


class PairTokenizer:
    """Turns texts into tokens. Thread-safe.

    What looks like one of the model's marks in a text is read as plain words: a document cannot
    end its premise and write a claim of its own.

    Attributes:
        largest_id: The largest token number there is.
        marks: The tokens that a pair has beside its texts'.
        truncation: The most tokens of a pair that the tokenizer was set up for, or None.
        vocabulary: How windows are measured.
    """

    def __init__(self, folder: ModelFolder) -> None:
        """Load ``tokenizer.json``.

        Raises:
            ConfigurationError: It cannot be read, or does not fit the model.
        """
        from tokenizers import Tokenizer

        source = folder.path / "tokenizer.json"
        try:
            self._tokenizer = Tokenizer.from_str(source.read_text("utf-8"))
        except Exception as error:  # the library raises a plain Exception
            raise ConfigurationError(f"cannot read {source}: {error}") from error
        truncation = self._tokenizer.truncation
        self.truncation: int | None = truncation["max_length"] if truncation else None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self.vocabulary = Vocabulary(self._starts, self.count)
        numbers = self._tokenizer.get_vocab(with_added_tokens=True)
        self.largest_id = max(numbers.values(), default=-1)
        size = self.largest_id + 1
        if folder.vocabulary and not folder.vocabulary - _ROUNDED_UP <= size <= folder.vocabulary:
            raise ConfigurationError(
                f"{source} has {size} tokens and the model {folder.vocabulary}:"
                " it is another model's tokenizer"
            )
        self.marks: int = self._tokenizer.num_special_tokens_to_add(is_pair=True)
        if not self.marks:
            raise ConfigurationError(
                f"{source} puts no special tokens around a pair: it needs a post_processor"
            )

    def count(self, text: str) -> int:
        """Tokens of a text by itself, without marks."""
        return len(self._starts(text))

    def pairs(self, premises: Sequence[str], claim: str) -> list[TokenPair]:
        """Each premise with the claim."""
        encoded = self._tokenizer.encode_batch(
            [(_readable(premise), _readable(claim)) for premise in premises]
        )
        return [TokenPair(pair.ids, pair.type_ids) for pair in encoded]

    def _starts(self, text: str) -> list[int]:
        offsets = self._tokenizer.encode(_readable(text), add_special_tokens=False).offsets
        return [start for start, _ in offsets]


def _readable(text: str) -> str:
    """Without lone surrogates, which have no bytes; as long as before."""
    return text.encode(errors="replace").decode()
