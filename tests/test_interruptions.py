"""A signal that comes in the midst of Thread.start."""

import os
import signal
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
