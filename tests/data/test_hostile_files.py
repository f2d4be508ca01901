"""Bad and hostile input: one sentence, or the right answer; never a traceback, never a wrong number, nothing executed.

REFUSED are files that the command line must refuse, with words of the sentence. HARMLESS are files that look
dangerous and have one right reading, which is compared with arrays written here. The rest are arrays, settings,
and scales, with relations that hold without any solver.
"""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import workbench as wb
from workbench.command.cli import cli
from workbench.data.readers import data_problem, read
from workbench.errors import LONGEST, BadInput
from workbench.system import archive


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own, below another one, so that what climbs out is seen."""
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    return inside


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def listing() -> list[str]:
    return sorted(str(path) for path in Path("..").rglob("*"))


def refused(*words: str, says: str) -> None:
    """The command ends with 2 and one printable line that names the fault; no file comes or goes."""
    before = listing()
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    line = done.stderr.removesuffix("\n")
    assert line.startswith("cutbench: ")
    assert line.isprintable(), "a second line or a control character"
    assert says in line
    assert "bug of ours" not in line
    assert len(line) < LONGEST + 100
    assert listing() == before


def npz(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(shape: str, entries: bytes, kind: str = "<f8", version: tuple[int, int] = (1, 0)) -> bytes:
    """An npy file whose header says what one wants."""
    head = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", len(head)) + head + entries


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def saved(matrix: sparse.sparray, **changed: object) -> bytes:
    """What scipy.sparse.save_npz writes, with arrays changed or (None) left out, and labels 0, 1, 0, …."""
    buffer = io.BytesIO()
    sparse.save_npz(buffer, matrix)
    buffer.seek(0)
    with np.load(buffer) as file:
        arrays = {name: file[name] for name in file.files} | {"y": np.arange(matrix.shape[0]) % 2} | changed
    return npz(**{name: array for name, array in arrays.items() if array is not None})


class Trap:
    """Unpickling this writes a file."""

    def __reduce__(self):
        return Path("executed").write_text, ("x",)


LABELS = npy("(2,)", np.array([0, 1]).tobytes(), "<i8")
EYE = sparse.csr_array(np.eye(3))
TRAPPED = npz(X=np.array([[Trap()], [Trap()]], dtype=object), y=[0, 1])
LOCKED = bytearray(npz(X=np.eye(2), y=[0, 1]))
for at in (LOCKED.index(b"PK\x03\x04") + 6, LOCKED.index(b"PK\x01\x02") + 8):
    LOCKED[at] |= 1  # says that the member is encrypted

REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    # CSV
    "csv: empty": ("a.csv", "", "holds no samples"),
    "csv: blank lines only": ("a.csv", "\n \n\n", "holds no samples"),
    "csv: header only": ("a.csv", "a,b,label\n", "holds no samples"),
    "csv: one sample": ("a.csv", "a,b,label\n1,2,x\n", "All labels are x"),
    "csv: one class": ("a.csv", "1,2,x\n3,4,x\n", "All labels are x"),
    "csv: nan": ("a.csv", "a,b,label\n1,nan,x\n3,4,y\n", "line 2: column b is 'nan'"),
    "csv: -inf": ("a.csv", "a,b,label\n1,2,x\n3,-inf,y\n", "line 3: column b is '-inf'"),
    "csv: beyond floats": ("a.csv", "a,b,label\n1,2,x\n3,1e400,y\n", "line 3: column b is '1e400'"),
    "csv: squares overflow": ("a.csv", "a,b,label\n1,2,x\n3,1e300,y\n", "sums of such squares overflow"),
    "csv: ragged": ("a.csv", "a,b,label\n1,2,x\n3,4,5,y\n", "line 3 has 4 cells where 3 are expected"),
    "csv: cut off in a line": ("a.csv", "a,b,label\n1,2,x\n3,4", "line 3 has 2 cells"),
    "csv: cut off in a quote": ("a.csv", 'a,b,label\n1,2,x\n3,4,"y', "line 3: unexpected end of data"),
    "csv: Latin-1": ("a.csv", "a,b,label\n1,2,é\n".encode("latin-1"), "not text in UTF-8"),
    "csv: UTF-16": ("a.csv", "a,b,label\n1,2,x\n".encode("utf-16"), "not text in UTF-8"),
    "csv: cut off in a character": ("a.csv", "a,b,label\n1,2,é".encode()[:-1], "not text in UTF-8"),
    "csv: NUL": ("a.csv", "a,b,label\n1,\0,x\n3,4,y\n", "line 2: column b is '\\x00'"),
    "csv: underscores": ("a.csv", "a,b,label\n1,1_0,x\n3,4,y\n", "line 2: column b is '1_0'"),
    "csv: Arabic digits": ("a.csv", "a,b,label\n1,١٢,x\n3,4,y\n", "line 2: column b is '١٢'"),
    "csv: hexadecimal": ("a.csv", "a,b,label\n1,0x10,x\n3,4,y\n", "line 2: column b is '0x10'"),
    "csv: formula cell": ("a.csv", "a,b,label\n1,=1+1,x\n3,4,y\n", "line 2: column b is '=1+1'"),
    "csv: a question mark in the first line": ("a.csv", "1,?,0\n2,3,1\n", "line 1: column 2 is '?'"),
    "csv: decimal commas": ("a.csv", "1,5;2,5;x\n3,5;4,5;y\n", "could be split at commas and semicolons alike"),
    "csv: commas, perhaps of thousands": ("a.csv", "a;b;label\n1,500;2;0\n3,500;4;1\n", "column a is '1,500'"),
    "csv: thousands set apart": ("a.csv", 'a,b,label\n"1,000.5",1,x\n"2,100.5",2,y\n', "set apart; write 1000.5."),
    "csv: thousands after blanks": ("a.csv", "a,b,label\n1 000,1,x\n2 100,2,y\n", "set apart; write 1000."),
    "csv: commas beside points": ("a.csv", "a;b;label\n1,5;2.5;0\n3,5;4.5;1\n", "'1,5', which may be"),
    "csv: separated by blanks": ("a.csv", "1 2 0\n3 4 1\n", "has one column"),
    "csv: two columns of words": ("a.csv", "id,diagnosis,r\nann,benign,1\nbob,malignant,2\n", "--set label=id"),
    "csv: words beside the label": ("a.csv", "diagnosis,r,y\nbenign,1,0\nmalignant,2,1\n", "--set label=diagnosis"),
    "csv: labels missing": ("a.csv", "a,b,label\n1,2,\n3,4,y\n", "line 2: the label is missing"),
    "csv: real last column": ("a.csv", "1,2,0.5\n3,4,1\n", "line 1: the last column holds 0.5, no class"),
    "csv: infinite last column": ("a.csv", "1,2,inf\n3,4,1\n", "the last column holds inf, no class"),
    "csv: two equal names": ("a.csv", "a,a,label\n1,2,x\n3,4,y\n", "two columns are called a"),
    "csv: no name, twice": ("a.csv", ",column 1,label\n0,1,x\n1,2,y\n", "two columns are called column 1"),
    "csv: huge cell": ("a.csv", f"a,b,label\n1,{'9' * 200_000},x\n3,4,y\n", "field larger than field limit"),
    "csv: long cell": ("a.csv", f"a,b,label\n1,{'z' * 100_000},x\n3,4,y\n", "line 2: column b is 'zzz"),
    "csv: huge header": ("a.csv", f"{'h' * 100_000},b,label\n?,2,x\n3,4,y\n", "line 2: column hhh"),
    "csv: terminal escape in a label": ("a.csv", "a,label\n1,\x1b[31mred\n2,y\n", "unprintable characters"),
    "csv: terminal escape in a name": ("a.csv", "\x1b]0;own\x07,label\n1,x\n2,y\n", "unprintable characters"),
    "csv: text direction in a label": ("a.csv", "a,label\n1,\u202exy\n2,z\n", "unprintable characters"),
    "csv: newline in a label": ("a.csv", 'a,label\n1,"x\ny"\n2,z\n', "unprintable characters"),
    "csv: a zip file": ("a.csv", npz(X=np.eye(2)), "a.csv"),
    # svmlight
    "svm: empty": ("a.svm", "", "holds no samples"),
    "svm: labels only": ("a.svm", "1\n2\n", "holds no samples with features"),
    "svm: one class": ("a.svm", "1 1:2\n1 2:1\n", "All labels are 1"),
    "svm: nan": ("a.svm", "1 1:2\n0 1:nan\n", "line 2: feature 1 is nan"),
    "svm: nan as a label": ("a.svm", "1 1:2\nnan 1:3\n", "line 2: the label is nan"),
    "svm: no label": ("a.svm", "1 1:2\n1:3 2:1\n", "line 2 begins with '1:3', not with a label"),
    "svm: words among numbers": ("a.svm", "1 1:2\nyes 1:3\n", "line 2: the label 'yes' is not a number"),
    "svm: numbers among words": ("a.svm", "no 1:2\n1 1:3\n", "line 2: the label '1' is a number"),
    "svm: no value": ("a.svm", "1 1:2\n0 2:\n", "line 2: '2:' is not index:value"),
    "svm: negative index": ("a.svm", "1 1:2\n0 -2:1\n", "line 2: '-2:1' is not index:value"),
    "svm: Thai digits": ("a.svm", "1 1:2\n0 ๒:1\n", "is not index:value"),
    "svm: twice": ("a.svm", "1 1:2\n0 2:1 2:1\n", "line 2: index 2 follows 2"),
    "svm: unsorted": ("a.svm", "1 1:2\n0 3:1 2:1\n", "line 2: index 2 follows 3"),
    "svm: index 10^9": ("a.svm", "1 1:2\n0 1000000000:1\n", "exceeds 100000000"),
    "svm: index of 10,000 digits": ("a.svm", f"1 1:2\n0 {'9' * 10_000}:1\n", "exceeds 100000000"),
    "svm: not UTF-8": ("a.svm", b"1 1:2\n0 1:\xff\n", "not text in UTF-8"),
    "svm: squares overflow": ("a.svm", "1 1:2\n0 1:-1e200\n", "sums of such squares overflow"),
    "svm: terminal escape in a label": ("a.svm", "\x1b[2J 1:2\nx 1:3\n", "unprintable characters"),
    # npz
    "npz: empty": ("a.npz", b"", "not an npz file"),
    "npz: text": ("a.npz", "X=1", "not an npz file"),
    "npz: an npy file": ("a.npz", npy("(2,)", bytes(16)), "not an npz file"),
    "npz: cut off": ("a.npz", npz(X=np.eye(9), y=np.arange(9))[:-30], "not an npz file"),
    "npz: flipped bits": ("a.npz", npz(X=np.eye(9)).replace(np.eye(1).tobytes(), bytes(8), 1), "not an npz file"),
    "npz: pickled objects": ("a.npz", TRAPPED, "pickled objects, which are never read"),
    "npz: encrypted": ("a.npz", bytes(LOCKED), "encrypted"),
    "npz: a header that promises 8 TB": ("a.npz", zipped(X=npy("(1000000000000,)", b"x" * 64), y=LABELS), "promises"),
    "npz: a negative shape": ("a.npz", zipped(X=npy("(-2, -1)", bytes(16)), y=LABELS), "header promises"),
    "npz: a deep header": ("a.npz", zipped(X=npy("(" * 3000, bytes(16)), y=LABELS), "not an npz file"),
    "npz: a header that calls": ("a.npz", zipped(X=npy("__import__('os').getpid()", b""), y=LABELS), "not an npz file"),
    "npz: a header of 1 MB": ("a.npz", zipped(X=npy("(2, 1)" + " " * 10**6, bytes(16), "<f8", (2, 0))), "not an npz"),
    "npz: entries without size": ("a.npz", zipped(X=npy("(1000000000000,)", b"", "<U0"), y=LABELS), "header promises"),
    "npz: of another version": ("a.npz", zipped(X=npy("(2, 1)", bytes(16), "<f8", (9, 0))), "not an npz file"),
    "npz: no X": ("a.npz", npz(Z=[1.0]), "holds the arrays Z, but X is missing"),
    "npz: no labels": ("a.npz", npz(X=np.eye(2)), "holds no labels"),
    "npz: labels twice": ("a.npz", npz(X=np.eye(2), y=[0, 1], labels=[1, 0]), "labels twice, as y and labels"),
    "npz: no samples": ("a.npz", npz(X=np.empty((0, 3)), y=[]), "The inputs are empty"),
    "npz: no features": ("a.npz", npz(X=np.empty((3, 0)), y=[0, 1, 0]), "The inputs are empty"),
    "npz: lengths that differ": ("a.npz", npz(X=np.eye(2), y=[0, 1, 2]), "2 rows but y has shape (3,)"),
    "npz: three axes": ("a.npz", npz(X=np.ones((2, 2, 2)), y=[0, 1]), "shape (2, 2, 2)"),
    "npz: labels in a column": ("a.npz", npz(X=np.eye(2), y=[[0], [1]]), "y has shape (2, 1)"),
    "npz: complex": ("a.npz", npz(X=np.eye(2) * 1j, y=[0, 1]), "complex"),
    "npz: dates": ("a.npz", npz(X=np.array([["2020-01-01"], ["2021-01-01"]], "M8[D]"), y=[0, 1]), "not numbers"),
    "npz: texts": ("a.npz", npz(X=[["1"], ["2"]], y=[0, 1]), "not numbers"),
    "npz: records": ("a.npz", npz(X=np.zeros(2, "f8,i4"), y=[0, 1]), "not numbers"),
    "npz: nan": ("a.npz", npz(X=[[1, np.nan], [2, 3]], y=[0, 1]), "Feature 1 of sample 0 is nan"),
    "npz: nan as a label": ("a.npz", npz(X=np.eye(2), y=[0, np.nan]), "label of sample 1 is missing"),
    "npz: no time as a label": ("a.npz", npz(X=np.eye(2), y=np.array(["2020", "NaT"], "M8[Y]")), "label of sample 1"),
    "npz: beyond doubles": ("a.npz", npz(X=np.eye(2, dtype=np.longdouble) * np.longdouble("1e4000"), y=[0, 1]), "inf"),
    "npz: escape in a label": ("a.npz", npz(X=np.eye(2), y=["\x1b[31m", "b"]), "unprintable characters"),
    "npz: escape in a name": ("a.npz", npz(**{"\x1b[31m": np.eye(2)}), "but X is missing"),
    "sparse: index out of range": ("a.npz", saved(EYE, indices=np.array([0, 9, 2])), "a column that the matrix lacks"),
    "sparse: negative index": ("a.npz", saved(EYE, indices=np.array([0, -1, 2])), "a column that the matrix lacks"),
    "sparse: ends beyond": ("a.npz", saved(EYE, indptr=np.array([0, 1, 2, 2**40])), "indptr ends at"),
    "sparse: ends that fall": ("a.npz", saved(EYE, indptr=np.array([0, 3, 1, 3])), "where the 3 rows end"),
    "sparse: no indptr": ("a.npz", saved(EYE, indptr=None), "indptr is missing"),
    "sparse: shape of three": ("a.npz", saved(EYE, shape=np.array([3, 3, 1])), "shape is not two whole numbers"),
    "sparse: 10^18 columns": ("a.npz", saved(EYE, shape=np.array([3, 10**18])), "the shape is 3 × 1000000000000000000"),
    "sparse: 10^12 rows": ("a.npz", saved(sparse.coo_array(EYE), shape=np.array([10**12, 3])), "the shape is"),
    "sparse: outside": ("a.npz", saved(sparse.coo_array(EYE), row=np.array([0, 1, 7])), "lies outside of the shape"),
    "sparse: diagonals": ("a.npz", saved(sparse.dia_array(EYE)), "its format is dia, and csr, csc and coo are read"),
    "sparse: nan": ("a.npz", saved(EYE, data=np.array([1, np.nan, 1])), "is nan"),
    # Vowpal Wabbit
    "vw: empty": ("a.vw", "", "holds no example"),
    "vw: no bar": ("a.vw", "1 |a f\n-1 f\n", "Line 2 of a.vw has no |"),
    "vw: no label": ("a.vw", "1 |a f\n|a g\n", "has no label"),
    "vw: one class": ("a.vw", "3 |a f\n3 |a g\n", "All labels are 3"),
    "vw: nan": ("a.vw", "1 |a f:nan\n-1 |a g\n", "Line 1 of a.vw has 'nan'"),
    "vw: nan as a label": ("a.vw", "1 |a f\nnan |a g\n", "target of sample 1 is nan"),
    "vw: negative importance": ("a.vw", "1 -2 |a f\n-1 |a g\n", "importance -2"),
    "vw: importances all 0": ("a.vw", "1 0 |a f\n-1 0 |a g\n", "not all zero"),
    "vw: underscores": ("a.vw", "1 |a f:1_0\n-1 |a g\n", "has '1_0'"),
    "vw: sums that overflow": ("a.vw", "1 |a f:1e308 f:1e308\n-1 |a g\n", "is inf"),
    "vw: not UTF-8": ("a.vw", b"1 |a \xff\n", "is not UTF-8"),
    "vw: escape in a label": ("a.vw", "\x1b[31m |a f\nb |a g\n", "unprintable characters"),
    # names of files
    "name: another format": ("a.xlsx", "PK", "is in no known format"),
    "name: terminal escape": ("\x1b[31mred.csv", "", "\\x1b[31mred.csv holds no samples"),
    "name: newline": ("a\nb.csv", "", "a b.csv holds no samples"),
    "name: markup": ("[bold]<script>alert(1)<script>.csv", "", "<script>alert(1)<script>.csv holds no samples"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(case):
    name, content, says = REFUSED[case]
    written(name, content)
    refused("solve", f"./{name}", "soft-margin", says=says)
    assert not Path("executed").exists()


TWO = np.array([[1.0, 2.0], [3.0, 4.0]])
HARMLESS: dict[str, tuple[str, str | bytes, list]] = {
    "csv: byte-order mark": ("a.csv", "\ufeffa,b,label\n1,2,x\n3,4,y\n", ["x", "y"]),
    "csv: CRLF and blank lines": ("a.csv", "a,b,label\r\n\r\n1,2,x\r\n3,4,y\r\n", ["x", "y"]),
    "csv: CR alone": ("a.csv", "a,b,label\r1,2,x\r3,4,y\r", ["x", "y"]),
    "csv: markup in labels": ("a.csv", "a,b,label\n1,2,<script>\n3,4,[red]\n", ["<script>", "[red]"]),
    "csv: formulas as labels": ("a.csv", "a,b,label\n1,2,=cmd()\n3,4,@sum\n", ["=cmd()", "@sum"]),
    "csv: a semicolon in a name": ("a.csv", "a; x,b,label\n1,2,x\n3,4,y\n", ["x", "y"]),
    "csv: a line separator in a label": ("a.csv", 'a,b,label\n1,2,"x, x"\n3,4,y\n', ["x, x", "y"]),
    "csv: whole numbers written as reals": ("a.csv", "a,b,label\n1,2,1.0\n3,4,2e0\n", [1, 2]),
    "csv: numbers and words as labels": ("a.csv", "a,b,label\n1,2,7\n3,4,y\n", ["7", "y"]),
    "svm: byte-order mark, CRLF": ("a.svm", "\ufeff-1 1:1 2:2\r\n+1 1:3 2:4\r\n", [-1, 1]),
    "svm: words": ("a.svm", "no 1:1 2:2\nyes 1:3 2:4 # comment\n", ["no", "yes"]),
    "npz: paths as names": ("a.npz", npz(X=TWO, y=[0, 1], **{"../../evil": [1], "/tmp/evil": [1]}), [0, 1]),
    "npz: big-endian, Fortran order": ("a.npz", npz(X=np.asfortranarray(TWO.astype(">f8")), y=[0, 1]), [0, 1]),
    "npz: half precision": ("a.npz", npz(X=TWO.astype(np.float16), y=[0, 1]), [0, 1]),
    "npz: labels": ("a.npz", npz(X=TWO, labels=["no", "yes"]), ["no", "yes"]),
    "sparse: csr": ("a.npz", saved(sparse.csr_array(TWO)), [0, 1]),
    "sparse: csc": ("a.npz", saved(sparse.csc_array(TWO)), [0, 1]),
    "sparse: coo": ("a.npz", saved(sparse.coo_array(TWO)), [0, 1]),
    "sparse: csr without a format": ("a.npz", saved(sparse.csr_matrix(TWO), format=None), [0, 1]),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_harmless_files_are_read_as_they_are_meant(case):
    name, content, labels = HARMLESS[case]
    before = listing()
    table = read(written(name, content))
    X = table.X.toarray() if sparse.issparse(table.X) else np.asarray(table.X)
    np.testing.assert_array_equal(X, TWO)
    assert table.y.tolist() == labels
    assert data_problem(name)().classes.tolist() == sorted(labels)
    assert listing() == sorted([*before, str(Path("..", "inside", name))])


def test_labels_beside_a_sparse_matrix():
    """save_npz takes one matrix and nothing else."""
    sparse.save_npz("text.npz", sparse.csr_array(TWO))
    refused("solve", "text.npz", "soft-margin", says="holds no labels")
    np.save("text.labels.npy", np.array(["no", "yes"]))
    problem = data_problem("text.npz")()
    np.testing.assert_array_equal(problem.X.toarray(), TWO)
    assert problem.classes.tolist() == ["no", "yes"]
    np.save("text.labels.npy", np.array([Trap(), Trap()], dtype=object), allow_pickle=True)
    refused("solve", "text.npz", "soft-margin", says="text.labels.npy is not an array of labels")
    assert not Path("executed").exists()


def test_a_zip_bomb_takes_no_memory(monkeypatch):
    """32 MB of zeros in 32 KB, on a machine that has 64 MB."""
    monkeypatch.setattr(archive, "largest_file", lambda: 2**24)
    written("bomb.npz", zipped(X=npy("(4194304, 1)", bytes(2**25)), y=LABELS))
    tracemalloc.start()
    refused("solve", "bomb.npz", "soft-margin", says="unpacks to 0.0313 GiB, more than a quarter")
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name():
    with zipfile.ZipFile("a.npz", "w") as file:
        for value in (0.0, 1.0):
            file.writestr("X.npy", npy("(2, 1)", np.array([value, 1]).tobytes()))
        file.writestr("y.npy", LABELS)
    refused("solve", "a.npz", "soft-margin", says="the array X is there twice")


# ── which column is the label ─────────────────────────────────────────────────────────────────────

CODED = "species,length,petals\n0,1.5,3\n1,2.5,4\n2,0.5,3\n"


def told(*words: str) -> tuple[dict, str]:
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done.stderr


def test_a_column_that_looks_more_like_labels_is_named():
    """Ages stood in the last column, stages 1 to 3 in the first but one; a zero counts as a value, too."""
    rows = [f"{0.5 * i},{i % 3},{i % 2 + 0.5},{20 + i}" for i in range(12)]
    written("stages.csv", "\n".join(["dose,stage,half,age", *rows, ""]))
    says = told("solve", "stages.csv", "soft-margin", "--out", "ages")[1].splitlines()[0]
    assert "labels from column age, the last: 20, 21" in says
    assert "(12 classes) (choose others by --set label=stage)." in says
    assert "Column stage has 3 different whole numbers: did you mean --set label=stage?" in says
    says = told("solve", "stages.csv", "soft-margin", "--set", "label=age", "--out", "asked")[1]
    assert "did you mean" not in says
    written("halves.csv", "a,half,kind\n1,0.5,x\n1,1.5,y\n1,0.5,x\n")
    says = told("solve", "halves.csv", "soft-margin", "--out", "halves")[1]
    assert "(choose others by --set label=NAME)." in says


def test_the_label_column_and_the_classes_are_said():
    """Species coded 0, 1, 2 were once learned by the last column without a word."""
    written("coded.csv", CODED)
    record, says = told("solve", "coded.csv", "soft-margin", "--out", "last")
    expected = (
        "coded.csv: 3 samples, 2 inputs; labels from column petals, the last: 3, 4 "
        "(choose others by --set label=species)."
    )
    assert says.splitlines()[0] == f"cutbench: {expected}"
    assert record["dim"] == 2 * 2
    record, says = told("solve", "coded.csv", "soft-margin", "--set", "label=species", "--out", "first")
    assert "labels from column species: 0, 1, 2." in says
    assert record["dim"] == 3 * 2
    problem = wb.Multiclass([[1.5, 3], [2.5, 4], [0.5, 3]], [0, 1, 2])
    best = wb.solve(wb.SoftMargin(), problem, gap=1e-9)
    assert record["lower"] <= best.upper
    assert best.lower <= record["upper"]


def test_a_chosen_label_is_remembered():
    """verify --data reads the same column; predict takes the inputs by name and compares with the chosen labels."""
    written("coded.csv", CODED)
    told("solve", "coded.csv", "soft-margin", "--set", "label=species", "--out", "run")
    assert told("verify", "run", "--data", "coded.csv")[0]["proven"]
    record, _ = told("predict", "run/certificate.json", "coded.csv")
    assert set(record["predictions"]) <= {0, 1, 2}
    assert record["error"] is not None


def test_a_label_chosen_by_number_in_a_file_without_names():
    written("bare.csv", "0,1.5,3\n1,2.5,4\n2,0.5,3\n")
    record, says = told("solve", "bare.csv", "soft-margin", "--set", "label=1", "--out", "run")
    assert "labels from column 1: 0, 1, 2." in says
    assert record["dim"] == 3 * 2
    whole, _ = told("predict", "run/certificate.json", "bare.csv")
    written("inputs.csv", "1.5,3\n2.5,4\n0.5,3\n")
    inputs, _ = told("predict", "run/certificate.json", "inputs.csv")
    assert whole["predictions"] == inputs["predictions"], "the column of labels was taken for an input"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["label=specie"], "did you mean 'species'?"),
        (["label="], "There is no column of coded.csv called ''"),
        (["label=0"], "There is no column of coded.csv called '0'"),
        (["label=../../etc/passwd"], "There is no column of coded.csv"),
        (["label=\x1b[31m"], "There is no column of coded.csv"),
        (["label=species", "label=length"], "given twice"),
        (["lable=species"], "did you mean 'label'?"),
        (["lam=1e400"], "must be positive"),
        (["lam=nan"], "is not a number"),
        (["lam=0x10"], "is not a number"),
        (["lam=١e"], "is not a number"),
        (["lam=1e-320"], "must be positive"),
        (["lam=" + "9" * 5000], "must be positive"),
        (["lam=1;rm"], "is not a number"),
        (["__class__=1"], "There is no setting called"),
        (["=1"], "not of the form key=value"),
    ],
    ids=lambda value: value[0][:20] if isinstance(value, list) else "",
)
def test_settings_of_a_data_file(words, says):
    written("coded.csv", CODED)
    refused("solve", "coded.csv", "soft-margin", *[part for word in words for part in ("--set", word)], says=says)


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────

RAGGED = np.empty(2, object)
RAGGED[:] = [np.zeros(2), np.zeros(3)]
ARRAYS = {
    "ragged inputs": (([[1], [2, 3]], [0, 1]), {}, "ragged or not numbers"),
    "ragged labels": ((np.eye(2), [[0], [1, 2]]), {}, "y has shape"),
    "arrays as labels": ((np.eye(2), RAGGED), {}, "label"),
    "objects as inputs": (([[object()], [1]], [0, 1]), {}, "not numbers"),
    "None as an input": (([[None], [1]], [0, 1]), {}, "is nan"),
    "None as a label": ((np.eye(2), [0, None]), {}, "label of sample 1 is missing"),
    "masked inputs": ((np.ma.masked_equal(np.eye(2), 1), [0, 1]), {}, "masked"),
    "masked labels": ((np.eye(3), np.ma.array([0, 1, 1], mask=[0, 0, 1])), {}, "masked"),
    "masked weights": ((np.eye(2), [0, 1]), {"weights": np.ma.array([1.0, 2.0], mask=[0, 1])}, "masked"),
    "dates as inputs": ((np.array([["2020"], ["2021"]], "M8[Y]"), [0, 1]), {}, "dates"),
    "negative weights": ((np.eye(2), [0, 1]), {"weights": [1, -1]}, "non-negative"),
    "weights all 0": ((np.eye(2), [0, 1]), {"weights": [0, 0]}, "not all zero"),
    "a weight of nan": ((np.eye(2), [0, 1]), {"weights": [1, np.nan]}, "finite"),
    "a weight of 1e300": ((np.eye(2), [0, 1]), {"weights": [1, 1e300]}, "only ratios matter"),
    "too many weights": ((np.eye(2), [0, 1]), {"weights": [1, 1, 1]}, "one weight each"),
    "negative costs": ((np.eye(2), [0, 1]), {"cost": [[0, -1], [1, 0]]}, "non-negative"),
    "a cost of infinity": ((np.eye(2), [0, 1]), {"cost": [[0, np.inf], [1, 0]]}, "finite"),
    "a label outside": ((np.eye(2), [0, 1]), {"classes": [0, 2]}, "not among the given classes"),
    "sparse, complex": ((sparse.csr_array(np.eye(2) * 1j), [0, 1]), {}, "complex"),
    "sparse, nan": ((sparse.csr_array([[np.nan], [1]]), [0, 1]), {}, "is nan"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_are_refused_in_one_sentence(case):
    given, options, says = ARRAYS[case]
    with pytest.raises(BadInput) as caught:
        wb.Multiclass(*given, **options)
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "targets", [np.ma.array([1.0, -1], mask=[0, 1]), [1, 1j], [1, np.inf], ["a", "b"], [[1], [-1]]]
)
def test_targets_are_refused_in_one_sentence(targets):
    with pytest.raises(BadInput):
        wb.Linear(np.eye(2), targets)


ROWS = np.random.default_rng(0).normal(size=(12, 3))
CLASSES = np.arange(12) % 3
MISUSED = {
    "swapped": ((CLASSES, ROWS), r"X has shape \(12,\) and y has shape \(12, 3\), as if swapped; write {}\(X, y\)"),
    "one column": ((ROWS[:, 0], CLASSES), r"X has shape \(12,\), .*give X\.reshape\(-1, 1\)\."),
    "one column as a list": ((ROWS[:, 0].tolist(), CLASSES.tolist()), r"give X\.reshape\(-1, 1\)\."),
    "a column of labels": ((ROWS, CLASSES[:, None]), r"y has shape \(12, 1\); give one label per row, y\.ravel\(\)\."),
    "no labels": ((ROWS, None), "y is None; give a label for each row of X"),
    "no rows": ((None, CLASSES), r"X is None; give an \(n, p\) array"),
}


@pytest.mark.parametrize("kind", [wb.Multiclass, wb.Linear])
@pytest.mark.parametrize("misuse", MISUSED)
def test_misused_arguments_are_told_with_their_fix(misuse, kind):
    given, told = MISUSED[misuse]
    with pytest.raises(BadInput, match=told.replace("{}", kind.__name__)):
        kind(*given)


@pytest.mark.parametrize("labels", [["a", 1] * 6, np.array(["a", 1] * 6, object), ("a", 1.5) * 6, ["a", True] * 6])
def test_labels_that_mix_texts_and_numbers_are_refused(labels):
    with pytest.raises(BadInput, match=r"The labels mix texts and numbers, 'a' and .*; write all as texts, \[str\(k\)"):
        wb.Multiclass(ROWS, labels)


def test_a_number_that_is_none_among_texts_is_a_missing_label():
    with pytest.raises(BadInput, match="The label of sample 1 is missing"):
        wb.Multiclass(ROWS, ["a", float("nan"), "b"] * 4)


def test_rows_alone_and_labels_of_one_kind_stay_allowed():
    assert wb.Multiclass(ROWS, ["a", "b"] * 6).classes.tolist() == ["a", "b"]
    assert wb.Multiclass(ROWS, np.array(["a", "b"] * 6, object)).classes.tolist() == ["a", "b"]
    assert wb.Linear(ROWS[0], [1.0]).n_samples == 1
    assert wb.Multiclass(ROWS[:, :1], [0, 1.5] * 6).n_inputs == 1


@pytest.mark.parametrize("kind", [wb.Multiclass, wb.Linear])
def test_fewer_columns_to_predict_are_told_with_their_fix(kind):
    problem = kind(ROWS, np.where(CLASSES == 1, 1, -1))
    with pytest.raises(BadInput, match="have 2 columns but the weights were learned on 3; give those"):
        problem.predict(np.zeros(problem.n_features), ROWS[:, :2])


# ── right answers ─────────────────────────────────────────────────────────────────────────────────


def certified(X: np.ndarray, y: list, lam: float = 0.1) -> tuple[float, float]:
    """The proven interval of the file with these samples, from the command line, and proven again."""
    lines = [",".join([*map(repr, row), str(label)]) for row, label in zip(np.asarray(X).tolist(), y, strict=True)]
    written("data.csv", "\n".join(lines))
    record, _ = told("solve", "data.csv", "soft-margin", "--set", f"lam={lam!r}", "--out", "run", "--overwrite")
    assert told("verify", "run")[0]["proven"]
    return record["lower"], record["upper"]


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


POINTS, NAMES = np.array([[1.0, 2], [2, 1], [-1, 0.5], [0, -3], [1, 1], [2, 2.5]]), ["a", "b", "a", "b", "b", "a"]


@pytest.mark.parametrize("power", [-150, -40, 40, 150])
def test_the_optimum_does_not_depend_on_units(power):
    """F*(s·X, s²·λ) = F*(X, λ), exact for powers of two: features from 1e-46 to 1e45."""
    scale = 2.0**power
    assert overlap(certified(POINTS, NAMES), certified(POINTS * scale, NAMES, 0.1 * scale**2))


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-300, 1e-200])
def test_features_that_are_next_to_nothing(size):
    """0 ≤ 1 − F* ≤ max ‖ψ‖²/(2λ), which is below every double but 0."""
    lower, upper = certified(POINTS * size, NAMES)
    assert lower <= 1 <= upper
    assert upper - lower <= 1e-8


def test_features_of_very_different_size():
    """Beside a column of 1e15 one of 1e-300 cannot matter: F* = λ/(4·10³⁰), by w = ±1/(2·10¹⁵)."""
    lower, upper = certified(np.array([[1e15, 1e-300], [-1e15, 1e-300], [2e15, 0]]), ["a", "b", "a"])
    assert lower * (1 - 1e-12) <= 0.1 / 4e30 <= upper * (1 + 1e-12)
    assert upper < 2.6e-32


def test_samples_twice_and_constant_columns():
    """Copies of all samples change nothing; a column of zeros changes nothing."""
    once = certified(POINTS, NAMES)
    assert overlap(once, certified(np.vstack([POINTS, POINTS]), [*NAMES, *NAMES]))
    assert overlap(once, certified(np.column_stack([POINTS, np.zeros(6)]), NAMES))


def test_one_sample_with_two_labels():
    """max(0, 1 ∓ s) over two contradictory copies: the mean is at least 1, reached at w = 0."""
    lower, upper = certified(np.array([[1.0, 2], [1.0, 2]]), ["a", "b"])
    assert lower <= 1 <= upper
    assert upper - lower <= 1e-8
