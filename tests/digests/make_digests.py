"""Write digests.json and facts.json.xz anew, from what the package does now, and say what has changed:

    python tests/digests/make_digests.py

To be done when other bytes are wanted, never to make the test pass; what it says has to be read.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from differences import DIGESTS, behind, differences, recorded, write_facts
    from digest_cases import GROUPS, LIBRARIES, cases_of

    before = recorded()
    cases = {name: case for group in GROUPS for name, case in cases_of(group).items()}
    made_with = {name: version(name) for name in LIBRARIES}
    text = json.dumps(
        {"cases": {name: case.line for name, case in cases.items()}, "made_with": made_with},
        indent=1,
        sort_keys=True,
        ensure_ascii=False,
    )
    DIGESTS.write_text(text + "\n", encoding="utf-8")
    write_facts({name: behind(case) for name, case in cases.items()})
    for line in differences(before, cases):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{len(cases)} cases in {len(GROUPS)} groups\n")


if __name__ == "__main__":
    main()
