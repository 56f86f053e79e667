"""Every defective file, by the id of the rule that must find it."""

from defects_files import Defect
from defects_portability import PORTABILITY
from defects_quality import QUALITY
from defects_security import SECURITY
from defects_structure import STRUCTURE
from defects_truth import TRUTH

ALL = (*STRUCTURE, *PORTABILITY, *QUALITY, *TRUTH, *SECURITY)

DEFECTS: dict[str, list[Defect]] = {}
for each in ALL:
    DEFECTS.setdefault(each.rule, []).append(each)
