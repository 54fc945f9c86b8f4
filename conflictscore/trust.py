"""A user's table of weights for documents: by host, domain and type.

```toml
default = 1                  # a document that nothing below names

[hosts]                      # without www.; this host alone
"blog.example.org" = 0.2

[domains]                    # as registered, with every host of it
"example.org" = 2
"content-farm.com" = 0       # left out

[types]                      # the document's metadata "type", or the kind of its file
"forum" = 0.5
"pdf" = 1.5
```

The first that names a document gives its weight: its host, its domain, the type in its metadata,
the kind of its file, the default.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Document, first_fault
from conflictscore.retrieval.domains import host_of, registrable_domain
from conflictscore.storage.toml_file import read_toml

__all__ = ["TrustTable"]

_MOST = 1_000
"""The largest weight: sums of any number of them are numbers still."""
_Weight = Annotated[float, Field(ge=0, le=_MOST, allow_inf_nan=False)]

_NAME = re.compile(r"[a-z0-9_.:-]+")
_FILE_KIND = re.compile(r"\.[a-z0-9]{1,5}")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    default: _Weight = 1.0
    hosts: dict[str, _Weight] = Field(default_factory=dict)
    domains: dict[str, _Weight] = Field(default_factory=dict)
    types: dict[str, _Weight] = Field(default_factory=dict)


class TrustTable:
    """Weights for documents, from a user's table of their sources."""

    def __init__(self, table: Mapping[str, Any], where: str = "trust") -> None:
        """Take a table with the keys of the module's example, which errors call ``where``.

        Raises:
            InputError: A key is unknown, a host or domain is none, or a weight is no number from 0
                to 1,000; names the field.
        """
        if "dates" in table:
            raise InputError(f"{where}, field dates: dates are no longer weighed; leave it out")
        for field in ("hosts", "domains"):
            named = table.get(field)
            for key, value in named.items() if isinstance(named, Mapping) else ():
                if isinstance(value, Mapping):
                    raise InputError(
                        f"{where}, field {field}.{key}: a table and not a weight; quote a name with"
                        f' dots in it, as "{key}.{next(iter(value), "")}"'
                    )
        try:
            self._rules = _Table.model_validate(dict(table))
        except ValidationError as error:
            field, why = first_fault(error)
            raise InputError(f"{where}, field {field}: {why}") from None
        self._hosts = _by_name(self._rules.hosts, f"{where}, field hosts", domains=False)
        self._domains = _by_name(self._rules.domains, f"{where}, field domains", domains=True)
        self._types = _by_kind(self._rules.types, f"{where}, field types")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a table from a TOML file.

        Raises:
            InputError: The file cannot be read, or as for a table; names file and field.
        """
        return cls(read_toml(path), str(path))

    @classmethod
    def open(cls, given: "TrustTable | Mapping[str, Any] | str | Path") -> "TrustTable":
        """A table, from its TOML file, from a mapping with the same content, or as it is.

        Raises:
            InputError: There is no such file, or as for :meth:`read`.
        """
        if isinstance(given, TrustTable):
            return given
        if isinstance(given, Mapping):
            return cls(given)
        if not isinstance(given, str | Path):
            raise InputError(f"trust is {given!r}; give a TOML file or a mapping")
        if not Path(given).exists():
            raise InputError(f"trust is {str(given)!r}; there is no such file")
        return cls.read(Path(given))

    @property
    def described(self) -> dict[str, Any]:
        """The table as plain JSON, for a log; what it leaves to the defaults is not in it."""
        return self._rules.model_dump(mode="json", exclude_defaults=True)

    def weights(self, documents: Sequence[Document]) -> dict[int, float]:
        """A weight for each document, at least 0."""
        return {document.number: self._source(document) for document in documents}

    def _source(self, document: Document) -> float:
        host, kind = host_of(document.url), document.metadata.get("type")
        for table, name in (
            (self._hosts, host and host.removeprefix("www.")),
            (self._domains, registrable_domain(document.url)),
            (self._types, kind.strip().casefold() if isinstance(kind, str) else None),
            (self._types, _file_kind(document.url)),
        ):
            if name and name in table:
                return table[name]
        return self._rules.default


def _by_name(named: Mapping[str, float], where: str, *, domains: bool) -> dict[str, float]:
    """Weights by host or domain, written as addresses have them."""
    made: dict[str, float] = {}
    for given, weight in named.items():
        name = given.strip().casefold().removeprefix("www.").rstrip(".")
        host = host_of(f"https://{name}")
        if not host or not _NAME.fullmatch(host) or name not in (host, _unicode(host)):
            raise InputError(f"{where}.{given}: it is no {'domain' if domains else 'host'}")
        if domains and (registered := registrable_domain(f"https://{name}")) != host:
            raise InputError(f"{where}.{given}: it is a host of {registered}; list it under hosts")
        if domains and registrable_domain(f"https://a.{name}") == f"a.{host}":
            raise InputError(
                f"{where}.{given}: domains are registered under it, so it is not one itself"
            )
        if host in made:
            raise InputError(f"{where}.{given}: it has a weight already, in a different spelling")
        made[host] = weight
    return made


def _by_kind(named: Mapping[str, float], where: str) -> dict[str, float]:
    made: dict[str, float] = {}
    for given, weight in named.items():
        kind = given.strip().casefold().removeprefix(".")
        if not kind or kind in made:
            why = "it has a weight already, in a different spelling" if kind else "it is empty"
            raise InputError(f"{where}.{given}: {why}")
        made[kind] = weight
    return made


def _unicode(host: str) -> str:
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host


def _file_kind(url: str) -> str | None:
    """The ending of a file's name, or of an address's path, in small letters without its dot."""
    try:
        path = urlsplit(url).path if host_of(url) else url
    except ValueError:
        return None
    ending = PurePosixPath(path.replace("\\", "/")).suffix.lower()
    return ending.removeprefix(".") if _FILE_KIND.fullmatch(ending) else None
