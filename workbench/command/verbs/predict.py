"""Predict with certified weights.

RESULT is a certificate. DATA is a svmlight, CSV or npz file: columns with names are matched by name, and svmlight's
indices count from 0 or 1 as in the file that the weights were learned from; --set label=NAME names the column of labels
to compare with, and --set fill=mean fills cells of a CSV without a value with the means of the data learned from. Rows
without a label are predicted, too, and not compared; such a line of svmlight begins with index:value.
Sequences are CoNLL text (.conll: a position a line, an empty line after each sequence) or an npz with X, a row for each
position, and offsets. Weights learned on texts read new texts, in the words and frequencies of those
learned from: a folder of files, or of a folder a label; or lines text or label<TAB>text. For any structure DATA may
also be a PROBLEM of the same kind, such as the Python file with your own functions, with --set for its settings. Pairs
(.csv, .tsv, .vw) are matched by the names of their sides, with --set left=, right=, label= for other columns; a name
that was not learned is refused. Prints one output a line, behind a label the file of a text that is a file. If DATA
hold true outputs, too, the share of wrong outputs or the mean loss goes to stderr, and how many texts were learned
from. With split=test a problem of texts takes n, draw and path from the certificate. A certificate that does not prove
what it claims is told on stderr; `cutbench verify` says why.

    cutbench predict runs/train-soft-margin new.csv
    cutbench predict runs/train-crf new.conll --out outputs.txt
    cutbench predict runs/text-soft-margin new_mails/
    cutbench predict runs/text-soft-margin text --set split=test
    cutbench predict runs/trees-soft-margin ./trees.py --set seed=1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import click

import workbench.command.terminal as terminal
from workbench.command import tested
from workbench.command.given import outputs_of, placed, weights_for
from workbench.command.places import spare_file
from workbench.command.solutions import listed
from workbench.command.words import certificate_path, json_option, names_problem, overwrite_option, problem_of, verb
from workbench.data.loading import load_problem
from workbench.errors import BadInput, MissingCapability, counted, printed
from workbench.registries import build, dashed, is_path, parse_settings, present, registry

PROVEN = "cutbench.proven"  # what a look at the certificate found


@verb(__doc__)
@click.argument("result")
@click.argument("data")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the problem DATA.")
@click.option("--out", metavar="FILE", help="File for the outputs, one a line.")
@overwrite_option
@json_option
def command(result: str, data: str, settings: tuple[str, ...], out: str | None, overwrite: bool, as_json: bool) -> int:
    from workbench.data.readers import NAMED, SHEETS
    from workbench.data.sequences import holds_sequences
    from workbench.outputs.chain import Chain
    from workbench.outputs.dyads import DyadicPairs
    from workbench.outputs.linear import Linear
    from workbench.outputs.multiclass import Multiclass
    from workbench.proofs.certificate import load
    from workbench.proofs.files import files_of

    path = certificate_path(result)
    if out is not None:
        spare_file(out, "--out", overwrite, files_of(path))  # refused before anything is computed
    check_data(data)
    certificate, header = load(path)
    click.get_current_context().meta[PROVEN] = tested.proven(path)
    if isinstance(certificate.problem, DyadicPairs) and is_path(data) and Path(data).suffix in (*SHEETS, NAMED):
        return of_pairs(certificate, data, settings, as_json)
    if isinstance(certificate.problem, DyadicPairs):
        check_holds(certificate, path, data)
    if isinstance(certificate.problem, Multiclass) and holds_texts(certificate, data):
        none_given(settings, data)
        return of_texts(certificate, data, as_json)
    if isinstance(certificate.problem, Multiclass | Linear) and is_path(data) and Path(data).suffix == ".vw":
        none_given(settings, data)
        return of_named(certificate, data, as_json)
    if isinstance(certificate.problem, Multiclass) and is_path(data) and Path(data).suffix != ".py":
        return of_table(certificate, header, data, settings, as_json)
    if isinstance(certificate.problem, Chain) and is_path(data) and holds_sequences(Path(data)):
        none_given(settings, data)
        return of_sequences(certificate, data, as_json)
    check_holds(certificate, path, data)
    return of_problem(certificate, header, data, settings, as_json)


def check_data(data: str) -> None:
    """`BadInput` for a word that is neither a file or folder nor a problem's name."""
    if not is_path(data) and not Path(data).exists() and not names_problem(data):
        near = get_close_matches(dashed(data), registry("problem").names(), 1) if present("problem") else []
        hint = (
            f"; did you mean the problem {near[0]}?" if near else "; give a data file, a folder of texts, or a problem."
        )
        raise BadInput(f"There is no file, folder or problem called {data}{hint}")


def check_holds(certificate: Any, path: Path, data: str) -> None:
    """Refuse a data file of another kind than the weights take; `path` is their certificate."""
    from workbench.outputs.chain import Chain
    from workbench.outputs.dyads import DyadicPairs
    from workbench.outputs.linear import Linear

    suffix = Path(data).suffix.lower() if is_path(data) else ".py"
    if isinstance(certificate.problem, Chain) and suffix == ".npz":
        raise BadInput(f"{data} has no offsets, and {path} is about sequences; say with offsets where each starts.")
    if suffix in (".py", ".npz"):
        return
    if isinstance(certificate.problem, Chain):
        raise BadInput(
            f"{data} is no file of sequences, which {path} is about; give CoNLL text (.conll), or an npz with offsets."
        )
    takes = {DyadicPairs: "pairs (.csv, .tsv, .vw)", Linear: "a file of Vowpal Wabbit's format (.vw)"}
    file = next((f"{each}, or " for kind, each in takes.items() if isinstance(certificate.problem, kind)), "")
    raise MissingCapability(
        f"{path} is about {type(certificate.problem).__name__} outputs, which {data} cannot hold; give {file}a problem."
    )


def none_given(settings: tuple[str, ...], data: str) -> None:
    """Refuse settings where the certificate alone says how a data file is read."""
    if settings:
        raise BadInput(f"{data} is read as the data that were learned from; leave --set {settings[0]} out.")


def of_table(certificate: Any, header: Mapping[str, Any], data: str, settings: tuple[str, ...], as_json: bool) -> int:
    """Predict and print the labels of the rows of a data file, compared with its labels if there are some."""
    import numpy as np

    from workbench.arithmetic.arrays import checked_inputs
    from workbench.data.readers import SHEETS, read
    from workbench.data.sequences import holds_sequences
    from workbench.data.tables.scaled import divided, learned_scales
    from workbench.data.tables.sheet import words_in

    if holds_sequences(Path(data)):
        alone = Path(data).suffix.lower() == ".npz"
        fix = "leave its offsets out to predict each position by itself" if alone else "give a row a sample (.csv)"
        raise BadInput(f"{data} holds sequences, and the weights were learned on single rows; {fix}.")

    if Path(data).suffix.lower() not in (*SHEETS, ".npz"):
        none_given(settings, data)

    def table_in(label: str | None = None, fill: Literal["mean"] | None = None) -> Any:
        return read(
            data,
            problem.n_inputs,
            problem.columns,
            label,
            classes=tuple(map(str, problem.classes.tolist())),
            drop=words_in(settled.get("drop")),
            learned_label=settled.get("label"),
            one_hot=words_in(settled.get("one_hot")),
            fill=fill or ("mean" if settled.get("fill") == "mean" else None),
            means=np.asarray(problem.X.mean(axis=0)).ravel() * scales,
        )

    problem = certificate.problem
    told = header["problem"].get("settings")  # of the problem when the weights were learned
    settled = told if isinstance(told, dict) else {}
    scales = learned_scales(problem, problem.n_inputs)
    given = parse_settings(settings, table_in)[0]
    if "fill" in given and Path(data).suffix.lower() not in SHEETS:
        raise BadInput(f"{data} is no CSV file, of which alone cells are filled; leave fill out.")
    table = build(table_in, given)
    try:
        X = checked_inputs(table.X)
    except BadInput as error:
        raise BadInput(f"{data}: {error}") from None
    if X.shape[1] != problem.n_inputs:
        raise BadInput(
            f"{data} has {counted(X.shape[1], 'column')} and the weights were learned on {problem.n_inputs}; give the "
            "same columns in the same order."
        )
    y = table.y if table.y is None or problem.classes.dtype.kind != "U" else table.y.astype(str)
    place = f", {table.label}" if table.label else ""
    remark = "; ".join(filter(None, [table.remark, numbered(certificate, data)]))
    return of_rows(certificate, divided(X, scales), y, data, as_json, remark, place, table.labelled)


def numbered(certificate: Any, data: str) -> str:
    """What to tell of a file that has numbers for its columns where the weights were learned on columns with names."""
    from workbench.data.readers import FORMATS
    from workbench.data.tables import svmlight

    names = certificate.problem.columns
    if not (isinstance(names, list) and names and FORMATS.get(Path(data).suffix.lower()) is svmlight.read):
        return ""
    shown = listed([printed(str(each)) for each in names])
    return f"its numbers of columns, in order, were taken for the columns learned, {shown}; a CSV file would name them"


def holds_texts(certificate: Any, data: str) -> bool:
    """Whether DATA is a folder, or a file that is no table and no program, for weights that were learned on texts.

    Raises
    ------
    BadInput : a folder for other weights, or svmlight's rows of numbers for these
    """
    from workbench.contracts import Sourced
    from workbench.data.hints import pairs_alone
    from workbench.data.readers import FORMATS, NAMED
    from workbench.data.tables import svmlight

    path = Path(data)
    learned = certificate.problem
    if not isinstance(learned, Sourced) or learned.idf is None:
        if path.is_dir():
            raise BadInput(f"{data} is a folder, and the weights were not learned on texts; give a data file.")
        return False
    suffix = path.suffix.lower()
    numbers = FORMATS.get(suffix) is svmlight.read and (suffix != ".txt" or pairs_alone(path))
    if numbers and path.is_file():
        raise BadInput(
            f"{data} holds rows of numbers (an svmlight file has lines `label index:value …`), and the weights were "
            "learned on texts; give texts, a folder of files or one a line."
        )
    return path.is_dir() or (is_path(data) and suffix not in {*FORMATS, NAMED, ".py"} - {".txt", ".tsv"})


def of_texts(certificate: Any, data: str, as_json: bool) -> int:
    """Predict and print the labels of texts, in the words and frequencies of those learned from."""
    import numpy as np

    from workbench.data.texts import Vocabulary, to_predict

    found = to_predict(data)
    vocabulary = Vocabulary.learned(certificate.problem)
    assert vocabulary is not None  # `holds_texts` looked
    labels = np.array(found.topics) if found.topics else None
    rows = vocabulary.rows(found.texts)
    return of_rows(certificate, rows, labels, data, as_json, found.remark, files=found.files)


def of_named(certificate: Any, data: str, as_json: bool) -> int:
    """Predict and print the labels of examples in Vowpal Wabbit's format, whose features are matched by name."""
    from workbench.data.readers import CONSTANT, named_rows
    from workbench.outputs.linear import Linear

    names, problem = certificate.problem.columns, certificate.problem
    if isinstance(problem, Linear) and (abs(problem.targets) != 1).any():
        raise MissingCapability(
            f"The weights for {data} were learned on amounts, and signs alone are predicted; label by −1 and 1."
        )
    if not (isinstance(names, list) and names[-1:] == [CONSTANT]):
        raise BadInput(f"{data} names its features, and the weights were not learned from such a file; give a problem.")
    table = named_rows(Path(data), names)
    return of_rows(certificate, table.X, table.y, data, as_json)


def of_rows(
    certificate: Any,
    X: Any,
    y: Any,
    data: str,
    as_json: bool,
    remark: str = "",
    place: str = "",
    labelled: Any = None,
    files: Sequence[str] = (),
) -> int:
    """Predict and print the labels of rows X (n, p), compared with y (n,) where there are labels.

    remark : what else the user should know of the reading;  place : where the labels stand
    labelled : (m,) the rows that y (m,) are the labels of, if not of all;  files : (n,) the files of the rows, if any
    """
    import numpy as np

    problem = certificate.problem
    parts = certificate.formulation.blocks(problem).split(certificate.theta)
    predictions = problem.predict(parts["w"], X, *([parts["b"]] if "b" in parts else []))
    classes = getattr(problem, "classes", np.array([-1, 1]))  # linear scores predict a sign
    compared = predictions if labelled is None else predictions[labelled]
    error = error_rate(compared, y, classes)
    told = {"n_samples": len(predictions), "predictions": predictions, "error": error}
    told |= {"remark": remark} if remark else {}
    seen = tested.learned_from(certificate, X)
    told |= {} if seen is None else {"learned_from": seen}
    lines = map(str, predictions)
    if files:
        told |= {"files": list(files)}
        lines = (f"{label}\t{printed(name)}" for label, name in zip(predictions, files, strict=True))
    tell(told, lines, as_json)
    if not as_json:
        compare(error, len(compared), y, classes, data, place + tested.words_for(seen))
        if remark:
            click.echo(f"{data}: {remark}", err=True)
    return 0


def of_sequences(certificate: Any, data: str, as_json: bool) -> int:
    """Predict and print the labels of sequences, one sequence a line."""
    import numpy as np

    from workbench.data.sequences import to_predict

    problem = certificate.problem
    sequences, labels = to_predict(Path(data), problem)
    parts = certificate.formulation.blocks(problem).split(certificate.theta)
    found = problem.predict(parts["w"], sequences, parts.get("b"))
    flat = None if labels is None else np.concatenate(labels)
    error = error_rate(np.concatenate(found), flat, problem.classes)
    lines = (" ".join(map(str, row)) for row in found)
    tell({"n_samples": len(found), "predictions": found, "error": error}, lines, as_json)
    if not as_json:
        mean = ""
        if labels is not None and error is not None:
            each = [np.mean(np.asarray(row) != np.asarray(truth)) for row, truth in zip(found, labels, strict=True)]
            mean = f"; as the mean over sequences, like a train error, {100 * np.mean(each):.2f} %"
        compare(error, sum(map(len, found)), flat, problem.classes, data, mean)
    return 0


def of_pairs(certificate: Any, data: str, settings: tuple[str, ...], as_json: bool) -> int:
    """Predict and print the labels of the pairs of a file; names of sides and labels stand where they were learned."""
    from workbench.data.pairs import to_predict
    from workbench.outputs.dyads import DyadicPairs

    def source(left: str = "left", right: str = "right", label: str = "label") -> Any:
        return to_predict(data, list(map(str, certificate.problem.classes.tolist())), left, right, label)

    pairs, labelled = build(source, parse_settings(settings, source)[0])
    return of_outputs(certificate, DyadicPairs(pairs), data, as_json, labelled)


def of_problem(certificate: Any, header: Mapping[str, Any], data: str, settings: tuple[str, ...], as_json: bool) -> int:
    """Predict and print the outputs of a problem of the certificate's kind."""
    source = load_problem(data)
    asked = tested.settled(certificate, header, data, source, parse_settings(settings, source)[0])
    with terminal.stdout_kept():
        tested.check_held_back(certificate, header, data, source, asked)
        problem = problem_of(build(source, asked), data)
    tested.check_same_words(certificate, header, data, source, asked, problem)
    return of_outputs(certificate, problem, data, as_json)


def of_outputs(certificate: Any, problem: Any, data: str, as_json: bool, labelled: bool = True) -> int:
    """Predict and print outputs in the problem's own words, and their mean loss if the true outputs are known."""
    import numpy as np

    with terminal.stdout_kept():
        problem = placed(certificate, problem)
        every, outputs = (
            np.arange(problem.n_samples),
            outputs_of(certificate, problem, weights_for(certificate, problem, data)),
        )
        loss = float(problem.loss(every, outputs).mean()) if labelled else None
        named = [printed(problem.describe(i, y)) for i, y in zip(every.tolist(), outputs, strict=True)]
        seen = tested.learned_from(certificate, problem.X) if tested.of_texts(problem) else None
    told = {"n_samples": len(named), "predictions": named, "loss": loss}
    tell(told | ({} if seen is None else {"learned_from": seen}), named, as_json)
    if not as_json and loss is not None:
        more = tested.words_for(seen)
        click.echo(f"mean loss {loss:.4g} over {counted(len(named), 'sample')} of {data}{more}", err=True)
    return 0


def tell(record: dict[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print the record, or else one output a line; with --out the lines go to that file, and its name is printed."""
    context = click.get_current_context()
    out, (verified, said) = context.params["out"], context.meta[PROVEN]
    record |= {"verified": verified}
    if said and not as_json:
        click.echo(f"cutbench: {said}.", err=True)
    if out is not None:
        from workbench.proofs.files import write_whole

        Path(out).parent.mkdir(parents=True, exist_ok=True)
        write_whole(Path(out), "".join(f"{line}\n" for line in lines).encode())
        lines = [terminal.shown_path(Path(out))]
    terminal.emit(record) if as_json else click.echo("\n".join(lines))


def error_rate(predictions: Any, labels: Any, classes: Any) -> float | None:
    """The share of wrong predictions; None without labels, or with labels unknown to the weights."""
    if labels is None or len(labels) != len(predictions) or not set(labels.tolist()) <= set(classes.tolist()):
        return None
    return float((predictions != labels).mean())


def compare(error: float | None, count: int, labels: Any, classes: Any, data: str, more: str = "") -> None:
    """One line on stderr: the share of labels in the file that differ and `more`, or why they were not compared."""
    if error is not None:
        click.echo(f"{100 * error:.2f} % of {count} differ from the labels in {data}{more}", err=True)
    elif labels is not None and len(given := set(labels.tolist())) > 1:  # one label for all stands for none
        strange = sorted(map(str, given - set(classes.tolist())))
        click.echo(f"not compared with the labels in {data}: the weights do not know {', '.join(strange)}", err=True)
