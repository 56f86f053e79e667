"""Both formats have what callers of a container ask for: `files.open_file` only says so to type checkers."""

import inspect

import pytest

from parquet_bloom.container import protocols
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.parquet.file import ParquetContainer

MEMBERS = {
    name: member
    for kind in protocols.Container.__mro__
    for name, member in vars(kind).items()
    if kind.__module__ == protocols.__name__ and (not name.startswith("_") or name == "__exit__")
}


def test_there_are_protocols():
    assert {"build", "columns", "describe_chunks", "prober", "source"} <= MEMBERS.keys()


@pytest.mark.parametrize("name", sorted(MEMBERS))
@pytest.mark.parametrize("made", [ParquetContainer, OrcContainer], ids=lambda kind: kind.__name__)
def test_both_formats_have_it(made, name):
    member = MEMBERS[name]
    if not inspect.isfunction(member):
        # Some are set when a file is opened.
        assert hasattr(made, name) or f"self.{name} = " in "".join(
            inspect.getsource(kind) for kind in made.__mro__[:-1]
        )
        return
    if name == "__exit__":
        assert hasattr(made, name)
        return
    wanted = inspect.signature(member).parameters
    found = inspect.signature(getattr(made, name)).parameters
    assert list(found) == list(wanted)
    for each, parameter in wanted.items():
        assert parameter.default is parameter.empty or found[each].default == parameter.default
