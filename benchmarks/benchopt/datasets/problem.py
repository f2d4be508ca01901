"""A problem of Cutbench's registry, or of a file: all that `cutbench solve PROBLEM` takes."""

from __future__ import annotations

from typing import Any, ClassVar

from benchopt import BaseDataset

import workbench as wb


class Dataset(BaseDataset):
    name = "problem"
    parameters: ClassVar = {"problem, n": [("digits", 100), ("toy", 12), ("synthetic-chain", None)]}
    requirements: ClassVar = ["pip::cutbench"]

    def get_data(self) -> dict[str, Any]:
        return {"problem": wb.load_problem(self.problem)(**({} if self.n is None else {"n": self.n}))}
