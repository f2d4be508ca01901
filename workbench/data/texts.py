"""A user's labelled texts: a folder with a folder a label, or a file with `label<TAB>text` a line (perhaps .gz).

    news/rec.autos/101.txt        rec.autos<TAB>Which car is this
    news/sci.space/7              sci.space<TAB>The shuttle is late

The folder is the form in which 20 Newsgroups is handed out. Labels and files come in the order of their names; hidden
files are passed over. A text that is no UTF-8 is read as Latin-1, as old news is.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from workbench.data.sets.reuters import Stories, story
from workbench.errors import BadInput


def read_texts(path: str | Path) -> Stories:
    """The texts and their labels, in the order of the folders and files, or of the lines.

    Raises
    ------
    BadInput : nothing there, fewer than two labels, an empty folder, or a line without label, tab and text
    """
    path = Path(path)
    if not path.exists():
        raise BadInput(f"There is no folder or file {path}; check its path.")
    try:
        found = of_folder(path) if path.is_dir() else of_lines(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror or error}); check it.") from None
    if len(set(found.topics)) < 2:
        raise BadInput(f"{path} has texts of one label only; give at least two labels.")
    return found


def of_folder(path: Path) -> Stories:
    """The files below PATH/LABEL."""
    labels = [each for each in sorted(path.iterdir()) if each.is_dir() and not each.name.startswith(".")]
    if not labels:
        raise BadInput(f"{path} holds no folders; put the texts of each label into a folder called like the label.")
    topics, texts = [], []
    for label in labels:
        files = [each for each in sorted(label.rglob("*")) if each.is_file() and not each.name.startswith(".")]
        if not files:
            raise BadInput(f"The folder {label} holds no texts; fill it or remove it.")
        topics += [label.name] * len(files)
        texts += [" ".join(decoded(each.read_bytes()).split()) for each in files]
    return Stories(topics, texts)


def of_lines(path: Path) -> Stories:
    """The lines of a file."""
    content = path.read_bytes()
    lines = decoded(gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(story(line))
            except ValueError:
                raise BadInput(f"Line {number} of {path} is not of the form label<TAB>text; repair it.") from None
    if not found:
        raise BadInput(f"{path} holds no texts; give one a line, as label<TAB>text.")
    return Stories(*map(list, zip(*found, strict=True)))


def decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")
