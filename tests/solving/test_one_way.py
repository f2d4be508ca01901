"""The formulation, followed through one solve to its certificate: which wings it enters as an argument, how often."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb

PACKAGE = Path(wb.__file__).parent


def wing_of(frame):
    """The wing of the nearest frame that is the package's, or None; and its file."""
    while frame and not frame.f_code.co_filename.startswith(str(PACKAGE)):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename).relative_to(PACKAGE) if frame else None
    return (path.parts[0], path) if path else (None, None)


def followed(formulation, work):
    """(wings that a call from another wing hands the formulation to, files that it is handed to), in order."""
    wings, files = [], []

    def look(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(name != "self" and frame.f_locals.get(name) is formulation for name in given):
            wing, path = wing_of(frame)
            files.append(path)
            if wing_of(frame.f_back)[0] != wing:
                wings.append(wing)

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return wings, set(files)


@pytest.mark.parametrize("kept", [False, True], ids=["plain", "with a journal"])
def test_the_formulation_enters_two_wings(kept, tmp_path):
    """Once each; a journal begins with the formulation's name and settings, for which `proofs` is asked once more."""
    problem, formulation, found = wb.Multiclass(np.eye(3), [0, 1, 2]), wb.SoftMargin(lam=0.1), []
    words = {"journal": tmp_path / "run"} if kept else {}
    wings, files = followed(formulation, lambda: found.append(wb.solve(formulation, problem, **words)))
    assert wings == ["solving", "proofs", *(["proofs"] if kept else [])]
    assert len(files) <= (6 if kept else 5)
    wings, files = followed(formulation, lambda: found[0].certificate.save(tmp_path / "c"))
    assert (wings, len(files)) == ([], 1)


FORMS = {
    "compact": wb.SoftMargin(lam=0.1, declare="compact"),
    "hard": wb.HardMargin(),
    "crf": wb.CRF(lam=0.1),
    "costs": wb.NormalizedCostLearning(),
    "search": wb.SelfPaced(),
    "kappa-difficulty": wb.KappaDifficulty(),
    "latent-ssvm": wb.LatentSSVM(starts=1),
}
INTO = {"kappa-difficulty": ["solving", "objectives"], "latent-ssvm": ["solving"]}  # their convex programs enter proofs


@pytest.mark.parametrize("name", FORMS)
def test_every_kind_of_formulation_enters_few_wings(name):
    """κ-difficulty asks its measures besides."""
    problem, found = wb.Multiclass(np.eye(3), [0, 1, 2]), []
    if name == "latent-ssvm":
        problem = dict(wb.registry("output").items())["motif"].tiny(np.random.default_rng(0))
    wings, _ = followed(FORMS[name], lambda: found.append(wb.solve(FORMS[name], problem, gap=1e-2)))
    assert found
    assert wings == INTO.get(name, ["solving", "proofs"])
