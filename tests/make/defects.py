"""Every defective file, by the id of the rule that must find it. Those of ORC are in orc_defects."""

from make.defects_files import Defect
from make.defects_footers import FOOTERS
from make.defects_older import OLDER
from make.defects_pages import PAGES
from make.defects_portability import PORTABILITY
from make.defects_quality import QUALITY
from make.defects_security import SECURITY
from make.defects_structure import STRUCTURE
from make.defects_truth import TRUTH
from make.orc_defect_files import OrcDefect
from make.orc_defects import ORC

ALL = (*STRUCTURE, *PAGES, *FOOTERS, *PORTABILITY, *QUALITY, *TRUTH, *SECURITY, *OLDER)

DEFECTS: dict[str, list[Defect | OrcDefect]] = {}
every: tuple[Defect | OrcDefect, ...] = (*ALL, *ORC)
for each in every:
    DEFECTS.setdefault(each.rule, []).append(each)
