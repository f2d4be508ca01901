"""Every parser on bytes that nobody meant: mutations of a kept corpus, for a budget of seconds.

    python tests/nightly/parsers.py [SECONDS] [PARSER] [SEED]

Each parser of PARSERS gets a file made from one or two files of its corpus (tests/nightly/corpus/PARSER, and examples
written here) by edits: bytes flipped, cut out, doubled, exchanged, and words put in that parsers of numbers and paths
stumble over. The parser may return, or raise a `CutbenchError` of one printable sentence; anything else, and anything
that takes longer than SLOW seconds, is a crash. A crash is kept in the corpus, is printed, and makes the exit code 1.
Hypothesis shrinks no bytes here: the edits are few, and the file is kept as it is.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import workbench as wb
from workbench.data.readers import read
from workbench.errors import CutbenchError
from workbench.programs.files import program_in
from workbench.proofs.checker import archive
from workbench.proofs.checker.faults import Malformed
from workbench.system import journal
from workbench.system.alarm import Late, alarm

CORPUS = Path(__file__).with_name("corpus")
SLOW = 20.0  # seconds
WORDS = [b"nan", b"-inf", b"1e400", b"1e-400", b"9" * 400, b"\x00", b"\xff\xfe", b"../", b"\x1b[31m", b'"', b"'"]
WORDS += [b"[" * 50, b"{", b",", b"\r\n", b"\t", b"|", b":", b"=", b"RANGES\n", b"BOUNDS\n", b"End\n", b"-0", b"1_0"]
WORDS += ["\u0663".encode()]
MPS = b"NAME T\nROWS\n N COST\n G R1\n L R2\nCOLUMNS\n X COST 1 R1 1\n Y COST 2 R2 1\n"
MPS += b"RHS\n RHS R1 1\nBOUNDS\n UP B X 4\nENDATA\n"
LP = b"Minimize\n obj: x + 2 y + [ x ^ 2 ] / 2\nSubject To\n c1: x + y >= 1\nBounds\n 0 <= x <= 4\nEnd\n"
SEEDS: dict[str, list[bytes]] = {
    "csv": [b"a,b,label\n1,2,x\n3,4,y\n", b"1;2;0\n3;4;1\n"],
    "svm": [b"1 1:2 3:4\n0 2:1 # c\n"],
    "vw": [b"1 2 a|x f:1 g |y h\n-1 |x g\n"],
    "mps": [MPS],
    "lp": [LP],
    "npz": [],
    "certificate": [],
    "journal": [],
}


def table(path: Path) -> None:
    found = read(path)
    wb.Multiclass(found.X, found.y)


def certificate(path: Path) -> None:
    try:
        archive.read_json(path)
    except Malformed as error:
        raise CutbenchError(str(error)) from None


def lines(path: Path) -> None:
    folder = path.with_name("run") / "journal"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / journal.LINES).write_bytes(path.read_bytes())
    journal.read(folder.parent)


PARSERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "csv": ("a.csv", table),
    "svm": ("a.svm", table),
    "vw": ("a.vw", table),
    "npz": ("a.npz", table),
    "mps": ("a.mps", lambda path: program_in(str(path))),
    "lp": ("a.lp", lambda path: program_in(str(path))),
    "certificate": ("a.json", certificate),
    "journal": ("a.jsonl", lines),
}


def examples(name: str, place: Path) -> list[bytes]:
    """The corpus of a parser."""
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    if name == "npz":
        np.savez(place / "e.npz", X=np.eye(3), y=np.arange(3))
        kept.append((place / "e.npz").read_bytes())
    if name in ("certificate", "journal"):
        problem = wb.Multiclass([[1.0], [-1.0]], [0, 1])
        found = wb.solve(wb.SoftMargin(lam=1.0), problem, gap=1e-3, journal=place / "made")
        kept.append(found.certificate.save(place / "made" / "certificate").read_bytes())
        kept.append((place / "made" / "journal" / journal.LINES).read_bytes())
    return [*SEEDS[name], *kept]


def edited(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """One to eight edits."""
    for _ in range(int(rng.integers(1, 9))):
        a, b = sorted(int(each) for each in rng.integers(0, len(content) + 1, 2))
        b = min(b, a + 64)
        word = WORDS[rng.integers(len(WORDS))]
        flipped = bytes([content[a] ^ (1 << int(rng.integers(8)))]) if a < len(content) else b""
        spliced = other[a:b]
        put = (word, flipped, b"", 2 * content[a:b], spliced, word + content[a:b])[rng.integers(6)]
        end = a + 1 if put is flipped else a if put is word else b
        content = content[:a] + put + content[end:]
    return content[: 2**20]


def tried(name: str, path: Path) -> str:
    """What is wrong with the parser's answer to a file, if anything."""
    try:
        with warnings.catch_warnings(), alarm(SLOW), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            PARSERS[name][1](path)
    except CutbenchError as error:
        return "" if str(error).replace("\n", "").isprintable() else f"not printable: {str(error)!r}"
    except Late:
        return f"more than {SLOW:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def fuzz(seconds: float, only: str = "", seed: int = 0, most: int | None = None) -> tuple[int, list[str]]:
    """How many files were tried, and the crashes."""
    rng, count, crashes = np.random.default_rng(seed), 0, list[str]()
    names = [name for name in PARSERS if only in name]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        known = {name: examples(name, place) for name in names}
        end = time.process_time() + seconds
        while time.process_time() < end and count != most:
            name = names[count % len(names)]
            one, other = (known[name][k] for k in rng.integers(len(known[name]), size=2))
            path = place / PARSERS[name][0]
            path.write_bytes(content := edited(one, other, rng))
            count += 1
            if said := tried(name, path):
                kept = CORPUS / name / hashlib.sha256(content).hexdigest()[:16]
                crashes.append(f"{name}: {said} ({kept.name})")
                if most is None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_bytes(content)
    return count, crashes


def main(seconds: str = "600", only: str = "", seed: str = "0") -> int:
    count, crashes = fuzz(float(seconds), only, int(seed))
    print(f"{count} files, {len(crashes)} crashes", *crashes, sep="\n")
    return int(bool(crashes))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
