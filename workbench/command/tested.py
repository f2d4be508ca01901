"""What `cutbench predict` says of its weights and of the samples that it tests: proven or not, learned from or not.

A problem of texts that has a setting `split` parts its texts by chance. Its settings are those of the certificate
where the user gives none, so that split=test holds the texts that were held back. That these were held back is not
believed: the texts of split=train, by the same settings, have to be those of the certificate.

A text counts as learned from if one of those learned from has the same words, each the same number of times.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from workbench.errors import BadInput, CutbenchError
from workbench.registries import build, settings_of

QUICK = 2**18  # bytes of a certificate that is verified on the way


def proven(path: Path) -> tuple[bool | None, str]:
    """Whether the certificate proves what it claims, None where nobody looked or conditions remain, and a sentence."""
    from workbench.proofs.files import files_of
    from workbench.proofs.verify import verify

    if sum(each.stat().st_size for each in files_of(path)) > QUICK:
        return None, f"the weights are not verified here, as {path} is large; `cutbench verify {path}` proves them"
    try:
        said = verify(path)
        refuted, why = bool(said["refuted"]), str(said["reason"])
    except CutbenchError as error:
        said, refuted, why = {"proven": False}, True, str(error)
    if refuted:
        return False, f"{path} does not prove what it claims ({why.rstrip('.')}); its weights may be anybody's"
    return (True if said["proven"] else None), ""


def of_texts(problem: Any) -> bool:
    """Whether a problem was made of texts, and keeps their words."""
    from workbench.contracts import Sourced

    return isinstance(problem, Sourced) and problem.idf is not None


def settled(
    certificate: Any, header: Mapping[str, Any], data: str, source: Any, given: dict[str, Any]
) -> dict[str, Any]:
    """The settings of a problem: those given, and of a problem that parts texts, those that the certificate has."""
    known, told = settings_of(source), header["problem"].get("settings")
    if not (of_texts(certificate.problem) and "split" in known and isinstance(told, dict)):
        return given
    if header["problem"].get("name") != data:
        return given
    return {key: told[key] for key in known if key in told and key != "split"} | given


def check_held_back(certificate: Any, header: Mapping[str, Any], data: str, source: Any, asked: dict[str, Any]) -> None:
    """`BadInput` if split=test is asked for and the other texts, by these settings, are not those learned from."""
    if asked.get("split") != "test" or not of_texts(certificate.problem):
        return
    told = header["problem"].get("settings")
    learned = told if isinstance(told, dict) and header["problem"].get("name") == data else {}
    if learned.get("split") == "all":
        raise BadInput(
            "The weights were learned with split=all, from all texts, so that none is held back; learn with "
            "split=train to test."
        )
    for key, setting in settings_of(source).items():
        mine, theirs = asked.get(key, setting.default), learned.get(key, setting.default)
        if learned and key not in ("split", "path", "data") and mine != theirs:
            raise BadInput(
                f"{key}={mine} parts the texts otherwise than {key}={theirs}, with which the weights were learned, so "
                f"that they are tested on texts learned from; leave --set {key} out."
            )
    if not same_inputs(build(source, asked | {"split": "train"}), certificate.problem):
        raise BadInput(
            f"split=train of {data} does not hold the texts that the weights were learned from, so that split=test may "
            "hold some of them; give the path, n and draw that they were learned with."
        )


def check_same_words(
    certificate: Any, header: Mapping[str, Any], data: str, source: Any, asked: dict[str, Any], problem: Any
) -> None:
    """`BadInput`, with the settings that are the cause, if a problem of texts counts other words than the weights."""
    learned, told = certificate.problem, header["problem"].get("settings")
    both = of_texts(learned) and of_texts(problem) and "split" in settings_of(source)
    if not both or header["problem"].get("name") != data or not isinstance(told, dict):
        return
    if learned.columns == problem.columns:
        return
    known = {key: setting.default for key, setting in settings_of(source).items()}
    mine, theirs = ({key: each.get(key, known[key]) for key in known} for each in (asked, told))
    if (mine["split"], theirs["split"]) == ("test", "train"):
        mine["split"] = "train"  # both take the words of split=train
    here, there = ([f"{key}={each[key]}" for key in known if mine[key] != theirs[key]] for each in (mine, theirs))
    what = f"{', '.join(here)} takes" if here else f"{data} has"
    learned_with = (
        f"{', '.join(there)}, with which the weights were learned" if here else "when the weights were learned"
    )
    fix = "give the texts themselves, a folder or a file"
    if isinstance(asked.get("path"), str):
        fix = f"`cutbench predict {{}} {asked['path']}` reads all texts there in the words learned"
    run = click.get_current_context().params.get("result", "RUN")
    raise BadInput(f"{what} other words than {learned_with}; {fix.format(run)}.")


def same_inputs(problem: Any, learned: Any) -> bool:
    """Whether two problems of texts have the same words, labels and counts."""
    if problem.columns != learned.columns or problem.X.shape != learned.X.shape:
        return False
    return marks(problem.X) == marks(learned.X) and problem.labels.tolist() == learned.labels.tolist()


def learned_from(certificate: Any, X: Any) -> int | None:
    """How many rows of X (n, p), texts in the words learned, are those of texts learned from; None for other data."""
    if not of_texts(certificate.problem) or X.shape[1] != certificate.problem.X.shape[1]:
        return None
    known = set(marks(certificate.problem.X))
    return sum(mark in known for mark in marks(X) if mark)


def marks(X: Any) -> list[bytes]:
    """What tells the rows of a sparse array (n, p) apart; empty for a row of zeros."""
    import numpy as np
    from scipy import sparse

    rows = sparse.csr_array(X)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    parts = zip(np.split(rows.indices, rows.indptr[1:-1]), np.split(rows.data, rows.indptr[1:-1]), strict=True)
    return [b"".join((each.astype(np.int64).tobytes(), values.round(12).tobytes())) for each, values in parts]


def words_for(found: int | None) -> str:
    """How many of the samples tested were learned from, in words to stand behind a sentence."""
    if not found:
        return ""
    return f"; {found} of them {'was' if found == 1 else 'were'} learned from"
