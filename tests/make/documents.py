"""Pages of documentation, whose examples run."""

import re

import pyarrow as pa

# What wrote the files whose figures the pages show.
WRITER = "26.0.1"


def blocks(text: str, language: str) -> list[str]:
    """What stands in the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def comparable(text: str) -> str:
    """Without what differs between runs and versions of the writer: times, sizes and offsets."""
    text = without_times(text)
    text = re.sub(r"version [\d.]+", "version #", text)
    text = re.sub(r"[\d.]+ (B|KiB|MiB)\b", "# B", text)
    text = re.sub(r"[\d.]+ %", "# %", text)
    return re.sub(r"\t\d{8}\t|\b[\d,]+ bytes read", "#", text)


def figures(text: str) -> str:
    """Without times; and where another version of pyarrow writes, without what depends on that."""
    return without_times(text) if pa.__version__ == WRITER else comparable(text)


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d\d s\b", "# s", text)
