"""A signal that comes in the midst of Thread.start, or of imports."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from parquet_bloom.parallel import work_in_order
from parquet_bloom.program import _interrupt


@pytest.fixture
def as_the_program():
    before = signal.signal(signal.SIGINT, _interrupt)
    yield
    signal.signal(signal.SIGINT, before)


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


INTERRUPTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "parquet_bloom.program":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from parquet_bloom.cli import main
main()
"""


def test_an_interrupt_while_the_program_is_loaded_shows_no_traceback():
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "pbloom: interrupted\n")
