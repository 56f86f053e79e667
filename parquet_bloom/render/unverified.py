"""What is said of a file whose footer nobody vouches for."""

from __future__ import annotations

from parquet_bloom.render.terminal import complain


def complain_if_unverified(path: str, reason: str | None) -> None:
    """`reason`: why the footer of the file at `path` is not verified, None if it is."""
    if reason is not None:
        complain(f"{path}: footer signature not verified: {reason}")
