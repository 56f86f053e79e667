"""A terminal of some width, to which this process writes."""

import io
import sys

import pytest


class Terminal(io.TextIOWrapper):
    """Takes what is written, as a terminal does."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode().splitlines()


def writing_to_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> Terminal:
    """In the place of standard output."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", terminal)
    return terminal
