"""Builds values of any annotated type with a given text everywhere, to call functions with it."""

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any

_DEEPEST = 5
_PLAIN: dict[object, Any] = {bool: True, int: 64, float: 1.0, type(None): None, None: None}
_SETS = (set, frozenset, collections.abc.Set)
_MANY = (
    *(list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection),
    *_SETS,
)
_MAPPINGS = (dict, collections.abc.Mapping)

# Every call makes up its arguments anew; evaluating annotations costs more than most calls.
_hints_of = cache(typing.get_type_hints)
_signature_of = cache(inspect.signature)


class _NotKnownError(Exception):
    """No value of a type can be made up."""


def calls_with_text(module: ModuleType) -> Iterator[tuple[str, Callable[[str], object]]]:
    """The functions of a module, and methods of its classes, that can be called with a text."""
    for name, value in list(vars(module).items()):  # a call may add to them
        if getattr(value, "__module__", "") != module.__name__:
            continue
        if inspect.isclass(value):
            if issubclass(value, BaseException):
                continue
            for method, function in _methods(value):
                if made := _caller(function, value):
                    yield f"{name}.{method}", made
        elif inspect.isroutine(value) and (made := _caller(inspect.unwrap(value), None)):
            yield name, made


def _methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if inspect.isfunction(function) and not name.startswith("__"):
            yield name, function


def _caller(function: Callable[..., Any], cls: type | None) -> Callable[[str], object] | None:
    """A call with a text in the arguments, or in the constructor arguments of the object."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return None

    def call(text: str) -> object:
        owner = () if cls is None else (_instance(cls, text, 0),)
        positional, named = _arguments(function, text, 0, skip=len(owner))
        result = function(*owner, *positional, **named)
        return list(result) if inspect.isgenerator(result) else result

    try:
        owner = () if cls is None else (_instance(cls, "probe", 0),)
        made = _arguments(function, "probe", 0, skip=len(owner))
    except Exception:  # noqa: BLE001 - an object that cannot be made cannot be called
        return None
    return call if "probe" in repr((owner, made)) else None


def _arguments(
    function: Callable[..., Any], text: str, depth: int, *, skip: int
) -> tuple[list[Any], dict[str, Any]]:
    hints = _hints_of(function)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in [*_signature_of(function).parameters.values()][skip:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty:
            continue
        value = _value(hints.get(parameter.name), text, depth)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def _value(kind: Any, text: str, depth: int) -> Any:
    """A value of a type; raises _NotKnownError if none can be made."""
    origin = typing.get_origin(kind)
    if depth > _DEEPEST:
        raise _NotKnownError
    if kind in (str, Any, object):
        return text
    if kind is bytes:
        return text.encode("utf-8", "replace")
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin is not None:
        return _generic(origin, typing.get_args(kind), text, depth + 1)
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    if inspect.isclass(kind) and kind.__module__.startswith("conflictscore"):
        return _instance(kind, text, depth + 1)
    raise _NotKnownError


def _generic(origin: Any, args: tuple[Any, ...], text: str, depth: int) -> Any:
    """A value of a type with type parameters."""
    if origin in (typing.Union, types.UnionType):
        for one in args:
            with suppress(_NotKnownError):
                return _value(one, text, depth)
        raise _NotKnownError
    if origin is typing.Literal:
        return args[0]
    if origin is tuple:
        return tuple(_value(one, text, depth) for one in args if one is not Ellipsis)
    if origin in _MANY:
        one = _value(args[0], text, depth)
        return {one} if origin in _SETS else [one]
    if origin is collections.abc.Iterator:
        return iter([_value(args[0], text, depth)])
    if origin in _MAPPINGS:
        return {_value(args[0], text, depth): _value(args[1], text, depth)}
    raise _NotKnownError


def _instance(cls: type, text: str, depth: int) -> Any:
    if dataclasses.is_dataclass(cls):
        fields = [f.name for f in dataclasses.fields(cls) if f.init]
    else:
        fields = [*getattr(cls, "model_fields", ()), *getattr(cls, "_fields", ())]
    if not fields:
        positional, named = _arguments(cls.__init__, text, depth, skip=1)  # type: ignore[misc]
        return cls(*positional, **named)
    hints, values = _hints_of(cls), {}
    for field in fields:
        with suppress(_NotKnownError):
            values[field] = _value(hints[field], text, depth + 1)
    return cls(**values)
