"""What is searched, by name: who does what, where."""

from dataclasses import dataclass

from interleavings import delta, iceberg, local, stores
from interleavings.files import USUAL, Can
from interleavings.search import Scenario


@dataclass(frozen=True)
class Searched:
    """`short`: how often the turn may be taken from a process in the suite, once less where one is killed;
    None where it is not searched there. `deep`: the same at length, None for as often as can be."""

    place: str
    who: str
    where: str
    scenario: Scenario
    short: int | None = 1
    deep: int | None = None


RENAME = Can(exchange=False)
REFLINK = Can(reflink=True)
NO_SYNC = Can(sync_folders=False)
NO_CASES = Can(cases=False)
NO_LOCKS = Can(locks=False)

_A, _B = local.build("a"), local.build("b")
_APPEND_A, _APPEND_B = local.append("a"), local.append("b")
_TABLE_A, _TABLE_B = delta.build("a"), delta.build("b")

_IN_PLACE = (
    ("two builds", (_A, _B)),
    ("build, strip", (_A, local.strip())),
    ("build, a stranger replaces", (_A, local.replace())),
    ("build, a stranger removes", (_A, local.remove())),
)
_MODES = (
    ("exchange", USUAL),
    ("no exchange", RENAME),
)
# Of pairs of commands at a place that differs little from another.
_FIRST_ALONE = (1, None, None, None)
_APPENDED = (
    ("two builds", (_APPEND_A, _APPEND_B)),
    ("build, one in place", (_APPEND_A, _B)),
    ("build, a stranger replaces", (_APPEND_A, local.replace())),
    ("build, a stranger removes", (_APPEND_A, local.remove())),
)
_OF_TABLE = (
    ("two builds", (_TABLE_A, _TABLE_B)),
    ("build, strip", (_TABLE_A, delta.strip())),
    ("build, a stranger adds a file", (_TABLE_A, delta.add_file())),
    ("build, a stranger removes the file", (_TABLE_A, delta.remove_file())),
)

_OF_LAKE = (
    ("two builds", (iceberg.build("a"), iceberg.build("b"))),
    ("build, strip", (iceberg.build("a"), iceberg.strip())),
    ("build, a stranger adds a file", (iceberg.build("a"), iceberg.add_file())),
    ("build, a stranger removes the file", (iceberg.build("a"), iceberg.remove_file())),
)
_OBJECTS = (
    ("two builds", (stores.build("a"), stores.build("b"))),
    ("build, strip", (stores.build("a"), stores.strip())),
    ("build, a stranger replaces", (stores.build("a"), stores.replace())),
    ("build, a stranger removes", (stores.build("a"), stores.remove())),
)
_THREE_OF_OBJECTS = (stores.build("a"), stores.build("b"), stores.replace())
_STORES = (("S3", "s3"), ("Azure", "az"), ("Google", "gs"))

SEARCHED = (
    *(
        Searched("in place", who, where, local.scenario(commands, can))
        for where, can in _MODES
        for who, commands in _IN_PLACE
    ),
    *(
        Searched("in place", who, where, local.scenario(commands, can), short=None)
        for where, can in (("reflink", REFLINK), ("no sync of folders", NO_SYNC))
        for who, commands in _IN_PLACE
    ),
    Searched("in place", "two builds", "no locks", local.scenario((_A, _B), NO_LOCKS)),
    Searched(
        "in place",
        "two builds, by names of other cases",
        "no cases",
        local.scenario((_A, local.build("b", local.OTHER_CASE)), NO_CASES),
    ),
    Searched(
        "in place",
        "two builds, with a checksum",
        "exchange",
        local.scenario((_A, _B), has_checksum=True),
    ),
    Searched(
        "in place",
        "build, a stranger replaces file and checksum",
        "exchange",
        local.scenario((_A, local.replace(with_checksum=True)), has_checksum=True),
    ),
    *(
        Searched(
            "in place",
            "two builds, a stranger replaces",
            where,
            local.scenario((_A, _B, local.replace()), can),
            short=None,
            deep=1,
        )
        for where, can in _MODES
    ),
    *(
        Searched("appended in place", who, "exchange", local.scenario(commands), deep=2)
        for who, commands in _APPENDED
    ),
    Searched(
        "appended in place",
        "two builds, by names of other cases",
        "no cases",
        local.scenario((_APPEND_A, local.append("b", local.OTHER_CASE)), NO_CASES),
        short=None,
        deep=2,
    ),
    *(
        Searched("Delta Lake", who, "exchange", delta.scenario(commands), deep=2)
        for who, commands in _OF_TABLE
    ),
    *(
        Searched("Delta Lake", who, "no exchange", delta.scenario(commands, RENAME), short, deep=2)
        for short, (who, commands) in zip(_FIRST_ALONE, _OF_TABLE, strict=True)
    ),
    *(
        Searched(
            "Delta Lake",
            "two builds, a stranger adds a file",
            where,
            delta.scenario((_TABLE_A, _TABLE_B, delta.add_file()), can),
            short=None,
            deep=1,
        )
        for where, can in _MODES
    ),
    *(
        Searched(
            "Delta Lake",
            f"{who}, two commits",
            "exchange",
            delta.scenario(commands, num_files=2),
            short=None,
            deep=1,
        )
        for who, commands in _OF_TABLE
    ),
    *(
        Searched("Iceberg", who, "exchange", iceberg.scenario(commands), deep=2)
        for who, commands in _OF_LAKE
    ),
    *(
        Searched(
            "Iceberg",
            f"{who}, two commits",
            "exchange",
            iceberg.scenario(commands, num_files=2),
            short=None,
            deep=1,
        )
        for who, commands in _OF_LAKE
    ),
    Searched(
        "Iceberg",
        "two builds",
        "no exchange",
        iceberg.scenario(_OF_LAKE[0][1], RENAME),
        short=None,
        deep=2,
    ),
    Searched(
        "Iceberg",
        "two builds, a stranger adds a file",
        "exchange",
        iceberg.scenario((*_OF_LAKE[0][1], iceberg.add_file())),
        short=None,
        deep=1,
    ),
    *(
        Searched("an object", who, "S3", stores.scenario("s3", commands), deep=2)
        for who, commands in _OBJECTS
    ),
    *(
        Searched("an object", who, store, stores.scenario(kind, commands), short, deep=2)
        for store, kind in _STORES[1:]
        for short, (who, commands) in zip(_FIRST_ALONE, _OBJECTS, strict=True)
    ),
    *(
        Searched(
            "an object",
            "two builds, a stranger replaces",
            store,
            stores.scenario(kind, _THREE_OF_OBJECTS),
            short=None,
            deep=1,
        )
        for store, kind in _STORES
    ),
)
