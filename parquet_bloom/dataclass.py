"""`dataclass`, whose methods are written when they are first called.

For a frozen dataclass, Python writes six methods and compiles each, which takes half a millisecond. A
command imports fifty such classes and makes objects of a few: with Python's own decorator, `pbloom inspect`
of a small file takes 38 % more CPU. Here a class has its slots at once, and Python's own methods as soon as
one of them is called, or somebody looks at its fields. Only `repr` is not Python's: it leaves out what is None by
default, as most fields of a description are that has something for each format.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """The decorator `dataclasses.dataclass`."""
        return partial(_made, options) if cls is None else _made(options, cls)


# What is written at a time, by the option that wants it.
_METHODS: Final = {
    "init": ("__init__",),
    "eq": ("__eq__", "__hash__"),
    "order": ("__lt__", "__le__", "__gt__", "__ge__"),
}
_OF_EVERY_CLASS: Final = ("__dict__", "__weakref__")
_LOOKED_AT: Final = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")


def _made(options: dict[str, bool], cls: type) -> type:
    """The class, with stand-ins for what is not written yet."""
    body = {name: value for name, value in cls.__dict__.items() if name not in _OF_EVERY_CLASS}
    if body.get("__hash__", _refuse) is None:
        # Not by its author, but because it has an __eq__.
        del body["__hash__"]
    made = _with_slots(cls, body) if options.get("slots") else cls
    write = partial(_write, made, body, options)
    for option, names in _METHODS.items():
        if options.get(option, option != "order"):
            for name in names:
                if name not in body:
                    setattr(made, name, _stand_in(made, name, partial(write, option)))
    if options.get("repr", True) and "__repr__" not in body:
        made.__repr__ = _told  # type: ignore[assignment]
    for name in (*_LOOKED_AT, "__signature__"):
        setattr(made, name, _LookedAt(name, partial(write, "init")))
    for name, value in _kept(options).items():
        if name not in body:
            setattr(made, name, value)
    return made


def _write(made: type, body: dict[str, Any], options: dict[str, bool], what: str) -> None:
    wanted = {option: option == what for option in _METHODS}
    wanted["eq"] |= wanted["order"]
    # A class of its own each time, as a second thread may be here.
    copied = type(made)(made.__name__, made.__bases__, dict(body))
    given = options | wanted | {"slots": False, "repr": False}
    written: type = dataclasses.dataclass(**given)(copied)
    for name in _METHODS[what] + _LOOKED_AT:
        if name not in body:
            setattr(made, name, written.__dict__[name])
    if "__signature__" in made.__dict__:
        delattr(made, "__signature__")


def _with_slots(cls: type, body: dict[str, Any]) -> type:
    fields = [name for name, kind in cls.__annotations__.items() if "ClassVar" not in str(kind)]
    inherited = {name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())}
    slotted = {name: value for name, value in body.items() if name not in fields}
    slotted["__slots__"] = tuple(name for name in fields if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, slotted)
    made.__qualname__ = cls.__qualname__
    return made


def _stand_in(made: type, name: str, write: Callable[[], None]) -> Callable[..., Any]:
    def method(self: object, *values: object, **named: object) -> Any:
        write()
        return getattr(made, name)(self, *values, **named)

    return method


class _LookedAt:
    """Stands in for an attribute of a class."""

    __slots__ = ("_name", "_write")

    def __init__(self, name: str, write: Callable[[], None]) -> None:
        self._name, self._write = name, write

    def __get__(self, made: object, cls: type) -> Any:
        self._write()
        return getattr(cls, self._name)


def _told(self: Any) -> str:
    values = [
        (each.name, getattr(self, each.name))
        for each in dataclasses.fields(self)
        if each.repr and not (each.default is None and getattr(self, each.name) is None)
    ]
    told = ", ".join(f"{name}={value!r}" for name, value in values)
    return f"{type(self).__qualname__}({told})"


def _kept(options: dict[str, bool]) -> dict[str, Any]:
    """What is the same for all classes with these options."""
    if not options.get("frozen"):
        return {} if options.get("unsafe_hash") else {"__hash__": None}
    frozen = {"__setattr__": _refuse, "__delattr__": _refuse}
    if not options.get("slots"):
        return frozen
    return frozen | {"__getstate__": _state, "__setstate__": _set_state}


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
