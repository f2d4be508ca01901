"""The table of docs/supply_chain.md: every package that pyproject.toml names, from the metadata of the installation.

    python tests/support/supply.py            write the table into the page
    python tests/support/supply.py --check    exit code 1 if a package is declared without a reason here

A licence is what the package itself declares: its expression, else its classifier, else its text's first line.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from workbench.command.doctor import packages

PAGE = Path(__file__).resolve().parents[2] / "docs" / "supply_chain.md"
BEGIN, END = "<!-- packages: begin -->", "<!-- packages: end -->"
WHY = {
    "numpy": "arrays",
    "scipy": "sparse matrices, L-BFGS",
    "cvxpy": "the declarations of formulations and programs",
    "clarabel": "default backend of conic programs",
    "osqp": "backend",
    "piqp": "default backend of dual masters",
    "scs": "backend",
    "click": "the command line",
    "rich": "tables and progress on a terminal",
    "jinja2": "the pages of `cutbench report`",
    "threadpoolctl": "products of matrices in one thread while the judge computes",
    "markupsafe": "marks text of these pages as checked; Jinja2 brings it",
    "numba": "compiled loops",
    "scikit-learn": "small data sets, estimators, peers",
    "matplotlib": "figures",
    "daqp": "backend",
    "highspy": "backend; reader of model files",
    "ecos": "backend",
    "pyscipopt": "mixed-integer references of small alternations and searches",
    "python-flint": "exact linear systems, faster",
    "python-crfsuite": "peer of CRFs",
    "dlib-bin": "peer of structural SVMs",
    "vowpalwabbit": "peer of importance-aware updates",
    "structsvm": "peer: bundle method",
    "ilpy": "what motile solves with",
    "motile": "peer of tracking",
    "sklearn-crfsuite": "peer of CRFs",
    "chaine": "peer of CRFs",
    "pytorch-crf": "peer of CRFs",
    "liblinear-official": "peer of labels",
    "skglm": "peer of two labels",
    "dual-fw-svm": "peer of labels",
    "jaxopt": "peer of labels; needs JAX",
    "benchopt": "the benchmark in its format",
    "motmetrics": "MOTA and IDF1",
    "networkx": "references of flows and graphs in tests; motile",
    "pytest": "tests",
    "hypothesis": "property tests",
    "pytest-xdist": "tests on several cores",
    "pandas": "tests of tables as inputs",
    "distributed": "workers on other machines",
    "torch": "training loops that `wb.watch` records",
    "ruff": "style",
    "pyright": "types",
    "build": "wheels, by night",
    "atheris": "the fuzzer of parsers, by night",
    "pip-audit": "known vulnerabilities, by night",
    "twine": "the check of wheels before a release",
    "jsonschema": "tests: certificates and records against their schemas",
    "sphinx": "the documentation as web pages",
    "myst-parser": "pages in Markdown for Sphinx",
    "furo": "the look of the web pages",
    "marimo": "the notebooks, which are Python files",
    "axe-core-python": "the checker of accessibility, in tests of reports and web pages",
}


def licence(package: str) -> str:
    """What the installed package declares, or a dash."""
    try:
        told = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return "–"
    classified = [line.rsplit(" :: ", 1)[-1] for line in told.get_all("Classifier") or [] if "License ::" in line]
    text = (told.get("License") or "").strip().splitlines()
    return told.get("License-Expression") or ", ".join(classified) or " ".join(text[:1])[:60] or "not declared"


def table() -> str:
    """One row a package; the core first."""
    rows = ["| package | needed for | brought by | version here | licence |", "|---|---|---|---|---|"]
    for each in packages():
        extra = f"`[{each['extra']}]`" if each["extra"] else "core"
        cells = each["name"], WHY[each["name"].lower()], extra, each["version"] or "–", licence(each["name"])
        rows.append(f"| {' | '.join(re.sub(r'[|<>]', '', cell) for cell in cells)} |")
    return "\n".join(rows)


def main() -> int:
    if missing := sorted({each["name"].lower() for each in packages()} - WHY.keys()):
        print(f"{', '.join(missing)}: give a reason in {Path(__file__).name}.")
        return 1
    if "--check" not in sys.argv:
        text = PAGE.read_text(encoding="utf-8")
        start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
        PAGE.write_text(f"{text[:start]}\n{table()}\n{text[stop:]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
