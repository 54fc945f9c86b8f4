"""Reads the fields of a reply that is YAML, or consists of tags, instead of the requested JSON.

The whole reply must have that format, since a few tagged words in prose may be a quotation from a
document. In YAML, numbers, true, false and null are read as in JSON, unless they are in quotation
marks. All other values remain strings, "NO" and "1.2.3" among them.

Limits without a stated reason were chosen by hand.
"""

import html
import json
import re
from collections.abc import Set as AbstractSet
from typing import Any

from conflictscore.models.json_text import BRACKETS, DEPTH, loads
from conflictscore.models.replies import unfenced

_MOST_CHARS = 20_000
"""Maximum length of a reply that is read, in characters; the longest verdicts have about 10,000."""
_BOLD_NAME = re.compile(
    r"^(?P<before>[ \t]{0,20}(?:- )?)\*\*(?P<name>\w[\w ]{0,30})(?::\*\*|\*\*:)",
    re.MULTILINE,
)
"""Matches a field name in bold print, as in ``**Answer:** SUPPORTS``."""
_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)
"""Matches the start of a YAML comment, which may also be part of a quotation ("our #1 lake")."""
# A number, a truth value or null, as JSON writes them. A longer number remains a string.
_JSON_SCALAR = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?|true|false|null")
# An opening or closing XML tag without attributes.
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w-]{0,40})>")
# The declaration at the head of an XML document: '<?xml version="1.0"?>'.
_DECLARATION = re.compile(r"<\?xml[^<>]{0,100}\?>")


def yaml_fields(text: str, names: AbstractSet[str]) -> dict[str, Any] | None:
    """Return the fields of a YAML mapping that has one of these names; None for other text.

    YAML with a comment, an anchor or a repeated field is refused, since parts of it would be lost
    or read twice.
    """
    bare = _BOLD_NAME.sub(r"\g<before>\g<name>:", unfenced(text))
    is_candidate = len(bare) <= _MOST_CHARS and _has_name(bare, names, r"[\"']?[ \t]?:(?:\s|$)")
    # damaged JSON may be valid YAML with a different meaning
    if not is_candidate or bare[:1] in BRACKETS or _COMMENT.search(bare):
        return None
    import yaml

    loader = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    try:
        root = yaml.compose(bare, Loader=loader)
        fields = _plain(root, set())
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    # the names become lower case, as in JSON
    fields = loads(json.dumps(fields))
    return fields if isinstance(fields, dict) else None


def _plain(node: Any, seen: set[int]) -> Any:
    """Return the value of a YAML node; raise ValueError for a repeated node or field name."""
    if id(node) in seen:  # an alias; a few aliases could stand for any number of nodes
        raise ValueError("it has an alias")
    seen.add(id(node))
    if node.id == "scalar":
        is_json = not node.style and _JSON_SCALAR.fullmatch(node.value)
        return json.loads(node.value) if is_json else node.value
    if node.id == "sequence":
        return [_plain(element, seen) for element in node.value]
    names = [_plain(name, seen) for name, _ in node.value]
    if not all(isinstance(name, str) for name in names) or len(names) > len(set(names)):
        raise ValueError("it has a field twice, or a name that is not a string")
    return {name: _plain(part, seen) for name, (_, part) in zip(names, node.value, strict=True)}


def tagged_fields(text: str, names: AbstractSet[str]) -> dict[str, Any] | None:
    """Return the elements of text that consists of tags and has one of these names; else None.

    ``<answer>SUPPORTS</answer>`` is the field ``answer``. An element is a list if all the elements
    in it have the same name, and an object if their names differ. Text next to an element,
    attributes, and repeated fields are refused.
    """
    bare = unfenced(text)
    declaration = _DECLARATION.match(bare)
    bare = bare[declaration.end() :] if declaration else bare
    if len(bare) > _MOST_CHARS or not _has_name(bare, names, ">", before="</"):
        return None
    try:
        elements = _elements(bare)
        fields = loads(json.dumps(_object_of(elements)))
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


_Element = tuple[str, Any]
"""The name of an element, and its text or its elements."""


def _elements(text: str) -> list[_Element]:
    """Return the outermost elements of text; raise ValueError for anything else in it."""
    open_names: list[str] = []
    inside: list[list[_Element]] = [[]]
    text_start = 0
    for tag in _TAG.finditer(text):
        words = text[text_start : tag.start()].strip()
        text_start = tag.end()
        if not tag["close"]:
            if words or len(open_names) == DEPTH:
                raise ValueError("it has text next to an element")
            open_names.append(tag["name"])
            inside.append([])
            continue
        elements = inside.pop()
        if not open_names or open_names.pop() != tag["name"] or (words and elements):
            raise ValueError("its tags do not match")
        content: Any = _list_or_object(elements) if elements else html.unescape(words)
        inside[-1].append((tag["name"], content))
    if open_names or text[text_start:].strip():
        raise ValueError("it has text outside its elements")
    return inside[0]


def _list_or_object(elements: list[_Element]) -> Any:
    if len({name for name, _ in elements}) == 1:
        return [content for _, content in elements]
    return _object_of(elements)


def _object_of(elements: list[_Element]) -> dict[str, Any]:
    if len(dict(elements)) < len(elements):
        raise ValueError("it has an element twice")
    return dict(elements)


def _has_name(text: str, names: AbstractSet[str], after: str, *, before: str = "") -> bool:
    """Return whether text may have a field with one of the names; this saves parsing prose."""
    # ``loads`` replaces the spaces in a name by underscores
    pattern = rf"{before}\b(?:{'|'.join(map(re.escape, sorted(names)))}){after}"
    return re.search(pattern.replace("_", "[_ ]"), text, re.IGNORECASE | re.MULTILINE) is not None
