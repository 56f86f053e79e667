"""A disk that gives back another byte than was written."""

import pytest

from parquet_bloom.storage.local_output import Output
from parquet_bloom.storage.source import Source


def read_back_wrongly(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Whoever reads what an output has written finds another byte at `at`."""
    real = Output.opened

    def opened(output: Output) -> Source:
        source = real(output)
        read = source.read_at

        def read_at(offset: int, length: int) -> bytes:
            data = bytearray(read(offset, length))
            if offset <= at < offset + length:
                data[at - offset] ^= 1
            return bytes(data)

        monkeypatch.setattr(source, "read_at", read_at)
        return source

    monkeypatch.setattr(Output, "opened", opened)
