"""Every defective file, by the id of the rule that must find it. Those of ORC are in orc_defects."""

from defects_files import Defect
from defects_older import OLDER
from defects_portability import PORTABILITY
from defects_quality import QUALITY
from defects_security import SECURITY
from defects_structure import STRUCTURE
from defects_truth import TRUTH
from orc_defect_files import OrcDefect
from orc_defects import ORC

ALL = (*STRUCTURE, *PORTABILITY, *QUALITY, *TRUTH, *SECURITY, *OLDER)

DEFECTS: dict[str, list[Defect | OrcDefect]] = {}
for each in (*ALL, *ORC):
    DEFECTS.setdefault(each.rule, []).append(each)
