"""Progress bars: one for all files, one for the file, and whatever else is written is not in their way."""

import io
import os
import re
import signal
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich import console

import parquet_bloom as pb
from parquet_bloom import program
from parquet_bloom.commands.pbloom import cli
from parquet_bloom.render import palette, terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(monkeypatch):
    """stderr, which is a terminal from now on."""
    shown = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(terminal, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(terminal, "REST_SECONDS", 0.0)
    return shown


def test_a_bar_within_a_bar(monkeypatch):
    shown = on_a_terminal(monkeypatch)
    with terminal.progress("3 files") as files:
        files(1, 3)
        with terminal.progress("a.parquet") as chunks:
            chunks(1, 2)
            terminal.complain("a.parquet: damaged")
    text = shown.getvalue()
    assert "3 files" in text
    assert "a.parquet" in text
    assert "\npbloom: a.parquet: damaged\n" in text.replace("\r", "\n").replace("\x1b[2K", "\n")


@pytest.mark.parametrize(
    ("choice", "variables", "has_colors"),
    [
        ("auto", {}, True),
        ("never", {}, False),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "0"}, False),
        ("auto", {"NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
    ],
)
def test_a_bar_has_colors_unless_they_are_refused(monkeypatch, choice, variables, has_colors):
    shown = on_a_terminal(monkeypatch)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(palette, "_choice", choice)
    with terminal.progress("3 files") as files:
        files(1, 3)
        terminal.complain("in between")
    assert "3 files" in shown.getvalue()
    assert bool(re.search(r"\x1b\[[0-9;]*3\d[0-9;]*m", shown.getvalue())) is has_colors


def test_a_long_label_leaves_room_for_the_bar(monkeypatch):
    """On one line, whatever is in it."""
    shown = on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "60")
    with terminal.progress(
        "a lake/[bold]/day=2026-11-01 and more/part-00000-e4ccddea-b5f3.parquet"
    ) as show:
        show(30, 100)
        terminal.complain("in between")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    (line,) = {each for each in re.split(r"[\r\n]+", text) if each.startswith("a lake/")}
    assert re.fullmatch(r"a lake/\[bold\]/da\S* ?\S*… [━╸╺]{5,} +30% \S+", line), line
    assert len(line) <= 60


def test_no_bar_comes_between_the_lines_of_a_text(monkeypatch):
    shown = on_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", shown)
    with terminal.progress("3 files") as show:
        show(1, 3)
        terminal.write_text("a lake with a long name/part.parquet: 16 filters, 64.4 KiB added")
    assert "16 filters, 64.4 KiB\n  added\n" in shown.getvalue()


def test_a_dumb_terminal_gets_no_bar(monkeypatch):
    """It would be an empty line there."""
    shown = on_a_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    with terminal.progress("3 files") as files:
        files(1, 3)
        terminal.complain("a.parquet: damaged")
    assert shown.getvalue() == "pbloom: a.parquet: damaged\n"


@pytest.mark.parametrize(("rest", "times"), [(0.0, 21), (1e9, 1)])
def test_many_lines_do_not_draw_a_bar_each(monkeypatch, rest, times):
    """That takes most of the time where files are small. The first is drawn at once."""
    shown = on_a_terminal(monkeypatch)
    monkeypatch.setattr(terminal, "REST_SECONDS", rest)
    monkeypatch.setattr(terminal, "_drawn", -2e9)
    with terminal.progress("20 files") as files:
        for done in range(20):
            files(done + 1, 20)
            terminal.complain(f"{done}: damaged")
    assert shown.getvalue().count("\x1b[?25l") == times


def test_small_files_within_a_bar_draw_none(monkeypatch):
    """Each has a bar of its own, if it takes long enough to show one."""
    shown, now = on_a_terminal(monkeypatch), [0.0]
    monkeypatch.setattr(terminal, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(terminal, "_drawn", -1.0)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    with terminal.progress("100 files") as files:
        for done in range(100):
            with terminal.progress(f"{done}.parquet") as chunks:
                now[0] += 0.1
                chunks(1, 1)
            files(done + 1, 100)
    text = shown.getvalue()
    assert "100 files" in text
    assert ".parquet" not in text
    # Besides those that are due by the clock of rich, which does not stand still.
    assert text.count("100 files") < 50


@pytest.mark.parametrize(("options", "has_bar"), [([], True), (["-q"], False)])
def test_a_quiet_command_has_none(options, has_bar, monkeypatch, tmp_path):
    shown = on_a_terminal(monkeypatch)
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": range(10)}), "a.parquet")
    pb.build("a.parquet", columns="a", in_place=True)
    with pytest.raises(SystemExit):
        cli.main(["validate", "a.parquet", "--no-config", *options])
    assert ("a.parquet" in shown.getvalue()) is has_bar


def test_a_label_in_words_and_the_time_left(monkeypatch):
    """From all that was done: steps may be an hour apart."""
    shown, now = on_a_terminal(monkeypatch), [0.0]
    monkeypatch.setattr(console, "monotonic", lambda: now[0])
    with terminal.progress_in_words(lambda done, total: f"{done} of {total or '?'}") as show:
        for hour, done in enumerate([0, 10, 20, 30]):
            now[0] = 3600.0 * hour
            show(done, 100)
        terminal.complain("in between")
    assert "30 of 100" in shown.getvalue()
    assert "7:00:00" in shown.getvalue()


def test_after_a_bar_there_is_none(monkeypatch):
    shown = on_a_terminal(monkeypatch)
    with pytest.raises(KeyError), terminal.progress("x"):
        raise KeyError
    length = len(shown.getvalue())
    terminal.complain("x")
    assert shown.getvalue()[length:] == "pbloom: x\n"


def test_in_a_pipe_there_is_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal.progress("x") as show:
        show(1, 2)
    assert sys.stderr.getvalue() == ""


def a_bar():
    with terminal.progress("x") as show:
        show(1, 2)


def a_line_between_bars():
    with terminal.progress("x") as show:
        show(1, 2)
        terminal.write_line("y")


@pytest.fixture
def as_the_program():
    before = signal.signal(signal.SIGINT, program._interrupt)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("as_the_program")
@pytest.mark.parametrize("step", ["push_render_hook", "pop_render_hook"], ids=["start", "stop"])
@pytest.mark.parametrize(("shows", "nth"), [(a_bar, 1), (a_line_between_bars, 2)])
def test_an_interrupt_in_the_midst_of_it_leaves_the_cursor(monkeypatch, step, shows, nth):
    terminal_shown, steps = on_a_terminal(monkeypatch), []
    original = getattr(console.Console, step)

    def interrupted(*given):
        steps.append(step)
        if len(steps) == nth:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*given)

    monkeypatch.setattr(console.Console, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        shows()
    assert re.findall(r"\x1b\[\?25[hl]", terminal_shown.getvalue())[-1] == "\x1b[?25h"


def interrupted_after_a_bar():
    with program.in_order():
        a_bar()
        raise KeyboardInterrupt


def test_the_cursor_is_shown_again_after_an_interrupt(monkeypatch):
    """The terminal drops what has not been shown yet when ^C is typed."""
    shown = on_a_terminal(monkeypatch)
    with pytest.raises(SystemExit):
        interrupted_after_a_bar()
    assert shown.getvalue().endswith("\r\x1b[?25hpbloom: interrupted\n")
