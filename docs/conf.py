"""Sphinx: `make site` makes the pages of this folder a site."""

import inspect
import re
from importlib import metadata
from itertools import groupby
from typing import Any

import click
from sphinx.application import Sphinx

from parquet_bloom.commands.sections import SECTIONS, section_of

project = "parquet_bloom"
author = "the parquet_bloom authors"
release = metadata.version("parquet-bloom")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]

# The contents need not have every report to others; what has to be there is tested.
suppress_warnings = ["toc.not_included"]

html_theme = "furo"
html_title = f"parquet_bloom {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_show_copyright = False
html_copy_source = False

# Options begin with two hyphens, also in running text.
smartquotes = False
myst_heading_anchors = 4

# Names in docstrings stand in single backticks.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

# What lies beside this folder, and is a page of the site, too.
ELSEWHERE = {
    "../benchmarks/README.md": "benchmarks.md",
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../SECURITY.md": "security.md",
    "SECURITY.md": "security.md",
}


def setup(app: Sphinx) -> None:
    app.connect("source-read", lambda app, page, text: lead_to_pages(text))
    app.connect("include-read", lambda app, path, page, text: lead_to_pages(text))
    app.connect("autodoc-process-docstring", mark_arguments)
    app.connect("sphinx-click-process-description", show_examples)
    app.connect("sphinx-click-process-options", sort_options)


# A link to a page by the name of its file, which the site calls by its title instead.
BY_FILE = re.compile(r"\[((?:docs/)?[\w-]+\.md)\]\((\1(?:#[^)]*)?)\)")


def lead_to_pages(text: list[str]) -> None:
    """Links that are right in the repository, as they are right on the site."""
    for path, page in ELSEWHERE.items():
        text[0] = text[0].replace(f"]({path}", f"]({page}")
    text[0] = BY_FILE.sub(r"[](\2)", text[0])


def mark_arguments(
    app: Sphinx, kind: str, name: str, described: object, options: object, lines: list[str]
) -> None:
    """Docstrings say `fpp: the target …` in running text: the names of arguments and fields stand out."""
    if not callable(described):
        return
    try:
        arguments = "|".join(map(re.escape, inspect.signature(described).parameters))
    except ValueError:
        return
    if arguments:
        begins = re.compile(rf"(^|[.;,] )`?({arguments})`?:(?= |$)")
        lines[:] = [begins.sub(r"\1**\2**:", line) for line in lines]


def show_examples(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Commands in the help, as commands: they are the lines that must not be wrapped."""
    shown: list[str] = []
    for is_example, group in groupby(lines, lambda line: line.startswith("|   ")):
        if is_example:
            shown += ["", ".. code-block:: text", "", *("   " + line[4:] for line in group), ""]
        else:
            shown += [line.removeprefix("| ").replace("*", "\\*") for line in group]
    lines[:] = shown


def sort_options(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Options in the sections of --help-all, each under its name."""
    options = [each for each in context.command.params if is_shown(each)]
    starts = [at for at, line in enumerate(lines) if line.startswith(".. option::")]
    ends = [*starts[1:], len(lines)] if starts else []
    pieces = [lines[start:end] for start, end in zip(starts, ends, strict=True)]
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for option, piece in zip(options, pieces, strict=True):
        sections[section_of(option)] += piece
    lines[:] = [
        line
        for section, pieces_of_it in sections.items()
        if pieces_of_it
        for line in (f".. rubric:: {section}", "", *pieces_of_it)
    ]


def is_shown(parameter: Any) -> bool:
    return isinstance(parameter, click.Option) and not parameter.hidden
