"""A user's table of weights: which sources it names, which entry takes precedence, and errors."""

from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import InputError
from conflictscore.records import Document
from conflictscore.trust import TrustTable

PAPER = Document(number=1, text="a", url="https://www.Paper.example.org/a/b.html?x=1")
FORUM = Document(number=2, text="b", url="http://example.org:8080/c", metadata={"type": "Forum"})
SCAN = Document(number=3, text="c", url="notes/scan.PDF")
NOTE = Document(number=4, text="d")
DOCUMENTS = (PAPER, FORUM, SCAN, NOTE)


def weights(table: dict[str, Any], *documents: Document) -> list[float]:
    return list(TrustTable(table).weights(documents or DOCUMENTS).values())


def test_an_empty_table_weighs_all_alike() -> None:
    assert weights({}) == [1, 1, 1, 1]
    assert weights({"default": 0.5}) == [0.5] * 4


def test_a_domain_covers_its_hosts_and_a_host_itself_alone() -> None:
    assert weights({"domains": {"example.org": 2}}) == [2, 2, 1, 1]
    assert weights({"hosts": {"example.org": 2}}) == [1, 2, 1, 1]
    assert weights({"hosts": {"WWW.paper.Example.org": 2}}) == [2, 1, 1, 1]


def test_a_name_may_be_written_in_its_own_script() -> None:
    page = Document(number=1, text="a", url="https://www.bücher.example/x")
    assert weights({"domains": {"Bücher.example": 2}}, page) == [2]
    assert weights({"hosts": {"xn--bcher-kva.example": 3}}, page) == [3]


def test_types_are_those_of_metadata_or_else_the_kind_of_the_file() -> None:
    assert weights({"types": {" Forum": 0.5, "pdf": 3, "html": 2}}) == [2, 0.5, 3, 1]


@pytest.mark.parametrize("spelling", [".pdf", "PDF", " .Pdf "])
def test_a_type_may_be_written_as_the_ending_of_a_file(spelling: str) -> None:
    assert weights({"types": {spelling: 0}}) == [1, 1, 0, 1]


def test_host_goes_before_domain_before_type_before_default() -> None:
    table: dict[str, Any] = {"default": 9, "types": {"forum": 4}}
    assert weights(table) == [9, 4, 9, 9]
    table["domains"] = {"example.org": 3}
    assert weights(table) == [3, 3, 9, 9]
    table["hosts"] = {"paper.example.org": 0}
    assert weights(table) == [0, 3, 9, 9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("domain = 1", "field domain: Extra inputs are not permitted"),
        ('default = "high"', "field default: Input should be a valid number"),
        ("default = -1", "field default: Input should be greater than or equal to 0"),
        ("default = nan", "field default: Input should be"),
        ("default = true", "field default: Input should be a valid number"),
        ('[domains]\n"a.org" = 1001', "field domains.a.org: Input should be less than or equal"),
        ("[domains]\na.org = 1", "field domains.a: Input should be a valid number"),
        ('[domains]\n"b.a.org" = 1', "field domains.b.a.org: not a registered domain"),
        ('[domains]\n"co.uk" = 1', "field domains.co.uk: not a registered domain"),
        ('[domains]\n"a.org" = 1\n"A.org" = 2', "field domains.A.org: already has a weight"),
        ('[types]\n"pdf" = 1\n".PDF" = 2', "field types..PDF: already has a weight"),
        ('[types]\n" . " = 1', "field types. . : not a type"),
        ('[hosts]\n"https://a.org" = 1', "field hosts.https://a.org: not a host"),
        ('[hosts]\n"a.org/b" = 1', "field hosts.a.org/b: not a host"),
        ('[hosts]\n"*.a.org" = 1', "field hosts.*.a.org: not a host"),
        ("default 1", "it is not a TOML file"),
    ],
)
def test_a_bad_table_is_refused_in_one_line_that_names_file_and_field(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "trust.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError) as refused:
        TrustTable.open(file)
    message = str(refused.value)
    assert message.startswith(f"{file}")
    assert said in message
    assert "\n" not in message
