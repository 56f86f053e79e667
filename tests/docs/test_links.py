"""Links from page to page lead to a heading that is there; the site has every page, command and public name."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import parquet_bloom as pb
from parquet_bloom import spark
from parquet_bloom.commands.pbloom import COMMANDS

PAGES = (
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_contents_of_the_site_once() -> None:
    contents = (ROOT / "docs" / "index.md").read_text()
    listed = re.findall(
        r"^(?:.*<)?([\w-]+)>?$",
        "".join(re.findall(r"```{toctree}\n(.*?)```", contents, re.DOTALL)),
        re.MULTILINE,
    )
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages)


def test_every_public_name_is_on_the_page_about_python_once() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    ours, of_spark = text.split("currentmodule:: parquet_bloom.spark")
    listed = [
        sorted(re.findall(r"^\.\. auto\w+:: (\w+)$", part, re.MULTILINE))
        for part in (ours, of_spark)
    ]
    schemas = {"ANSWER", "FILTER", "OUTCOME"}
    assert listed == [sorted(pb.__all__), sorted({*spark.__all__} - schemas)]
    assert all(f"`{name}`" in of_spark or f"`{name}`" in ours for name in schemas)


def test_what_is_said_of_reports_and_of_what_is_in_them() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    (section,) = re.findall(r"^## Reports\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    reports, items = section.split("### What is in reports\n")

    def classes(part: str) -> dict[str, Any]:
        return {
            name: getattr(pb, name)
            for name in re.findall(r"^\.\. autoclass:: (\w+)$", part, re.MULTILINE)
        }

    def are_frozen(each: Any) -> bool:
        return bool(each.__dataclass_params__.frozen)

    assert all(
        are_frozen(each) and each.to_dict and each.to_arrow for each in classes(reports).values()
    )
    assert not any(hasattr(each, "to_dict") for each in classes(items).values())
    (others,) = re.findall(r"frozen but for (.*?), of which", items)
    found = [name for name, each in classes(items).items() if not are_frozen(each)]
    assert re.findall(r"`(\w+)`", others) == found


def test_every_command_is_on_the_page_about_commands() -> None:
    (listed,) = re.findall(r":commands: (.*)", (ROOT / "docs" / "commands.md").read_text())
    assert listed.split(",") == list(COMMANDS)
