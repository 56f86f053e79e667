"""Code of the user's that has keys: it decides neither how we end nor what is seen of a token."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import traceback
import types

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import PATIENCE_SECONDS, outcome
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.kms_lab import MASTER_KEYS, LabKms, secret_of, single, write

import parquet_bloom as pb
from parquet_bloom.encryption import key_material
from parquet_bloom.encryption.cipher import Key
from parquet_bloom.encryption.clients import as_bytes, ask
from parquet_bloom.encryption.key_material import KeyCache
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.encryption.keys_file import make_keys
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError
from parquet_bloom.program import Program
from parquet_bloom.vocabulary import NO_KEY

SECRET = b"0123456789012345"


# ------------------------------------------------------------------------------------------------
# How we end


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "client", raising=False)
    return write(tmp_path / "t.parquet")


CODE = {
    "import": "{problem}",
    "construction": "class Client:\n    def __init__(self, connection): {problem}",
    "call": """class Client:
    def __init__(self, connection): pass
    def unwrap_key(self, wrapped_key, master_key_identifier): {problem}""",
    "retriever": "def Client(key_metadata): {problem}",
}
PROBLEMS = {
    "import sys; sys.exit(0)": "SystemExit: 0",
    "import asyncio; raise asyncio.CancelledError": "CancelledError",
    "raise GeneratorExit": "GeneratorExit",
    "raise type('PanicException', (BaseException,), {})('rust')": "PanicException: rust",
    "raise RuntimeError('not\\nnow')": "RuntimeError: not now",
    "raise StopIteration(5)": "StopIteration: 5",
    "return 1 +": "SyntaxError: invalid syntax",
}


@pytest.mark.parametrize("command", ["validate", "probe", "build"])
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("place", CODE)
def test_whatever_it_raises_is_trouble_on_one_line(place, problem, command, path):
    (path.parent / "client.py").write_text(CODE[place].format(problem=problem))
    way = "--key-retriever" if place == "retriever" else "--kms"
    arguments = {
        "validate": ["validate", "t.parquet"],
        "probe": ["probe", "t.parquet", "-c", "a", "-v", "5"],
        "build": ["build", "t.parquet", "-c", "a", "-o", "out"],
    }[command]
    result = outcome(*arguments, way, "client:Client")
    assert (result.code, result.stdout) == (2, "")
    assert PROBLEMS[problem] in result.complaint
    asked_for_a_key = place in ("call", "retriever") and "SyntaxError" not in PROBLEMS[problem]
    what = "KMS client" if way == "--kms" else "key retriever"
    assert (what if asked_for_a_key else f"{what} client:Client: ") in result.complaint
    assert not (path.parent / "out").exists()


def test_how_a_client_denies_a_key_is_said_by_who_goes_on_without(path):
    """The footer opens, and so does column b; the variable with the key of a is not set."""
    (path.parent / "client.py").write_text(
        "from make.kms_lab import LabKms\n"
        "class Client(LabKms):\n"
        "    def unwrap_key(self, wrapped_key, master_key_identifier):\n"
        "        if master_key_identifier == 'm1':\n"
        "            raise KeyError('MASTER_KEY_1')\n"
        "        return super().unwrap_key(wrapped_key, master_key_identifier)\n"
    )
    why = "encrypted, no key: KMS client, master key 'm1': KeyError: 'MASTER_KEY_1'"
    probed = outcome("probe", "t.parquet", "-c", "a", "-v", "5", "--kms", "client:Client")
    assert (probed.code, why in probed.stdout) == (0, True)
    validated = outcome("validate", "t.parquet", "--kms", "client:Client")
    assert f"{why}: nothing is known about the filters in 1 row group" in validated.stdout
    inspected = outcome("inspect", "t.parquet", "--kms", "client:Client", "--json")
    assert why in inspected.stdout


ONE_COLUMN = {
    "probe": ["probe", "t.parquet", "-v", "5"],
    "find": ["find", "t.parquet", "-v", "5"],
    "inspect": ["inspect", "t.parquet"],
    "dump": ["dump", "t.parquet"],
    "validate": ["validate", "t.parquet"],
    "advise": ["advise", "t.parquet"],
    "build": ["build", "t.parquet", "-o", "out", "--overwrite"],
}


@pytest.mark.parametrize("command", ONE_COLUMN)
def test_a_key_that_cannot_be_unwrapped_is_no_matter_to_other_columns(command, path):
    (path.parent / "client.py").write_text(
        "from make.kms_lab import LabKms\n"
        "class Client(LabKms):\n"
        "    def unwrap_key(self, wrapped_key, master_key_identifier):\n"
        "        if master_key_identifier == 'm1':\n"
        "            raise RuntimeError('not now')\n"
        "        return super().unwrap_key(wrapped_key, master_key_identifier)\n"
    )
    ask = [*ONE_COLUMN[command], "--kms"]
    for column in ("c", "b"):
        result, usual = (
            outcome(*ask, kms, "-c", column) for kms in ("client:Client", "make.kms_lab:LabKms")
        )
        assert (result.code, result.stderr) == (usual.code, usual.stderr)
    told = outcome(*ask, "client:Client", "-c", "a")
    assert (told.code, told.complaint.removeprefix("t.parquet: ").removeprefix("unknown: ")) == (
        2,
        "row group 0, column a: KMS client, master key 'm1': RuntimeError: not now",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_meanwhile_is_no_failure_of_the_client(number, path):
    (path.parent / "client.py").write_text(
        f"import os\ndef retrieve(key_metadata): os.kill(os.getpid(), {int(number)})\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "parquet_bloom", "probe", path, "-c", "a", "-v", "5",
         "--key-retriever", "client:retrieve"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(path.parent), *sys.path])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (
        -number if number == signal.SIGINT else 128 + number,
        "",
    )
    assert run.stderr == ("pbloom: interrupted\n" if number == signal.SIGINT else "")


def test_what_nobody_has_foreseen_is_trouble_too():
    @click.group(cls=Program)
    def cli():
        pass

    @cli.command()
    def work():
        raise asyncio.CancelledError("why")

    result = outcome("work", program=cli)
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == (
        "pbloom: internal error, please report what --debug shows: CancelledError: why\n"
    )


@pytest.mark.parametrize("ending", [KeyboardInterrupt, type("Ended", (KeyboardInterrupt,), {})])
def test_only_an_interrupt_passes(ending):
    def interrupted():
        raise ending

    with pytest.raises(ending):
        ask(interrupted, "KMS client")


# ------------------------------------------------------------------------------------------------
# What is seen of a token


def said_by(client, *, token, monkeypatch):
    """An error with this client, and its traceback."""
    module = types.ModuleType("client_with_token")
    module.Client = client
    monkeypatch.setitem(sys.modules, "client_with_token", module)
    monkeypatch.setenv("TOKEN", token)
    settings = {"kms": "client_with_token:Client", "kms_token": "env:TOKEN"}
    with pytest.raises(EncryptionError) as error:
        make_keys(settings).footer_key(single(SECRET))
    assert (error.value.__cause__, error.value.__context__) == (None, None)
    return error.value, "".join(traceback.format_exception(error.value))


def raising(kind, when):
    class Client:
        def __init__(self, connection):
            self.token = connection.key_access_token
            if when == "construction":
                self.fail()

        def unwrap_key(self, wrapped_key, master_key_identifier):
            self.fail()

        def fail(self):
            raise kind(f"401 for {self.token}, again")

    return Client


@pytest.mark.parametrize("token", ["s3cr3t", "s3cr3t  two\nlines", " s3cr3t\t"])
@pytest.mark.parametrize(
    "kind", [RuntimeError, KeyError, EncryptionError, MissingKeyError, TamperedError, SystemExit]
)
@pytest.mark.parametrize("when", ["construction", "call"])
def test_a_token_is_in_no_message_and_no_traceback(token, kind, when, monkeypatch):
    error, text = said_by(raising(kind, when), token=token, monkeypatch=monkeypatch)
    for word in token.split():
        assert word not in text
    assert f"{kind.__name__}: " in str(error)
    assert "401 for …" in str(error)
    assert isinstance(error, MissingKeyError) == (kind in (KeyError, MissingKeyError))
    assert not isinstance(error, TamperedError)


def test_text_that_is_no_key_is_not_shown():
    secret = "s3cr3t\ud800"
    with pytest.raises(EncryptionError) as error:
        as_bytes(secret, "KMS client")
    assert str(error.value) == "KMS client: returned text that is not UTF-8"
    assert "s3cr3t" not in "".join(traceback.format_exception(error.value))
    assert error.value.__suppress_context__


# ------------------------------------------------------------------------------------------------
# It may come back


def in_time(work):
    """What `work` returns in another thread, which is given up on if it hangs."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), "hangs"
    return results[0]


def test_a_retriever_may_ask_for_another_key():
    def retrieve(key_metadata):
        inner = b"" if key_metadata == b"c" else secret_of(keys.footer_key(b"c"))
        return inner[:8] + key_metadata * (16 - len(inner[:8]))

    keys = Keys(key_retriever=retrieve)
    found = in_time(lambda: secret_of(keys.column_key(("a",), b"a")))
    assert found == b"ccccccccaaaaaaaa"


def test_a_kms_client_may_ask_for_another_key():
    class Nested(LabKms):
        def unwrap_key(self, wrapped_key, master_key_identifier):
            if master_key_identifier == "m1":
                keys.footer_key(single(SECRET, "mf"))
            return super().unwrap_key(wrapped_key, master_key_identifier)

    keys = Keys(kms_client=Nested(None))
    assert in_time(lambda: secret_of(keys.column_key(("a",), single(SECRET)))) == SECRET


def test_a_client_that_asks_for_the_same_key_is_at_its_end_some_time():
    keys = Keys(key_retriever=lambda key_metadata: secret_of(keys.footer_key(key_metadata)))

    def work():
        with pytest.raises(EncryptionError, match="RecursionError"):
            keys.footer_key(b"kf")
        return True

    assert in_time(work)


def test_of_two_that_are_made_at_once_the_first_stays():
    made = KeyCache()
    early, late = Key(SECRET, "early"), Key(SECRET, "late")
    assert made.get("a", lambda: made.get("a", lambda: early) and late) is early
    assert made.get("a", pytest.fail) is early


# ------------------------------------------------------------------------------------------------
# Names with dots


def test_a_key_of_one_column_is_not_tried_on_another_whose_name_has_a_dot(tmp_path):
    table = pa.table({"a": range(100), "a.b": range(100), "c": range(100)})
    pq.write_table(table, tmp_path / "plain")
    recipe = Recipe(columns={"a": SECRET, "a.b": b"another key 16 b"})
    data = encrypt((tmp_path / "plain").read_bytes(), recipe).data
    (tmp_path / "t.parquet").write_bytes(data)
    keys = Keys(footer=FOOTER_KEY, columns={"a": SECRET})
    for column in ("a", "c"):
        pb.build(tmp_path / "t.parquet", tmp_path / column, columns=[column], keys=keys)
        with pb.open(tmp_path / column, keys) as file:
            assert [group.verdict for group in file.probe(column, 5)] == ["maybe"]
    with pytest.raises(MissingKeyError, match=r"no key for column a\.b "):
        pb.build(tmp_path / "t.parquet", tmp_path / "out", columns=["a.b"], keys=keys)


@pytest.mark.parametrize("is_internal", [True, False], ids=["internal", "external"])
def test_the_master_key_that_is_missing_is_named(tmp_path, monkeypatch, is_internal):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", internal_key_material=is_internal)
    why = "encrypted, no key: wrapped by master key 'm1'"
    gives = "; --keys, --kms or --master-key gives it"
    few = [f"--master-key={name}=ascii:{MASTER_KEYS[name].decode()}" for name in ("mf", "m2")]
    probed = outcome("probe", "t.parquet", "-c", "a", "-v", "5", *few)
    assert (probed.code, probed.stderr) == (0, "")
    assert probed.stdout.splitlines()[-1].endswith(f"\t{why}{gives}")
    assert f"a: {why}{gives}\n" in outcome("inspect", "t.parquet", *few).stdout
    assert f'"reason":"{why}"' in outcome("inspect", "t.parquet", "--json", *few).stdout
    found = outcome("find", "t.parquet", "-c", "a", "-v", "5", *few)
    assert found.complaint == (
        "t.parquet: row group 0, column a: encrypted: no key for column a (wrapped by master key 'm1')"
        f"{gives}"
    )
    # Without any key, nobody looks beside the file.
    named = "wrapped by master key 'mf'" if is_internal else "key material 'footerKey'"
    assert outcome("inspect", "t.parquet").complaint == (
        f"t.parquet: the footer is encrypted: no key for the footer ({named}){gives}"
    )
    write(tmp_path / "t.parquet", internal_key_material=is_internal, plaintext_footer=True)
    open_to_all = outcome("validate", "t.parquet", "--require", "c", "--no-config").stdout
    option = f"--master-key {'mf' if is_internal else 'ID'}=KEYSPEC"
    assert f"next: pbloom build t.parquet -c c --in-place {option}\n" in open_to_all


@pytest.mark.parametrize("is_internal", [True, False], ids=["internal", "external"])
def test_a_retriever_that_returns_none_hides_no_master_key(tmp_path, monkeypatch, is_internal):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet", internal_key_material=is_internal)
    (tmp_path / "knows_none.py").write_text("def key(key_metadata): return None\n")
    monkeypatch.syspath_prepend(tmp_path)
    given = [f"--master-key={name}=ascii:{MASTER_KEYS[name].decode()}" for name in ("mf", "m2")]
    given.append("--key-retriever=knows_none:key")
    denied = "key retriever, wrapped by master key 'm1': returned None"
    probed = outcome("probe", "t.parquet", "-c", "a", "-v", "5", *given)
    assert probed.stdout.endswith(f"\tencrypted, no key: {denied}\n")
    found = outcome("find", "t.parquet", "-c", "a", "-v", "5", *given)
    assert found.complaint == f"t.parquet: row group 0, column a: encrypted: {denied}"


def test_key_material_that_is_not_there_is_looked_for_once(tmp_path, monkeypatch):
    path = write(tmp_path / "t.parquet", internal_key_material=False, plaintext_footer=True)
    material = tmp_path / "_KEY_MATERIAL_FOR_t.parquet.json"
    material.unlink()
    asked = []
    reason = f"{NO_KEY}: {material}: no such key material file beside the Parquet file"

    def open_source(path):
        asked.append(path)
        raise FileNotFoundError(path)

    monkeypatch.setattr(key_material, "open_source", open_source)
    keys = Keys(master_keys={"m3": SECRET})
    for column, value in (("a", 5), ("b", "5")):
        (result,) = pb.probe(path, column, value, keys=keys).results
        assert {(group.verdict, group.reason) for group in result.groups} == {("unknown", reason)}
    assert len(asked) == 2


def test_a_misspelt_master_key_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.parquet")
    names = {"mf": "mf", "m1": "m1", "M2": "m2"}
    given = [f"--master-key={name}=ascii:{MASTER_KEYS[id].decode()}" for name, id in names.items()]
    why = "encrypted, no key: wrapped by master key 'm2'; one was given for M2"
    assert f"\nb: {why}\n" in outcome("inspect", "t.parquet", *given).stdout
    found = outcome("find", "t.parquet", "-c", "b", "-v", "b5", *given).complaint
    assert found == (
        "t.parquet: row group 0, column b: encrypted: no key for column b (wrapped by master key 'm2');"
        " one was given for M2; --keys, --kms or --master-key gives it"
    )


def test_a_class_is_no_client():
    with pytest.raises(TypeError) as raised:
        Keys(kms_client=LabKms)
    assert str(raised.value) == (
        "kms_client: the class LabKms, expected an object of it, as LabKms(…)"
    )
