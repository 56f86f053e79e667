"""Which of the processes of a run gets which tests."""

from typing import Final

from xdist.scheduler import LoadFileScheduling

SPARK: Final = "tests/spark/"


class SparkTogether(LoadFileScheduling):
    """File by file, those with the most tests first; but all files of Spark go to one process, and
    early, as they are many tests: a session less, and none is left for the end to wait for."""

    def _split_scope(self, nodeid: str) -> str:
        return SPARK if nodeid.startswith(SPARK) else super()._split_scope(nodeid)
