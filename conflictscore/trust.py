"""Reads a user's table of weights for documents by host, domain and type.

```toml
default = 1                  # every document that no entry below matches

[hosts]                      # only this host; write it without www.
"blog.example.org" = 0.2

[domains]                    # a registered domain, with all its hosts
"example.org" = 2
"content-farm.com" = 0       # its documents have no vote

[types]                      # the document's metadata "type", or the ending of its file name
"forum" = 0.5
"pdf" = 1.5
```

The first match decides the weight of a document. The host is looked up first, then its domain, then
the type in its metadata, and last its file type. If the table has no entry for any of the four, the
default applies.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Document, first_fault
from conflictscore.retrieval.domains import host_of, registrable_domain
from conflictscore.storage.toml_file import read_toml
from conflictscore.suffixes import load_suffixes

_MOST = 1_000
"""The largest allowed weight. The limit keeps sums of weights finite."""
_Weight = Annotated[float, Field(ge=0, le=_MOST, allow_inf_nan=False)]

# A host, perhaps with a port.
_NAME = re.compile(r"[\w.:-]+")


class _Table(BaseModel):
    """A table of weights, as in a TOML file. Documents of weight 0 have no vote."""

    model_config = ConfigDict(extra="forbid", strict=True)

    default: _Weight = 1.0
    hosts: dict[str, _Weight] = Field(default_factory=dict)
    domains: dict[str, _Weight] = Field(default_factory=dict)
    types: dict[str, _Weight] = Field(default_factory=dict)


class TrustTable:
    """Weights of documents, according to a user's table of hosts, domains and types."""

    def __init__(self, table: Mapping[str, Any], where: str = "trust") -> None:
        """Read a table with the keys shown in this module's example.

        Error messages call the table ``where``.

        Raises:
            InputError: A key is unknown, a host or domain is invalid, or a weight is not from 0 to
                1,000. The message names the field.
        """
        try:
            self._rules = _Table.model_validate(dict(table))
        except ValidationError as error:
            field, why = first_fault(error)
            raise InputError(f"{where}, field {field}: {why}") from None
        self._hosts = _by_host(self._rules.hosts, f"{where}, field hosts")
        self._domains = _by_host(self._rules.domains, f"{where}, field domains", registered=True)
        self._types = _by_type(self._rules.types, f"{where}, field types")

    @classmethod
    def open(cls, table: "TrustTable | Mapping[str, Any] | str | Path") -> "TrustTable":
        """Read a table from a TOML file or an equivalent mapping; a TrustTable is returned as is.

        Raises:
            InputError: The file cannot be read, or its table is invalid. The message names the file
                and the field.
        """
        if isinstance(table, TrustTable):
            return table
        if isinstance(table, Mapping):
            return cls(table)
        if not isinstance(table, str | Path):
            raise InputError(f"trust is {table!r}; give a TOML file or a mapping")
        # read_toml reports all other faults, such as a name that is too long
        with suppress(OSError):
            if not Path(table).exists():
                raise InputError(f"trust is {str(table)!r}; there is no such file")
        return cls(read_toml(Path(table)), str(table))

    @property
    def described(self) -> dict[str, Any]:
        """The table as plain JSON for a log. Sources with the default weight are omitted."""
        return self._rules.model_dump(mode="json", exclude_defaults=True)

    def weights(self, documents: Sequence[Document]) -> dict[int, float]:
        """Return the weight of each document, at least 0, by document number."""
        return {document.number: self._weight(document) for document in documents}

    def _weight(self, document: Document) -> float:
        host, kind = host_of(document.url), document.metadata.get("type")
        for table, name in (
            (self._hosts, host and host.removeprefix("www.")),
            (self._domains, registrable_domain(document.url)),
            (self._types, _type_name(kind) if isinstance(kind, str) else None),
            (self._types, _file_kind(document.url)),
        ):
            if name and name in table:
                return table[name]
        return self._rules.default


def _file_kind(url: str) -> str:
    with suppress(ValueError):  # urlsplit raises ValueError for addresses with stray brackets
        return PurePosixPath(urlsplit(url).path).suffix.lower().removeprefix(".")
    return ""


def _type_name(name: str) -> str:
    """Return a type as the table spells it: ".PDF" becomes "pdf"."""
    return name.strip().casefold().removeprefix(".")


def _by_type(weights_by_name: Mapping[str, float], where: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for raw_name, weight in weights_by_name.items():
        name = _type_name(raw_name)
        if not name:
            raise InputError(f"{where}.{raw_name}: not a type; give a name such as pdf")
        if name in weights:
            raise InputError(f"{where}.{raw_name}: already has a weight, in a different spelling")
        weights[name] = weight
    return weights


def _by_host(
    weights_by_name: Mapping[str, float], where: str, *, registered: bool = False
) -> dict[str, float]:
    """Return the weights by host or domain, with names normalised as in addresses.

    With ``registered``, every name must be a registered domain, not a host in it.
    """
    weights: dict[str, float] = {}
    for raw_name, weight in weights_by_name.items():
        name = raw_name.strip().casefold().removeprefix("www.")
        host = host_of(f"https://{name}") if _NAME.fullmatch(name) else None
        if host is None or (registered and load_suffixes().privatesuffix(host) != host):
            what = "registered domain; put a host of a domain under hosts"
            raise InputError(f"{where}.{raw_name}: not a {what if registered else 'host'}")
        if host in weights:
            raise InputError(f"{where}.{raw_name}: already has a weight, in a different spelling")
        weights[host] = weight
    return weights
