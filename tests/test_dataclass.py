"""Dataclasses whose methods are written when they are first called are like Python's own."""

import copy
import dataclasses
import inspect
import pickle
import sys
from dataclasses import FrozenInstanceError, field
from typing import ClassVar

import pytest

from parquet_bloom.dataclass import dataclass

OPTIONS = [
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {},
    {"unsafe_hash": True},
    {"frozen": True, "slots": True, "order": True},
]


def pair(options, written=dataclasses.dataclass):
    """A class and one that derives from it."""

    class Base:
        """Something."""

        a: int
        b: list = field(default_factory=list, compare=False)
        KIND: ClassVar[str] = "base"

        def __post_init__(self):
            if self.a < 0:
                raise ValueError(self.a)

    base = written(**options)(Base)

    class Derived(base):
        """Something more."""

        c: str = field(default="x", repr=False, metadata={"known": True})

        def __eq__(self, other):
            return type(other) is type(self) and self.a == other.a

        __hash__ = None

    return base, written(**options)(Derived)


@pytest.mark.parametrize("options", OPTIONS)
def test_they_behave_as_those_of_python(options):
    for ours, theirs in zip(pair(options, dataclass), pair(options), strict=True):
        assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
        assert list(map(str, dataclasses.fields(ours))) == list(
            map(str, dataclasses.fields(theirs))
        )
        assert ours.__match_args__ == theirs.__match_args__
        assert ours.__doc__ == theirs.__doc__
        assert ours.__qualname__ == theirs.__qualname__
        assert (ours.__hash__ is None) == (theirs.__hash__ is None)
        assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
        one, other = ours(1), theirs(1)
        assert repr(one) == repr(other)
        assert dataclasses.asdict(one) == dataclasses.asdict(other)
        assert hasattr(one, "__dict__") == hasattr(other, "__dict__")
        assert one == ours(1, [2])
        assert one != ours(2)
        assert one != other
        assert dataclasses.replace(one, a=2).a == 2
        assert copy.copy(one) == one
        for wrong in [{}, {"a": 1, "d": 2}]:
            with pytest.raises(TypeError, match="__init__"):
                ours(**wrong)
        with pytest.raises(ValueError, match="-1"):
            ours(-1)


@pytest.mark.parametrize("first", ["repr", "eq", "hash", "fields", "signature", "match", "order"])
def test_whatever_is_first_looked_at(first):
    base, _ = pair({"frozen": True, "slots": True, "order": True}, dataclass)
    one, other = base(1), base(2)
    looks = {
        "repr": lambda: repr(one).endswith("Base(a=1, b=[])"),
        "eq": lambda: one == base(1) and one != other,
        "hash": lambda: hash(one) == hash(base(1)) and len({one, base(1), other}) == 2,
        "fields": lambda: [each.name for each in dataclasses.fields(base)] == ["a", "b"],
        "signature": lambda: list(inspect.signature(base).parameters) == ["a", "b"],
        "match": lambda: base.__match_args__ == ("a", "b"),
        "order": lambda: one < other and other >= one and sorted([other, one]) == [one, other],
    }
    assert looks.pop(first)()
    assert all(look() for look in looks.values())


def test_frozen_ones_are_frozen():
    base, derived = pair({"frozen": True, "slots": True}, dataclass)
    for each in (base(1), derived(1)):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
            each.a = 2
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'new'"):
            each.new = 2
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
            del each.a


@dataclass(frozen=True, slots=True)
class Kept:
    a: int
    b: str = "b"


@dataclass(frozen=True)
class Described:
    a: int | None
    b: int | None = None
    c: Kept | None = None
    d: str | None = "d"


def test_what_is_none_by_default_is_not_shown():
    """So that it can be written as it is shown."""
    for shown in ("Described(a=None)", "Described(a=1, b=2, c=Kept(a=3, b='b'), d=None)"):
        told = repr(eval(shown))
        assert told == (shown if "b=2" in shown else f"{shown[:-1]}, d='d')")
        assert eval(told) == eval(shown)


def test_they_are_pickled():
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1)
    assert copy.deepcopy(Kept(1)) == Kept(1)


def test_nothing_is_written_before(monkeypatch):
    written = []
    monkeypatch.setattr(
        dataclasses, "_process_class", lambda cls, *_: written.append(cls) or sys.exit("written")
    )
    _, derived = pair({"frozen": True, "slots": True}, dataclass)
    assert written == []
    with pytest.raises(SystemExit):
        derived(1)
    assert len(written) == 1
