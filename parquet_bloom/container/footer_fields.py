"""The footer of a file, field by field, as `pbloom dump --footer` shows it.

Fields are made when they are asked for: a footer may have millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from parquet_bloom.container import slim_record
from parquet_bloom.dataclass import dataclass

# Who may read a footer, and whether anybody would notice that it was changed.
FooterProtection = Literal["plain", "signed", "encrypted"]


class Several:
    """The fields of a struct, or the items of a list, made anew by each loop over them; `count`: how many
    are stored, of which not all need be shown."""

    __slots__ = ("_make", "count")

    def __init__(self, count: int, make: Callable[[], Iterator[Any]]) -> None:
        self.count = count
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return self._make()

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get what there is, not what makes it, which may have keys."""
        return _made_before, (self.count, tuple(self))


def _made_before(count: int, items: tuple[Any, ...]) -> Several:
    return Several(count, lambda: iter(items))


class Content(NamedTuple):
    """What is in a field.

    `value`: a bool, int, float, str or bytes, or Several of these; None if there are `fields` or
    `items`, or nobody can read it. `decoded`: what the bytes of a statistic mean. `note`: what is
    wrong or unusual. `fields`: of a struct. `items`: of a list that has more than numbers, text and
    bytes in it.
    """

    value: Any = None
    decoded: str | None = None
    note: str | None = None
    fields: Several | None = None
    items: Several | None = None


@slim_record
class FooterField:
    """One field of a struct, or one item of a list.

    `number`: the field's id, or the item's index. `name`: as the format calls the field, None for a
    field that it does not know; of a column chunk in a list, the column. `type`: as the format's
    definition spells it, else as far as the bytes tell. `offset`, `length`: where the field is in the
    file, its header of `header_bytes` included; what is decrypted is where its ciphertext is.
    `stored`: the value's bytes, of what readers skip: unknown fields, those of an unexpected type, and
    all but the last of an id.
    """

    number: int
    name: str | None
    type: str
    offset: int
    header_bytes: int
    length: int
    content: Content
    stored: bytes | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes of a file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class FooterDescription:
    """`offset`, `length`: from the start of the footer to its length and the `magic`, which follow.
    `crypto_metadata`: in front of an encrypted footer. `signature`: of a signed one. `rest`: bytes
    behind it that nobody reads."""

    magic: str
    protection: FooterProtection
    offset: int
    length: int
    crypto_metadata: FooterField | None
    metadata: FooterField
    signature: Stretch | None
    rest: Stretch | None
