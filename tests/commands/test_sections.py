"""`--help`: sections in one order, within 80 columns; commands in the order of work."""

import re
from functools import cache

import click
import pytest
from make.commands import outcome

from parquet_bloom.commands.conformance import conformance
from parquet_bloom.commands.index import index
from parquet_bloom.commands.pbloom import COMMANDS, cli
from parquet_bloom.commands.sections import _COMMON, _RARE, SECTIONS, is_rare, section_of
from parquet_bloom.commands.spark import spark
from parquet_bloom.rules.policy import read_policy

ALL = {(name,): cli.commands[name] for name in cli.commands}
GROUPS = {"conformance": conformance, "index": index, "spark": spark}
ALL |= {(of, name): each for of, group in GROUPS.items() for name, each in group.commands.items()}

each_command = pytest.mark.parametrize("path", [(), *ALL], ids=lambda path: " ".join(path) or "-")


@cache
def help_of(path, how="--help-all"):
    result = outcome(*path, how)
    assert (result.code, result.stderr) == (0, "")
    return result.stdout


@each_command
def test_help_fits_80_columns(path):
    for how in ("--help", "--help-all"):
        assert [line for line in help_of(path, how).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", GROUPS)
def test_what_commands_of_a_group_do_is_not_cut(name):
    """Each in the whole first sentence of its own help, as those of pbloom itself."""
    listed = " ".join(help_of((name,)).split("\nCommands:\n")[1].split())
    for command in GROUPS[name].commands.values():
        first = " ".join(command.help.split("\n\n")[0].split())
        assert f"{command.name} {first.rstrip('.')}" in listed


@pytest.mark.parametrize("path", sorted(set(ALL) - {(name,) for name in GROUPS}), ids=" ".join)
def test_sections_come_in_one_order_and_have_every_option(path):
    shown = help_of(path)
    titles = re.findall(r"^(\w[\w ]+):$", shown, re.MULTILINE)
    options = [each for each in ALL[path].params if isinstance(each, click.Option)]
    found = {section_of(each) for each in options} | {"General"}
    assert [title for title in titles if title in SECTIONS] == [
        section for section in SECTIONS if section in found
    ]
    for option in options:
        below = shown.split(f"\n{section_of(option)}:\n")[1].split("\n\n")[0]
        assert f" {option.opts[0]}" in below, option.opts


@pytest.mark.parametrize("path", sorted(set(ALL) - {(name,) for name in GROUPS}), ids=" ".join)
def test_help_shows_what_most_need_and_counts_the_rest(path):
    options = [each for each in ALL[path].params if isinstance(each, click.Option)]
    rare, common = (
        {each.opts[-1] for each in options if is_rare(each) is way} for way in (True, False)
    )
    shown = help_of(path, "--help")
    head, foot = re.split(r"\n(?=\d+ more options|Not shown: )", shown)
    heads = re.findall(r"^  (-[^\n]*?)(?:  |\n)", head, re.MULTILINE)
    listed = {name for line in heads for name in re.findall(r"--[\w-]+", line)}
    assert common <= listed
    assert not listed & rare
    if len(rare) > 3:
        assert foot.startswith(f"{len(rare)} more options")
    else:
        assert {*re.findall(r"--[\w-]+", foot.splitlines()[0])} == rare
    assert foot.split(":\n")[1] == f"  pbloom {' '.join(path)} --help-all\n"


def test_what_is_rare_is_an_option_of_some_command():
    names = {each.opts[-1] for command in ALL.values() for each in command.params}
    assert names >= _RARE | _COMMON


def test_keys_are_common_and_what_is_in_them_is_rare():
    shown = help_of(("inspect",), "--help")
    assert "  --keys FILE " in shown
    assert "--footer-key" not in shown


@each_command
def test_help_sends_nobody_to_pages_that_are_not_installed(path):
    """The package has none, and as long as it has no home, there is no address of any."""
    assert not re.search(r"docs/|\.md\b", help_of(path))


@each_command
def test_ranges_are_said_in_words(path):
    assert not re.search(r"RANGE|<=x|<x|x>=", help_of(path))


def test_commands_are_listed_in_the_order_of_work():
    listed = help_of(()).split("Commands:\n")[1]
    assert " ".join(re.findall(r"^  ([\w-]+)", listed, re.MULTILINE)) == (
        "advise build inspect probe find validate repair recover clean-temp strip diff dump report rule index conformance spark completion"
    )
    assert "..." not in listed


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_listed_of_a_command_is_how_its_help_begins(name):
    """The list imports no command."""
    assert cli.commands[name].help.split("\n\n")[0] == COMMANDS[name]


def test_encrypted_files_have_a_section_of_their_own():
    below = help_of(("inspect",)).split("\nEncrypted files:\n")[1]
    assert below.startswith(
        '  --keys FILE                 JSON file of keys, such as {"footer": "env:VAR",\n'
        '                              "columns": {"email": "file:PATH"}}; also key_ids,\n'
        "                              uniform, aad_prefix, master_keys, kms, kms_conf,\n"
        "                              kms_instance_id, kms_instance_url, kms_token,\n"
        "                              key_retriever and key_material, like the options\n"
        "                              for keys, which take precedence.  [env var:\n"
        "                              PBLOOM_KEYS]\n"
        "  --footer-key KEYSPEC        Key of the footer."
    )


@pytest.mark.parametrize("name", ["--column", "--row-group", "--require", "--ignore", "--engine"])
def test_what_takes_several_is_said_in_the_same_words(name):
    several = [each for command in ALL.values() for each in command.params if name in each.opts]
    several = [each for each in several if each.multiple]
    assert several
    for option in several:
        assert "repeatable or comma-separated" in option.help, option


@pytest.mark.parametrize(
    ("path", "name", "more"),
    [
        (("probe",), "--groups-to-read", ()),
        (("probe",), "--only", ("absent",)),
        (("probe",), "--output", ("new.parquet", "--by-value")),
        (("find",), "--output", ("new.parquet",)),
        (("find",), "--report", ("new.parquet",)),
        (("index", "probe"), "--output", ("new.parquet", "--index", "none")),
        (("index", "probe"), "--only", ("absent", "--index", "none")),
    ],
)
def test_what_takes_one_column_where_others_may_be_given_says_so(path, name, more):
    (option,) = (each for each in ALL[path].params if name in each.opts)
    assert re.search("Of one --column|and one --column", option.help)
    refused = outcome(*path, "none.parquet", "-c", "a", "-c", "b", "-v", "1", name, *more)
    assert (refused.code, "one --column" in refused.complaint) == (2, True)


def test_a_policy_can_be_written_by_the_help_alone(tmp_path):
    """It names every key that there is."""
    helped = " ".join(
        help_of(("validate",)).split("--config FILE ")[1].split("--no-config")[0].split()
    )
    (tmp_path / "all.toml").write_text("[validate]\nnothing = 1")
    refused = outcome("validate", "none.parquet", "--config", tmp_path / "all.toml").complaint
    keys = refused.split("expected ")[1].split(", ")
    assert {"require", "max-fpp", "no-values"} < {*keys}
    for key in {*keys} - {"columns"}:
        assert re.search(rf"\b{key}\b", helped), key
    (tmp_path / "some.toml").write_text(
        '[validate]\nrequire = ["user_id"]\nmax-fpp = 0.02\n[validate.columns."user.id"]\nrequire = true\n'
    )
    policy = read_policy(tmp_path / "some.toml")
    assert policy.required_columns() == ("user_id", "user.id")
    for text in ('require = ["user_id"]', "max-fpp = 0.02", '[validate.columns."user.id"]'):
        assert text in helped


def test_short_options_are_compared_with_no_long_ones(monkeypatch):
    """Which click does for each, before it looks whether it is a short one."""

    def compare(name, *others):
        raise AssertionError(f"{name} was compared")

    monkeypatch.setattr("difflib.get_close_matches", compare)
    command = ALL["index", "probe"]
    given = command.make_context("probe", ["--index", "i", "-cid", "-v", "7", "-v-8"]).params
    assert (given["columns"], given["texts"]) == (("id",), ("7", "-8"))
