"""docs/spark.md has the table that the last `make spark-matrix` came to, and nothing went wrong in it."""

import json

from conftest import ROOT
from spark_versions import page
from spark_versions.run import SPARKS

RESULTS = json.loads(page.RESULTS.read_text())


def sessions():
    for name, found in RESULTS.items():
        for kind, each in found.items():
            yield name, kind, each


def test_the_page_has_the_table_of_the_results():
    assert page.page() == page.PAGE.read_text()


def test_each_version_was_tried_in_sessions_of_both_kinds():
    versions = {name.partition(",")[0] for name in RESULTS}
    assert versions == set(SPARKS)
    assert all(list(found) == ["classic", "Connect"] for found in RESULTS.values())
    for name, _, each in sessions():
        assert each["versions"]["spark"].startswith(f"{name.partition(',')[0]}.")


def test_all_was_done_but_what_spark_lacks():
    steps = max((each["steps"] for _, _, each in sessions()), key=len)
    lacking = set()
    for name, kind, each in sessions():
        assert list(each["steps"]) == [step for step in steps if step in each["steps"]]
        assert set(each["steps"].values()) <= set(page.FINE), (name, kind)
        refused = {step for step, said in each["steps"].items() if said == "refused"}
        server = each["versions"]["server"].rpartition(".")[0]
        lacking |= {(server, step) for step in refused}
    assert lacking == {("3.5", 'format("bloom")'), ("3.5", "pushdown"), ("4.0", "pushdown")}


def test_what_went_wrong_stands_out():
    versions = dict.fromkeys(("spark", "server", *page.WITH), "1")
    steps = {"build": "yes", "strip": "SparkError: no", "pushdown": "refused"}
    found = {"classic": {"versions": versions, "steps": steps}}
    assert (
        page.table({"1, Python 1": found})
        .splitlines()[-1]
        .endswith("| classic | yes | **no** | refused |")
    )


def test_what_was_not_tried_with_a_version_says_so():
    versions = dict.fromkeys(("spark", "server", *page.WITH), "1")
    older, newer = (
        {"classic": {"versions": versions, "steps": dict.fromkeys(steps, "yes")}}
        for steps in (("build",), ("build", "index"))
    )
    lines = page.table({"1, Python 1": older, "2, Python 1": newer}).splitlines()
    assert lines[-2].endswith("| classic | yes | not tried |")
    assert lines[-1].endswith("| classic | yes | yes |")


def test_make_spark_matrix_runs_it():
    makefile = (ROOT / "Makefile").read_text()
    assert "\tPYTHONPATH=tests $(BIN)/python tests/spark_versions/run.py $(SPARKS)\n" in makefile
