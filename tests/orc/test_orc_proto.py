"""The generated definition against what it is generated from, without the compiler."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from parquet_bloom.orc.proto import orc_pb2

DEFINITION = Path(orc_pb2.__file__).with_name("orc.proto")

MESSAGE = re.compile(r"message\s+(\w+)\s*\{([^}]*)\}")
FIELD = re.compile(
    r"(?P<label>optional|repeated)\s+(?P<type>\w+)\s+(?P<name>\w+)\s*=\s*(?P<number>\d+)"
    r"(?P<packed>\s*\[packed = true\])?;"
)

SCALARS = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def read_definition():
    text = re.sub(r"//[^\n]*", "", DEFINITION.read_text(encoding="utf-8"))
    rest = MESSAGE.sub("", text).split()
    assert rest == ["syntax", "=", '"proto2";', "package", "parquet_bloom.orc.proto;"]
    messages = {}
    for name, body in MESSAGE.findall(text):
        assert FIELD.sub("", body).strip() == "", name
        assert name not in messages
        messages[name] = [
            (int(found["number"]), found["label"], found["type"], found["name"],
             found["packed"] is not None)
            for found in FIELD.finditer(body)
        ]  # fmt: skip
    return messages


DEFINED = read_definition()


def generated(name):
    found = []
    for each in orc_pb2.DESCRIPTOR.message_types_by_name[name].fields:
        is_message = each.type == FieldDescriptor.TYPE_MESSAGE
        # Newer runtimes no longer have the label.
        is_repeated = (
            each.is_repeated if hasattr(type(each), "is_repeated") else
            each.label == FieldDescriptor.LABEL_REPEATED
        )  # fmt: skip
        kind = each.message_type.name if is_message else SCALARS[each.type]
        label = "repeated" if is_repeated else "optional"
        found.append((each.number, label, kind, each.name, each.GetOptions().packed))
    return found


def test_the_definition_is_read():
    assert len(DEFINED) == 30
    assert DEFINED["BloomFilter"] == [
        (1, "optional", "uint32", "numHashFunctions", False),
        (2, "repeated", "fixed64", "bitset", False),
        (3, "optional", "bytes", "utf8bitset", False),
    ]


def test_there_are_the_messages_of_the_definition():
    assert sorted(orc_pb2.DESCRIPTOR.message_types_by_name) == sorted(DEFINED)
    assert not orc_pb2.DESCRIPTOR.enum_types_by_name


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_a_message_has_the_fields_of_the_definition(name):
    assert generated(name) == DEFINED[name]


LOADED = """
import sys
if {is_missing}:
    sys.modules["google._upb._message"] = None
from parquet_bloom.orc.proto import orc_pb2
entry = orc_pb2.RowIndexEntry(positions=[3, 4], statistics=orc_pb2.ColumnStatistics(hasNull=True))
read = orc_pb2.RowIndex.FromString(orc_pb2.RowIndex(entry=[entry]).SerializeToString()).entry[0]
print(*read.positions, read.statistics.hasNull, read.statistics.HasField("intStatistics"))
print("google.protobuf.descriptor_pool" in sys.modules)
"""


@pytest.mark.parametrize("is_missing", [False, True])
def test_it_loads_without_a_warning(is_missing):
    """With the library in C and without it; what is written in Python is imported only then."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOADED.format(is_missing=is_missing)],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr) == (f"3 4 True False\n{is_missing}\n", "")


def test_the_oldest_protobuf_that_is_allowed_is_the_documented_one():
    root = DEFINITION.parents[3]
    (wanted,) = re.findall(r'"protobuf>=([\d.]+)"', (root / "pyproject.toml").read_text())
    readme = " ".join(DEFINITION.with_name("README.md").read_text().split())
    assert f"with every protobuf from {wanted} to" in readme


@pytest.mark.parametrize("name", ["enum_type_wrapper", "field_mask", "well_known_types"])
def test_what_the_c_library_imports_may_fail(name):
    """It would crash: it does not expect that."""
    program = (
        f"import sys; sys.modules['google.protobuf.internal.{name}'] = None\n"
        "import parquet_bloom.orc.proto.orc_pb2"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"google.protobuf.internal.{name}" in done.stderr.splitlines()[-1]
