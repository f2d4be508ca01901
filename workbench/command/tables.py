"""The tables in the record of a run, as CSV and as pandas' DataFrames: histories, learners, points, backends.

history    of `solve`: one row a round
learners   of `crosscheck`: one row a learner, what is a list or an object left out
checkpoints of `crosscheck`: learner, passes, excess over the proven lower bound
points     of `path`: one row a λ
rows       of `solve --backend all`: one row a backend
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.command.records import Run, run_at
from workbench.errors import BadInput, MissingCapability

LONGEST = 100  # characters of a title in the name of a file
LISTED = ("history", "learners", "points", "rows", "break_points")
Rows = list[dict[str, Any]]


def rows_of(record: Mapping[str, Any]) -> dict[str, Rows]:
    """Each table of a record, as a list of rows; tables without a row are left out."""
    found = {key: [flat(row) for row in record.get(key) or [] if isinstance(row, dict)] for key in LISTED}
    found["checkpoints"] = [
        {"learner": row["name"], "passes": at, "excess": excess}
        for row in record.get("learners") or []
        for at, excess in row["history"]
    ]
    return {key: rows for key, rows in found.items() if rows}


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a row that are numbers or words."""
    return {key: value for key, value in row.items() if not isinstance(value, list | dict)}


def tables(run: str | Path) -> dict[str, Any]:
    """The tables of a run (a folder or a record) as pandas' DataFrames, by their names; see the module's docstring.

    Raises
    ------
    MissingCapability : pandas is not installed
    BadInput : there is no run
    """
    if not isinstance(run, str | Path):
        more = ", or pandas.DataFrame(solution.history) for its rounds" if hasattr(run, "history") else ""
        raise BadInput(f"tables takes the folder or record of a run, not a {type(run).__name__}; give its path{more}.")
    try:
        import pandas
    except ImportError:
        raise MissingCapability("Tables need pandas; pip install pandas, or take the CSV of figures --run.") from None
    return {name: pandas.DataFrame(rows) for name, rows in rows_of(run_at(run).record).items()}


def tables_of(runs: Sequence[Run]) -> dict[str, str]:
    """TITLE-TABLE.csv and its text, for every table of these runs; a number in front of titles that occur twice."""
    found: dict[str, str] = {}
    titles = [re.sub(r"[^\w.+-]", "-", Path(run.title).stem)[:LONGEST] for run in runs]
    for number, (run, title) in enumerate(zip(runs, titles, strict=True), 1):
        stem = f"{number}-{title}" if titles.count(title) > 1 else title
        found |= {f"{stem}-{name}.csv": written(rows) for name, rows in rows_of(run.record).items()}
    return found


def save_tables(texts: Mapping[str, str], folder: Path) -> list[Path]:
    """Write what `tables_of` made into the folder; the files' paths."""
    from workbench.proofs.files import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
    return [folder / name for name in texts]


def written(rows: Rows) -> str:
    """Rows as CSV text, a column for each key of any row."""
    text, columns = io.StringIO(), list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(
        [cell(row.get(name, "")) for name in columns] for row in (dict(zip(columns, columns, strict=True)), *rows)
    )
    return text.getvalue()


def cell(value: Any) -> Any:
    """A value as CSV files of ours hold it: an apostrophe before words that a spreadsheet would run as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
