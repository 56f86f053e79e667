"""Words and numbers as people read them: sizes, shares, lists."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def shortened(items: Sequence[str]) -> str:
    """The first ten, and how many there are."""
    shown = ", ".join(items[:10])
    return f"{shown}, … ({len(items)} in all)" if len(items) > 10 else shown


def numbered(noun: str, numbers: Collection[int]) -> str:
    """`row groups 0, 1`"""
    several = "s" if len(numbers) > 1 else ""
    return f"{noun}{several} {shortened([str(number) for number in sorted(numbers)])}"


def size(num_bytes: int) -> str:
    """Bytes for people: `2.0 MiB`."""
    amount = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def percent(fraction: float) -> str:
    """`1.1 %`, with two significant digits."""
    return f"{float(f'{100 * fraction:.2g}'):g} %"
