"""A user's data files as problems: svmlight, CSV, npz, Vowpal Wabbit's text. Every error names the file and the line.

    .svm .svmlight .libsvm .txt   `label index:value …` a line (tables/svmlight.py)
    .csv .tsv                     a sample a line, separated by commas, semicolons or tabs (tables/separated.py);
                                  words as columns of 0 and 1, and cells without a value (tables/prepared.py)
    .npz                          arrays X (n, p), dense or sparse, and y (n,) (tables/archived.py)
    .vw                           `label importance |namespace name:value …` a line (dyads/vowpal.py)
    .conll, .npz with `offsets`   sequences (sequences.py)

Labels that are all whole numbers become integers. A message says which column of a CSV or array of an npz was read as
labels (`reading`); the user can choose another by the setting `label`. For `predict` labels may be missing: a file with
as many columns as the weights have inputs has no labels, and a row of a CSV without a label is predicted and not
compared, nor is a line of svmlight that begins with index:value; labels unknown to the weights, such as 0 for all,
stand for missing labels, too.

The weights keep how their file named its columns: whether svmlight's indices count from 0 or 1, and the names in a
CSV's header. A file to predict is read with the same first index; columns with names are matched by name.

Vowpal Wabbit's text names its features: each (namespace, name) is a column, in order of first appearance, and the last
column is the constant 1, as in VW. Labels that are all −1 or 1, or numbers not all whole, are targets of linear
scores (`Linear`); other labels are classes (`Multiclass`). Importances are sample weights. Weights from such a file
keep the names, `namespace^name`; in a file to predict other names count 0, as in VW.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import LARGEST, as_number, missing_labels, size_of
from workbench.data.plain import check_text
from workbench.data.sequences import TEXT, holds_sequences, sequence_problem
from workbench.data.tables import archived, separated, svmlight
from workbench.data.tables.scaled import divided, largest
from workbench.data.tables.sheet import words_in
from workbench.data.tables.table import Asked, Columns, Table, checked_names, tidied
from workbench.dyads import vowpal
from workbench.errors import BadInput, counted
from workbench.outputs._rows_and_labels import refuse_amounts
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass

SHEETS = (".csv", ".tsv")
FORMATS: dict[str, Callable[[Path, Asked], Table]] = {
    **dict.fromkeys((".svm", ".svmlight", ".libsvm", ".txt"), svmlight.read),
    **dict.fromkeys(SHEETS, separated.read),
    ".npz": archived.read,
}
NAMED = ".vw"
TEXTUAL = tuple(suffix for suffix in FORMATS if suffix != ".npz")
Scale = Literal["largest"] | None
Weighted = Literal["balanced"] | None
SCALED = "each input divided by its largest absolute entry"
CONSTANT = "Constant"  # what VW calls the input that is 1 in every example
SHOWN = 8  # classes that a message names, at most
QUICK = 50  # samples, up to which each may be a class of its own, which takes no time and gives a warning
ALONE = 0.8  # classes a sample, from which on labels look like amounts
APART = 1e2  # ratio of two columns' largest entries, above which a note says so


def data_problem(path: str | Path) -> Callable[..., Multiclass | Linear | Chain]:
    """The function that builds the problem of a data file.

    A table has the setting `scale`, an npz also `label`; a CSV has also `drop`, `one_hot`, `fill` and `unlabelled`.
    """
    path = Path(path)

    def named() -> Multiclass | Linear:
        return named_problem(path)

    def plain(scale: Scale = None, class_weight: Weighted = None) -> Multiclass:
        return table_problem(path, class_weight=class_weight, scale=scale)

    def labelled(label: str | None = None, scale: Scale = None, class_weight: Weighted = None) -> Multiclass:
        return table_problem(path, label, class_weight, scale=scale)

    def separated(
        label: str | None = None,
        drop: str | None = None,
        one_hot: str | None = None,
        fill: Literal["mean"] | None = None,
        scale: Scale = None,
        class_weight: Weighted = None,
        unlabelled: Literal["drop"] | None = None,
    ) -> Multiclass:
        return table_problem(path, label, class_weight, drop, one_hot, fill, scale, unlabelled)

    suffix = path.suffix.lower()
    if holds_sequences(path):
        problem: Callable[..., Multiclass | Linear | Chain] = sequence_problem(path)
    else:
        problem = {NAMED: named, ".npz": labelled, **dict.fromkeys(SHEETS, separated)}.get(suffix, plain)
    problem.__doc__ = f"The samples and labels of {path}."
    return problem


def table_problem(
    path: Path,
    label: str | None = None,
    class_weight: Weighted = None,
    drop: str | None = None,
    one_hot: str | None = None,
    fill: Literal["mean"] | None = None,
    scale: Scale = None,
    unlabelled: Literal["drop"] | None = None,
) -> Multiclass:
    """The `Multiclass` problem of a table.

    label : the column or the array of labels
    drop : columns of a CSV that are not read, separated by commas
    one_hot : columns of a CSV that become a column of 0 and 1 for each of their words, separated by commas
    fill : `mean` to fill cells of a CSV without a value with the mean of their column
    scale : `largest` to divide each input by its largest absolute entry
    unlabelled : `drop` to leave out the rows of a CSV that have no label
    """
    table = read(path, label=label, drop=words_in(drop), one_hot=words_in(one_hot), fill=fill, unlabelled=unlabelled)
    if table.y is None:
        raise BadInput(f"{path} holds no labels; add a column of labels.")
    made = tuple(mark.lower() for name in words_in(one_hot) for mark in (f"{name}=", f"column {name}="))
    check_classes(path, table, table.y, made)
    X, before = table.X, np.ones(1)
    if (large := too_large(table)) is not None:
        if scale is None:
            raise BadInput(f"{path} {large}")
        X = sparse.csr_array(X, dtype=float)
        before = np.array(largest(X))
        X = divided(X, before.tolist())
    try:
        found = Multiclass(X, table.y, class_weight=class_weight)
        if scale is not None:
            scales = largest(found.X)
            found = Multiclass(divided(found.X, scales), table.y, class_weight=class_weight)
            found.scales = (before * scales).tolist()
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    found.columns, found.found_at = table.columns, table.lines
    other = classed(found.X, found.columns, made) if label is None else None
    said = f"{path}: {sizes(found)}; labels from {table.label}: {listed(found)}{advice(path, table, label, other)}"
    told = filter(None, (said, table.remark, SCALED if scale else ""))
    found.reading = f"{'; '.join(told)}.{warning(found, other)}{uneven(found)}"
    return found


def read(
    path: str | Path,
    n_inputs: int | None = None,
    columns: Columns = None,
    label: str | None = None,
    drop: tuple[str, ...] = (),
    classes: tuple[str, ...] = (),
    learned_label: str | None = None,
    one_hot: tuple[str, ...] = (),
    fill: Literal["mean"] | None = None,
    means: NDArray[np.float64] | None = None,
    unlabelled: Literal["drop"] | None = None,
) -> Table:
    """The samples and labels of a data file.

    n_inputs : the number of inputs of the weights, from which a file without labels is recognised
    columns : the columns of the file from which the weights were learned
    label : the column of a CSV, or the array of an npz, that holds the labels
    drop : columns of a CSV that are neither labels nor inputs; to predict, those left out in learning, where there are
        such
    classes : the labels that the weights know, as words;  learned_label : their column when these were learned
    one_hot : columns of a CSV that become a column of 0 and 1 a word
    fill : `mean` to fill cells of a CSV without a value;  means (n_inputs,) : with which, instead of the file's own
    unlabelled : `drop` to leave out the rows of a CSV to learn from that have no label

    Raises
    ------
    BadInput : no such file, another format, or what is wrong in it and where
    """
    path = Path(path)
    names = isinstance(columns, list) and len(columns) == n_inputs and all(isinstance(each, str) for each in columns)
    if not (names or columns in (None, 0, 1)):
        raise BadInput(f"The weights for {path} were not learned on {n_inputs} named columns; write them again.")
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    suffix = path.suffix.lower()
    if suffix == NAMED:
        raise BadInput(f"{path} names its features, and weights do not keep names; write one of {', '.join(FORMATS)}.")
    if suffix not in FORMATS:
        from workbench.programs.files import TEXTS  # imports backends

        if path.name.lower().endswith((*TEXTS, ".mat")):
            raise BadInput(f"{path} holds no samples by its name; `cutbench prove {path}` proves a convex program.")
        raise BadInput(f"{path} is in no known format; use one of {', '.join((*FORMATS, NAMED, TEXT))}.")
    if suffix in TEXTUAL:
        check_text(path)
    try:
        asked = Asked(n_inputs, columns, label, drop, classes, learned_label, one_hot, fill, means, unlabelled)
        return checked_names(path, FORMATS[suffix](path, asked))
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; save it again as UTF-8.") from None


def too_large(table: Table) -> str | None:
    """Where the first entry stands that is finite and too large to compute with, and what mends it; None without any.

    None, too, for what is no table of finite numbers, of which `Multiclass` says more.
    """
    given: Any = table.X  # SciPy has no types
    if np.iscomplexobj(given):
        return None
    try:
        with np.errstate(over="ignore"):  # longer floats become infinite
            X = sparse.csr_array(given, dtype=float)
    except (TypeError, ValueError):
        return None
    wrong = abs(X.data) > LARGEST
    if not wrong.any() or not np.isfinite(X.data).all():
        return None
    entry = int(np.argmax(wrong))
    row, column = int(np.searchsorted(X.indptr, entry, side="right") - 1), int(X.indices[entry])
    told = f"{table.place(row)}: {table.name(column)} is {X.data[entry]:.3g}, sums of such squares overflow"
    return f"{told}; rescale the data, as by --set scale=largest, or repair the entry."


def check_classes(path: Path, table: Table, y: NDArray, made: tuple[str, ...]) -> None:
    """`BadInput` for labels that are amounts, or that are all different, so that there is no class to learn.

    made : how the names of columns of 0 and 1 begin
    """
    if y.ndim != 1 or y.dtype.kind not in "biufU" or missing_labels(y).size:
        return  # what `Multiclass` says more about
    kinds, sheet = np.unique(y), path.suffix.lower() in SHEETS
    try:
        refuse_amounts(y, kinds)
    except BadInput as error:
        more = ", or choose other labels by --set label=NAME" if sheet or path.suffix.lower() == ".npz" else ""
        raise BadInput(f"{path}: {str(error).removesuffix('.')}{more}.") from None
    if len(kinds) < len(y) or len(y) <= QUICK:
        return
    told = f"{path}: all {len(y):,} labels differ in {table.label}, so there is no class to learn"
    if not sheet:
        fix = (
            "name the array of classes by --set label=NAME" if path.suffix.lower() == ".npz" else "write classes there"
        )
        raise BadInput(f"{told}; {fix}.")
    if not isinstance(table.columns, list):
        raise BadInput(f"{told}; name the column of classes by its number, e.g. --set label=1.")
    other = classed(sparse.csr_array(table.X), table.columns, made)
    name = other[0].removeprefix("column ") if other and other[1] < len(y) else "NAME"
    raise BadInput(f"{told}; name the column of classes by --set label={name}.")


# ── messages to the user ──────────────────────────────────────────────────────────────────────────


def sizes(problem: Multiclass) -> str:
    return f"{counted(problem.n_samples, 'sample')}, {counted(problem.n_inputs, 'input')}"


def listed(problem: Multiclass) -> str:
    """The classes in words, of many the first."""
    classes = [str(each)[:30] for each in problem.classes[:SHOWN].tolist()]
    more = f", … ({len(problem.classes)} classes)" if len(problem.classes) > SHOWN else ""
    return ", ".join(classes) + more


def classed(X: sparse.csr_array, names: Columns, made: tuple[str, ...]) -> tuple[str, int] | None:
    """The named input that looks most like labels, the one of fewest whole numbers, at least two; and how many.

    made : how the names of columns of 0 and 1 begin, which the file does not have
    """
    if not isinstance(names, list):
        return None
    n, columns = size_of(X)[0], X.tocsc()
    parts = np.split(columns.data, columns.indptr[1:-1])
    kinds = [np.unique(np.append(each, [0.0] * (len(each) < n))) for each in parts]
    whole = [(name, len(each)) for name, each in zip(names, kinds, strict=True) if (each % 1 == 0).all()]
    likely = [each for each in whole if each[1] > 1 and not each[0].lower().startswith(made)]
    return min(likely, key=lambda each: each[1], default=None)


def advice(path: Path, table: Table, label: str | None, other: tuple[str, int] | None) -> str:
    """How to choose other labels, if the user has not chosen; `other` is the input that looks most like labels."""
    if label is not None or path.suffix.lower() not in SHEETS:
        return ""
    if isinstance(table.columns, list):
        return f" (choose others by --set label={other[0].removeprefix('column ') if other else 'NAME'})"
    return " (choose others by the column's number, e.g. --set label=1)"


def warning(problem: Multiclass, other: tuple[str, int] | None) -> str:
    """A sentence if another column looks more like labels, or if almost every sample is a class of its own.

    So it is where the column holds amounts and no classes.
    """
    classes = len(problem.classes)
    if other and other[1] <= SHOWN < classes:
        name, few = other
        return f" Column {name} has {few} different whole numbers: did you mean --set label={name}?"
    if classes <= SHOWN or classes < ALONE * problem.n_samples:
        return ""
    return f" Almost every sample is a class of its own ({classes} of {problem.n_samples}): is this the label column?"


def uneven(problem: Multiclass) -> str:
    """A sentence if the largest entries of two columns differ by more than a factor of APART."""
    largest = abs(problem.X).max(axis=0).toarray().ravel()
    used = np.flatnonzero(largest)
    if not len(used) or largest[used].max() <= APART * largest[used].min():
        return ""
    least, most = used[largest[used].argmin()], used[largest[used].argmax()]
    names = problem.columns if isinstance(problem.columns, list) else [f"number {j + 1}" for j in range(len(largest))]
    return (
        f" Column {names[least]} reaches {largest[least]:.3g} and {names[most]} {largest[most]:.3g}, and their weights "
        "are penalised alike: --set scale=largest divides each column by its largest entry."
    )


# ── Vowpal Wabbit ─────────────────────────────────────────────────────────────────────────────────


def named_problem(path: Path) -> Multiclass | Linear:
    """Linear scores if the labels are −1 and 1 or real numbers, classes otherwise."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    check_text(path)
    examples = vowpal.read(path)
    for at, example in enumerate(examples, 1):
        vowpal.taught(example, f"Example {at} of {path}")
    values_by_name, found = vowpal.columns(features_of(examples))
    X = sparse.csr_array(sparse.hstack([values_by_name, np.ones((len(examples), 1))]))
    names = [*map(str, found or ["unused"]), CONSTANT]
    labels, importance = [each.label or "" for each in examples], [each.importance for each in examples]
    values = [value for value in map(as_number, labels) if value is not None]
    y = tidied(np.array(labels))
    checked_names(path, Table(X, y, names))
    try:
        if len(values) == len(labels) and (set(values) <= {-1, 1} or any(value % 1 for value in values)):
            problem = Linear(X, values, importance)
        else:
            problem = Multiclass(X, y, weights=importance)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    problem.columns = names
    lines = enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1)
    problem.found_at = [number for number, line in lines if line.strip()]  # each an example
    return problem


def features_of(examples: list[vowpal.Example]) -> list[dict[Hashable, float]]:
    """{namespace^name: value} of each example; a name without a namespace stands alone."""
    return [
        {
            f"{space}^{name}" if space.strip() else name: value
            for space, row in each.namespaces.items()
            for name, value in row.items()
        }
        for each in examples
    ]


def named_rows(path: Path, names: list[str]) -> Table:
    """X (n, p) with the columns `names`, and the labels if every example has one."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    check_text(path)
    examples, at = vowpal.read(path), {name: j for j, name in enumerate(names)}
    X = sparse.lil_array((len(examples), len(names)))
    for i, row in enumerate(features_of(examples)):
        for name, value in (row | {CONSTANT: 1.0}).items():
            if name in at:
                X[i, at[str(name)]] = value
    labels = [each.label for each in examples if each.label is not None]
    return Table(X.tocsr(), tidied(np.array(labels)) if len(labels) == len(examples) else None, names)
