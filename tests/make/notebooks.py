"""The notebooks of docs/examples, run without Jupyter; `python -m make.notebooks` writes what their cells show anew.

A cell is run as IPython does: what it prints, and the value of an expression that it ends with.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import warnings
from contextlib import chdir, redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))

Cell = dict[str, Any]


def code_cells(notebook: dict[str, Any]) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def executed(notebook: dict[str, Any]) -> list[list[Cell]]:
    """What each cell of code shows, run one after the other in the current folder."""
    names: dict[str, object] = {"__name__": "__main__"}
    cells = enumerate(code_cells(notebook), 1)
    return [_outputs("".join(cell["source"]), names, number) for number, cell in cells]


def _outputs(source: str, names: dict[str, object], number: int) -> list[Cell]:
    printed, value = io.StringIO(), None
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, f"cell {number}", "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[Cell] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
        )
    if value is not None:
        shown = {"text/plain": _lines(repr(value))}
        outputs.append(
            {
                "data": shown,
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        with TemporaryDirectory() as folder, chdir(folder):
            shown = executed(notebook)
        for number, (cell, outputs) in enumerate(zip(code_cells(notebook), shown, strict=True), 1):
            cell |= {"execution_count": number, "outputs": outputs}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
