"""The classes of the messages in orc.proto, by their names, as in the module that protoc generates. That
one imports all of protobuf that is written in Python, which takes longer than all of ours; the C library
that decodes needs little of it.
"""

from importlib import import_module

from parquet_bloom.orc.proto.definition import SERIALIZED

# The C library imports these for itself, and crashes if it cannot.
import_module("google.protobuf.internal.enum_type_wrapper")
import_module("google.protobuf.internal.well_known_types")

try:
    from google._upb._message import DescriptorPool, MessageMeta
    from google.protobuf.message import Message

    def _class_of(descriptor):
        namespace = {"DESCRIPTOR": descriptor, "__module__": __name__}
        return MessageMeta(descriptor.name, (Message,), namespace)

except ImportError:
    # Where there is no C library, or another one.
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass as _class_of

_pool = DescriptorPool()
_pool.AddSerializedFile(SERIALIZED)
DESCRIPTOR = _pool.FindFileByName("parquet_bloom/orc/proto/orc.proto")

# All of them, because a message looks for the classes of those in it.
globals().update(
    (name, _class_of(descriptor)) for name, descriptor in DESCRIPTOR.message_types_by_name.items()
)
