"""What threads that begin at the same time share."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import boto3

from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects import replacement, s3_client
from parquet_bloom.storage.traffic import Traffic

THREADS = 8
OPTIONS = {"endpoint": "http://127.0.0.1:1", "region": "us-east-1"}


def together(work):
    """What `work` gives to each of some threads."""
    begin = Barrier(THREADS, timeout=30)

    def run(_):
        begin.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_one_client(monkeypatch):
    made = []

    class Counted(boto3.Session):
        def client(self, *arguments, **named):
            made.append(arguments)
            return super().client(*arguments, **named)

    monkeypatch.setattr(boto3, "Session", Counted)
    s3_client._client.cache_clear()
    address = Address.of("s3://lake/x.parquet", OPTIONS)
    clients = together(lambda: s3_client.S3Client(address, Traffic()))
    made_once = {id(client._sender.signed.now()) for client in clients}
    assert len(made_once) == len(made) == 1
    assert clients[0]._sender.signed.now().meta.config.max_pool_connections == 16


def test_one_question_about_conditions(monkeypatch):
    monkeypatch.setattr(replacement, "_ignored_in", {})
    asked = []

    def ignored_in():
        asked.append(True)
        # Time for others to ask.
        Event().wait(0.05)
        return ""

    address = Address.of("s3://lake/x.parquet", OPTIONS)
    together(lambda: replacement.check_conditions(address, "http://127.0.0.1:1", ignored_in))
    assert asked == [True]
