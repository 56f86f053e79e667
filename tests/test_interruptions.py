"""A signal that comes in the midst of Thread.start, or of imports."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from make.commands import PATIENCE_SECONDS

from parquet_bloom.interruptions import counted, hold
from parquet_bloom.parallel import work_in_order
from parquet_bloom.program import EndedError, _interrupt, _leave, in_order


@pytest.fixture
def as_the_program():
    handlers = {signal.SIGINT: _interrupt, signal.SIGTERM: _leave, signal.SIGHUP: _leave}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("as_the_program")
def test_it_is_handled_when_the_thread_is_known(monkeypatch):
    """Until then nobody would wait for the thread, which goes on with the work."""
    submit, wait = ThreadPoolExecutor.submit, threading.Event.wait
    raised, done = [], []

    def submitting(*arguments):
        try:
            return submit(*arguments)
        except BaseException as error:
            raised.append(error)
            raise

    def waiting(*arguments):
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        return wait(*arguments)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submitting)
    monkeypatch.setattr(threading.Event, "wait", waiting)
    with pytest.raises(KeyboardInterrupt):
        list(work_in_order(range(4), done.append, lambda _: 0, 2))
    assert raised == []
    assert len(done) <= 1


class Dropping:
    """In whose destructor a signal comes: Python drops what is raised there."""

    def __del__(self):
        with contextlib.suppress(ValueError):
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("as_the_program")
def test_what_was_dropped_keeps_no_later_signal_from_the_end(monkeypatch):
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))
    cleaned = []

    def end():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            # What removes the temporary files is left alone.
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
            cleaned.append("all")

    Dropping()
    assert dropped == [EndedError]
    with pytest.raises(EndedError) as ended:
        end()
    assert (ended.value.number, cleaned) == (signal.SIGTERM, ["all"])


@pytest.mark.usefixtures("as_the_program")
def test_what_was_held_back_comes_once():
    told = []

    def work():
        hold()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        told.append("counted")

    with pytest.raises(EndedError), counted():
        work()
    assert told == ["counted"]


INTERRUPTING = """
import os, signal, sys
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "parquet_bloom.program":
            {}
sys.meta_path.insert(0, Interrupting())
from parquet_bloom.cli import main
main()
"""
AFTER_LOADING = """
import os, signal
from parquet_bloom import cli, program
run = program.run
def running(commands):
    os.kill(os.getpid(), signal.SIGINT)
    run(commands)
program.run = running
cli.main()
"""


@pytest.mark.parametrize(
    "program",
    [
        INTERRUPTING.format("interrupt()"),
        # As locks of imports do, in callbacks: what is raised there is shown and forgotten.
        INTERRUPTING.format("type('Forgetting', (), {'__del__': lambda self: interrupt()})()"),
        AFTER_LOADING,
    ],
    ids=["in an import", "where exceptions are forgotten", "after loading"],
)
def test_an_interrupt_while_the_program_is_loaded_shows_no_traceback(program):
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) in [
        (code, "", "pbloom: interrupted\n") for code in (130, -signal.SIGINT)
    ]


def test_what_is_ignored_while_the_program_is_loaded_is_ignored_later(tmp_path):
    """As shells have it for what runs in the background."""
    program = f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN){INTERRUPTING.format('interrupt()')}"
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


PROGRAM = """
import os, signal, sys
import click
from parquet_bloom import program
def end():
    os.kill(os.getpid(), signal.{number})
class Dropping:
    def __del__(self):
        end()
@click.group(cls=program.Program)
def commands():
    pass
@commands.command()
@click.pass_context
def work(ctx):
    {work}
sys.argv = ["pbloom", "work"]
program.run(commands)
"""


def run_program(number, work):
    program = PROGRAM.format(number=number, work=work)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [("SIGTERM", 143, ""), ("SIGHUP", 129, ""), ("SIGINT", -2, "pbloom: interrupted\n")],
)
def test_what_python_drops_ends_the_program_a_moment_later(number, code, told):
    """As in the callbacks of locks of imports, which are in use whenever a command loads something."""
    assert run_program(number, "Dropping(); signal.pause()") == (code, "", told)


def test_what_else_python_drops_is_shown_as_ever():
    raising = "type('Raising', (), {'__del__': lambda self: 1 / 0})()"
    code, _, told = run_program("SIGTERM", raising)
    assert code == 0
    assert told.startswith("Exception ignored in: ")
    assert told.endswith("\nZeroDivisionError: division by zero\n")


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("how", ["", "sys.exit(1)", "raise click.UsageError('wrong')"])
@pytest.mark.parametrize(
    "when", ["ctx.find_root().call_on_close(end)", "program._exit = lambda _: end()"]
)
def test_a_signal_after_the_command_is_the_end_without_a_traceback(number, how, when):
    """Where click would say that it was aborted, or nothing would be there to catch it."""
    code, answer, told = run_program(number, f"{when}; {how}")
    assert (code, answer) == (-getattr(signal, number), "")
    assert told == ("pbloom: wrong\n" if "wrong" in how else "")


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")]
)
def test_what_was_noted_on_the_way_follows_what_ended_the_program(capfd, number, word):
    def ended(*notes):
        end = EndedError(number)
        for note in notes:
            end.add_note(note)
        with pytest.raises(SystemExit) as left, in_order():
            raise end
        assert left.value.code == 128 + number
        return capfd.readouterr().err

    assert ended("two files are done") == f"pbloom: {word}; two files are done\n"
    assert ended() == ""
