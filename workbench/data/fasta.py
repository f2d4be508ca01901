"""Sequences from FASTA files: a line that starts with > and names a sequence, then its letters over one or more lines.

    >ILVB_ECOLI acetolactate synthase
    MASSGTTSTRKRFTGAEFIVHFLEQQGIKIVTGIPGGSILPVYDALSQSTQ
    IRHILARHEQGAGFIAQGMARTDGKPAVCMACSGPGATNLVTAIADARLDSI

White space within letters, blank lines, and lines that start with ; do not count. Files that end in .gz are unpacked.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.data.plain import check_text
from workbench.errors import BadInput
from workbench.system.unpacked import content_of


class Named(NamedTuple):
    """Sequences in the order of the file, and the first word of each one's line of title."""

    names: list[str]
    texts: list[str]


def read_fasta(path: str | Path) -> Named:
    """The sequences of a FASTA file.

    Raises
    ------
    BadInput : no such file, no text, no sequences, letters before the first title, a title without letters
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    try:
        content = content_of(path)
        check_text(path, content)
        lines = content.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error}); check the file.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; save it again as UTF-8.") from None
    names: list[str] = []
    texts: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        if line.startswith(">"):
            names.append((line[1:].split() or [f"sequence {len(names)}"])[0])
            texts.append([])
        elif line.strip() and not line.startswith(";"):
            if not names:
                raise BadInput(f"Line {number} of {path} has letters before a line that starts with >; add a title.")
            texts[-1].append("".join(line.split()))
    if not names:
        raise BadInput(f"{path} holds no sequences; start each with a line >NAME.")
    whole = ["".join(parts) for parts in texts]
    if "" in whole:
        raise BadInput(f"The sequence {names[whole.index('')]} of {path} has no letters; fill it or leave it out.")
    return Named(names, whole)
