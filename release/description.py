"""README.md as PyPI shows it, where only links to other sites lead anywhere."""

from __future__ import annotations

import re

# A link or a picture, to a file of the repository.
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def for_pypi(text: str, repository: str, tag: str) -> str:
    """With links and pictures as they are at `tag` of `repository`, a URL of GitHub."""

    def absolute(link: re.Match[str]) -> str:
        picture, words, path = link.groups()
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return LINK.sub(absolute, text)
