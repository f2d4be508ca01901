"""A user's data files: what is read, and one sentence with file and line for what cannot be."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from workbench.command.cli import cli
from workbench.data.readers import data_problem, read
from workbench.errors import BadInput, UnknownName
from workbench.outputs.linear import Linear


@pytest.fixture
def file(tmp_path):
    def write(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


CSV = {
    "header, label last": "a,b,label\n1,2,x\n3,4,y\n",
    "header, label first, quoted": '"label","a","b"\n"x",1,2\n"y",3,4\n',
    "named target among words": "a;target;b\n1;x;2\n3;y;4\n",
    "no header, words last": "1,2,x\n3,4,y\n",
    "no header, words first, tabs": "x\t1\t2\ny\t3\t4\n",
    "numbers as column names": "0,1,y\n1,2,x\n3,4,y\n",
    "byte-order mark, blank lines, spaces": "\ufeffa, b, label\n\n1, 2, x\n3, 4, y\n\n",
    "windows lines": "a,b,label\r\n1,2,x\r\n3,4,y\r\n",
}


@pytest.mark.parametrize("text", CSV.values(), ids=CSV)
def test_csv_finds_header_and_labels(file, text):
    X, y, *_ = read(file("data.csv", text))
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(y, ["x", "y"])


def test_csv_takes_the_last_column_of_whole_numbers(file):
    X, y, *_ = read(file("data.csv", "0.5,1,2\n0.25,3,0\n"))
    np.testing.assert_array_equal(X, [[0.5, 1], [0.25, 3]])
    np.testing.assert_array_equal(y, [2, 0])
    assert y.dtype == np.int64


NUMBERED = "patient_id,age,kind\n" + "".join(f"{907 - 31 * i},{40 + i % 7},{'ab'[i % 2]}\n" for i in range(12))
BARE = "".join(f"{i},{40 + i % 7},{i % 3}\n" for i in range(12))


@pytest.mark.parametrize(("text", "told", "word"), [(NUMBERED, "patient_id", "patient_id"), (BARE, "1", "1")])
def test_a_column_that_numbers_the_samples_is_named_and_can_be_left_out(text, told, word, file):
    problem = data_problem(path := file("own.csv", text))
    whole, part = problem(), problem(drop=word)
    said = f"column {told} seems to number the samples and is read as an input (leave it out by --set drop={word})"
    assert said in whole.reading
    assert "number the samples" not in part.reading
    assert whole.n_inputs == part.n_inputs + 1 == 2
    np.testing.assert_array_equal(dense(part.X), dense(whole.X)[:, 1:])
    again = read(path, n_inputs=1, columns=part.columns, drop=(word,))
    np.testing.assert_array_equal(again.X, dense(part.X))
    other = problem(drop=word, label="3" if word == "1" else "kind")
    np.testing.assert_array_equal(dense(other.X), dense(part.X))


def test_a_column_is_said_to_number_samples_by_its_name_or_by_counting(file):
    for header, column, said in (
        ("id", [5, 3, 9, 1, 7], True),
        ("ID", [5, 3, 9, 1, 7], True),
        ("userId", [5, 3, 9, 1, 7], True),
        ("age", [5, 3, 9, 1, 7], False),
        ("grid", [5, 3, 9, 1, 7], False),
        ("id", [5, 3, 9, 1, 5], False),
        ("age", [5, 6, 7, 8, 9], True),
        ("id", [1, 2, 3, 4], False),
    ):
        text = f"{header},z,label\n" + "".join(f"{each},{i % 2},{'ab'[i % 2]}\n" for i, each in enumerate(column))
        assert ("seems to number the samples" in data_problem(file("own.csv", text))().reading) is said, header


@pytest.mark.parametrize(("word", "said"), [("-", True), ("None", True), ("x", False)])
def test_a_class_whose_name_stands_for_no_value_elsewhere_is_told(word, said, file):
    text = "z,kind\n" + "".join(f"{i % 5},{'b' if i % 2 else word}\n" for i in range(6))
    told = f"3 labels {word!r} taken for a class (if it means a missing label, remove the lines)"
    assert (told in data_problem(file("own.csv", text))().reading) is said
    assert read(file("own.csv", text)).y.tolist() == [word, "b"] * 3


@pytest.mark.parametrize("word", ["NA", "n/a", "?", "null", "nan", ""])
@pytest.mark.parametrize("classes", ["ab", "01"])
def test_labels_that_are_missing_are_counted_and_refused(word, classes, file):
    """Also in a last column of whole numbers that no header names."""
    lines = [f"{i % 5},{i % 3},{word if i in (3, 4) else classes[i % 2]}\n" for i in range(8)]
    said = f"the label is {word!r}, a missing value" if word else "the label is missing"
    told = f"line 5: {said}; add all 2 such labels or leave the rows out by --set unlabelled=drop."
    with pytest.raises(BadInput, match=re.escape(told)):
        read(file("own.csv", "u,z,kind\n" + "".join(lines)))
    with pytest.raises(BadInput, match=re.escape(f"line 4: {said}; add it or leave the row out by --set")):
        read(file("own.csv", "".join(lines[:4] + lines[5:])))
    told = "; 2 samples without a label in column kind left out."
    assert told in data_problem(file("own.csv", "u,z,kind\n" + "".join(lines)))(unlabelled="drop").reading


CUSTOMERS = "plan,age,weight,bought\nbasic,30,5,yes\nfull,,6,no\nbasic,50,8,NA\nrare,70,9,\nfull,50,7,yes\n"


def test_missing_labels_are_named_with_all_other_faults_and_their_rows_can_be_left_out(file, tmp_path):
    """The rows without labels give neither words nor means: plan=rare is no column, and the mean of 30 and 50 is 40."""
    path = file("customers.csv", CUSTOMERS)
    with pytest.raises(BadInput) as caught:
        data_problem(path)(label="bought")
    assert str(caught.value) == (
        f"{path} line 2: column plan is 'basic' and line 3: column age is empty, and inputs are numbers, and line 4: "
        "the label is 'NA', a missing value, one of 2 such labels; say --set one_hot=plan (a column of 0 and 1 a word)"
        ", --set fill=mean, --set unlabelled=drop to leave such rows out."
    )
    given = {"label": "bought", "one_hot": "plan", "fill": "mean", "unlabelled": "drop"}
    problem = data_problem(path)(**given)
    assert problem.columns == ["plan=basic", "plan=full", "age", "weight"]
    np.testing.assert_array_equal(dense(problem.X), [[1, 0, 30, 5], [0, 1, 40, 6], [0, 1, 50, 7]])
    assert problem.classes[problem.labels].tolist() == ["yes", "no", "yes"]
    assert "plan as 2 columns of 0 and 1; 2 samples without a label in column bought left out; " in problem.reading
    with pytest.raises(BadInput, match="2 such labels or leave the rows out by --set unlabelled=drop"):
        data_problem(path)(**{**given, "unlabelled": None})

    out = str(tmp_path / "m")
    words = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
    assert CliRunner().invoke(cli, ["solve", str(path), "soft-margin", *words, "--out", out]).exit_code == 0
    assert CliRunner().invoke(cli, ["verify", out, "--data", str(path)]).exit_code == 0
    told = CliRunner().invoke(cli, ["predict", out, str(path)])
    assert len(told.stdout.split()) == 5
    assert "of 3 differ" in told.stderr


def test_a_column_of_labels_without_any_is_refused(file):
    with pytest.raises(BadInput, match="column label holds no label at all; name other labels by --set label=NAME"):
        data_problem(file("a.csv", "a,b,label\n1,2,\n3,4,\n"))(unlabelled="drop")


def test_tables_of_labelled_texts_name_the_command_that_reads_them(file):
    lines = "space\tSatellite of Mars, seen again\ncars\tA car is red; 3 wheels\nspace\tThe moon is far\n"
    for name, content in (
        ("own texts.txt", lines),
        ("a.tsv", lines),
        ("a.tsv", f"topic\tmessage\n{lines}"),
        ("a.csv", lines),
        ("a.tsv", lines.replace("Mars", '"Mars')),
        ("a.tsv", lines.replace("cars", "space")),
    ):
        path = file(name, content)
        with pytest.raises(BadInput) as caught:
            data_problem(path)()
        shown = f"'{path}'" if " " in name else path
        assert f"`cutbench solve text FORMULATION --set path={shown}`" in str(caught.value), content
        assert "\n" not in str(caught.value)
    for content in ("a\tgood\nb\tbad\n", "a\tgood car\nb\t\nb\tbad\n"):  # of a word, and without
        with pytest.raises(BadInput, match=r"lines label<TAB>text are read by `cutbench solve text FORMULATION --set"):
            data_problem(file("short.txt", content))()
    for name, content in (
        ("a.txt", "good\nbad\n"),
        ("a.txt", "a\tgood 3\nb\tbad\n"),
        ("a.txt", "1\t1:0.5 2:x\n2\t1:0.25 2:1\n"),
        ("a.tsv", "a\tb\n1.5\t2.5\n2.5\t0.5\n"),
        ("a.tsv", "red\tbig\nblue\tsmall\ngreen\ttiny\n"),
        ("a.txt", b"\xff\xfe1\t2"),
    ):
        with pytest.raises(BadInput) as caught:
            data_problem(file(name, content))()
        assert "solve text" not in str(caught.value), content


def test_what_cannot_be_left_out_is_refused(file):
    problem = data_problem(file("own.csv", NUMBERED))
    with pytest.raises(UnknownName, match=r"There is no column of .*own\.csv called 'zz'"):
        problem(drop="age, zz")
    with pytest.raises(BadInput, match="drop leaves 1 of 3 columns; leave labels and an input"):
        problem(drop="age,patient_id")


def test_a_warning_where_almost_every_sample_is_a_class_of_its_own(file):
    amounts = file("a.csv", "".join(f"{i % 3},{i % 5},{i}\n" for i in range(20)))
    assert "a class of its own (20 of 20): is this the label column?" in data_problem(amounts)().reading
    assert "by the column's number, e.g. --set label=1" in data_problem(amounts)().reading
    assert "of its own" not in data_problem(amounts)(label="1").reading


def test_a_file_without_labels_is_known_by_its_width(file):
    path = file("data.csv", "1,2,0\n3,4,1\n")
    assert read(path, n_inputs=3).y is None
    np.testing.assert_array_equal(read(path, n_inputs=2).y, [0, 1])


@pytest.mark.parametrize("first", [0, 1])
def test_svmlight_counts_from_zero_or_one(file, first):
    text = f"# a comment\n+1 {first}:0.5 {first + 2}:-2 # more\n\n-1 qid:3 {first + 1}:1e-1\n"
    X, y, columns, *_ = read(file("data.svm", text))
    assert columns == first
    np.testing.assert_array_equal(dense(X), [[0.5, 0, -2], [0, 0.1, 0]])
    np.testing.assert_array_equal(y, [1, -1])
    assert dense(read(file("data.svm", text), n_inputs=5).X).shape == (2, 5)


def test_svmlight_is_read_by_the_index_that_the_weights_know(file):
    path = file("new.svm", "1 1:0.2 2:5\n")
    np.testing.assert_array_equal(dense(read(path, n_inputs=3, columns=0).X), [[0, 0.2, 5]])
    np.testing.assert_array_equal(dense(read(path, n_inputs=3, columns=1).X), [[0.2, 5, 0]])
    with pytest.raises(BadInput, match="line 2: index 0, but the weights count from 1"):
        read(file("zero.svm", "1 1:3\n1 0:3\n"), n_inputs=3, columns=1)


def test_csv_columns_are_matched_by_name(file):
    learned = read(file("train.csv", "a,kind,b\n1,x,2\n3,y,4\n")).columns
    assert learned == ["a", "b"]
    for text in ("b,a,label\n2,1,x\n", "kind,b,a\nx,2,1\n", "b,a\n2,1\n", "1,2\n"):
        np.testing.assert_array_equal(read(file("new.csv", text), n_inputs=2, columns=learned).X, [[1, 2]])
    with pytest.raises(BadInput, match="has no column b, which the weights were learned on"):
        read(file("new.csv", "a,c\n1,2\n"), n_inputs=2, columns=learned)
    for strange in (["a"], [1, 2], 7, "ab", {"a": 1}):
        with pytest.raises(BadInput, match="not learned on 2 named columns"):
            read(file("new.csv", "a,b\n1,2\n"), n_inputs=2, columns=strange)


def test_svmlight_equals_scikit_learns_reader(file, tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(0)
    X, y = sparse.random_array((40, 12), density=0.3, rng=rng).tocsr(), rng.integers(0, 3, 40)
    datasets.dump_svmlight_file(X, y, str(tmp_path / "data.svmlight"), zero_based=False)
    theirs, labels = datasets.load_svmlight_file(str(tmp_path / "data.svmlight"))
    ours = read(tmp_path / "data.svmlight")
    np.testing.assert_array_equal(dense(ours.X), theirs.toarray())
    np.testing.assert_array_equal(ours.y, labels)


def test_svmlight_takes_labels_that_are_texts(file):
    X, y, *_ = read(file("data.svm", "cat 1:1 2:2\ndog 2:1\ncat 1:3\n"))
    assert list(y) == ["cat", "dog", "cat"]
    np.testing.assert_array_equal(dense(X), [[1, 2], [0, 1], [3, 0]])


def test_npz_holds_X_and_y(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.eye(3), y=["a", "b", "a"])
    problem = data_problem(tmp_path / "data.npz")()
    np.testing.assert_array_equal(problem.X.toarray(), np.eye(3))
    assert problem.classes.tolist() == ["a", "b"]
    np.savez(tmp_path / "bare.npz", X=np.eye(3))
    assert read(tmp_path / "bare.npz").y is None
    with pytest.raises(BadInput, match="holds no labels"):
        data_problem(tmp_path / "bare.npz")()


def test_vowpal_wabbits_text_with_signs_or_reals_is_linear(file):
    text = "1 2 |r ann |t x:0.5\n-1 |r bob |t x\n\n1 'tag|r ann |t ann\n"
    problem = data_problem(file("pairs.vw", text))()
    assert isinstance(problem, Linear)
    columns = [[1, 0.5, 0, 0, 1], [0, 1, 1, 0, 1], [1, 0, 0, 1, 1]]  # (r, ann), (t, x), (r, bob), (t, ann), constant
    np.testing.assert_array_equal(problem.X.toarray(), columns)
    np.testing.assert_array_equal(problem.targets, [1, -1, 1])
    np.testing.assert_array_equal(problem.weights, [2, 1, 1])
    assert data_problem(file("reals.vw", "2 |a f\n0.5 |a g\n"))().targets.tolist() == [2, 0.5]


def test_vowpal_wabbits_text_with_other_labels_is_multiclass(file):
    problem = data_problem(file("pairs.vw", "2 |r ann\n0 |r bob\n3 0.5 |r ann\n"))()
    assert problem.classes.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(problem.weights, [1, 1, 0.5])
    assert data_problem(file("words.vw", "yes |a f\nno |a g\n"))().classes.tolist() == ["no", "yes"]
    with pytest.raises(BadInput, match="weights do not keep names"):
        read(file("pairs.vw", "1 |r ann\n"))


def test_a_text_of_vowpal_wabbit_from_the_command_line(file):
    """Certified, and the importance-aware learner agrees with the certificate."""
    rng = np.random.default_rng(0)
    lines = [
        f"{1 if j % 3 else -1} {rng.integers(1, 4)} |r r{j % 7} |t t{j % 5}:{rng.uniform(0.5, 2)}" for j in range(60)
    ]
    words = ["crosscheck", str(file("pairs.vw", "\n".join(lines))), "weighted-risk", "--learners", "importance-aware"]
    done = CliRunner().invoke(cli, [*words, "--passes", "2000", "--tolerance", "1e-3", "--json"])
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["reference"]["status"] == "optimal"
    assert record["learners"][0]["verdict"] == "agrees"


FAULTY = {
    ("a.vw", ""): "holds no example",
    ("a.vw", "1 |a f\n\n-1 f\n"): "Line 3 of",
    ("a.vw", "1 |a f\n|a g\n"): "has no label",
    ("a.vw", "1 |a f\n-1 1 0.3 |a g\n"): "has the base 0.3",
    ("a.vw", "3 |a f\n3 |a g\n"): "All labels are 3",
    ("a.vw", "1 |a f\nnan |a g\n"): "target of sample 1 is nan",
    ("a.vw", b"1 |a \xff\n"): "is not UTF-8",
    ("a.csv", ""): "holds no samples",
    ("a.csv", "a,b,label\n"): "holds no samples",
    ("a.csv", "a,b,label\n1,2,x\n3,y\n"): "line 3 has 2 cells where 3 are expected",
    ("a.csv", "a,b,label\n1,two,x\n3,4,y\n"): "line 2: column b is 'two'",
    ("a.csv", "a,b,label\n1,2,x\n3,,y\n"): "line 3: column b is empty",
    ("a.csv", "a,b,label\n1,nan,x\n3,4,y\n"): "line 2: column b is 'nan'",
    (
        "a.csv",
        "a,b,label\n1,?,x\n3,4,y\n",
    ): "line 2: column b is '?', a missing value, and inputs are numbers; say --set fill=mean.",
    ("a.csv", "a,b,label\n1,inf,x\n3,4,y\n"): "line 2: column b is 'inf'",
    (
        "a.csv",
        "a,hue,label\n1,red,x\n3,blue,y\n",
    ): "line 2: column hue is 'red', and inputs are numbers; say --set one_hot=hue (a column of 0 and 1 a word), or",
    (
        "a.csv",
        "a,hue,kind\n1,red,x\n3,blue,y\n",
    ): "column hue and column kind both hold words, so either may be the lab",
    ("a.csv", "a,b,label\n1,2,\n3,4,y\n"): "line 2: the label is missing",
    ("a.csv", "1,2,0.5\n3,4,1\n"): "holds 0.5, no class; choose the column by its number, e.g. --set label=1",
    ("a.csv", "a,b,c\n1,2,0.5\n3,4,1\n"): "line 2: the last column holds 0.5, no class; choose by --set label=NAME",
    ("a.csv", ",a,label\nzero,2,x\none,4,y\n"): "column 1 is 'zero', and inputs are numbers",
    ("a.csv", "a,a,label\n0,2,x\n1,4,y\n"): "two columns are called a",
    ("a.csv", 'a,b,label\n1,2,"x\n3,4,y\n'): "line 3: unexpected end of data",
    ("a.csv", "1,2,x\n3,4,x\n"): "All labels are x",
    ("a.csv", b"a,b,label\n\xff,2,x\n"): "not text in UTF-8",
    ("a.csv", b"\x00\x01\x02"): "a.csv",
    ("a.svm", ""): "holds no samples",
    ("a.svm", "1 1:2\nx 1:2\n"): "line 2: the label 'x' is not a number",
    ("a.svm", "1 1:2\n0 2:three\n"): "line 2: '2:three' is not index:value",
    ("a.svm", "1 1:2\n0 -1:3\n"): "line 2: '-1:3' is not index:value",
    ("a.svm", "1 1:2\n0 1\n"): "line 2: '1' is not index:value",
    ("a.svm", "1 1:2\n0 999999999:3\n"): "line 2: index 999999999 exceeds 100000000",
    ("a.svm", "1 1:2\n0 1:nan\n"): "line 2: feature 1 is nan",
    ("a.svm", "1 1:2\n0 2:1 2:1\n"): "line 2: index 2 follows 2",
    ("a.svm", "1 1:2\n1 2:1\n"): "All labels are 1",
    ("a.npz", b"not a zip"): "not an npz file",
    ("a.npz", b""): "not an npz file",
    ("a.parquet", "x"): "is in no known format",
}


@pytest.mark.parametrize(("content", "message"), FAULTY.items(), ids=[f"{m[:40]} {c[0]}" for c, m in FAULTY.items()])
def test_a_faulty_file_is_one_sentence(file, content, message):
    path = file(*content)
    with pytest.raises(BadInput) as caught:
        data_problem(path)()
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_npz_is_never_unpickled(tmp_path):
    trap = []

    class Trap:
        def __reduce__(self):
            return trap.append, (1,)

    np.savez(tmp_path / "a.npz", X=np.array([[Trap()]], dtype=object), y=[0])
    with pytest.raises(BadInput, match="not an npz file of plain arrays"):
        read(tmp_path / "a.npz")
    assert not trap


def test_npz_with_other_arrays_names_them(tmp_path):
    np.savez(tmp_path / "a.npz", Z=[1])
    with pytest.raises(BadInput, match="holds the arrays Z, but X is missing"):
        read(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1, 2])
    with pytest.raises(BadInput, match="2 rows but y has shape"):
        data_problem(tmp_path / "a.npz")()


def test_npz_of_other_shapes_or_no_archive_is_told_in_our_words(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2, 2)), y=[0, 1])
    with pytest.raises(BadInput, match=r"inputs have shape \(2, 2, 2\); give an \(n, p\) array"):
        data_problem(tmp_path / "a.npz")()
    with (tmp_path / "b.npz").open("wb") as raw:
        np.save(raw, np.eye(2))
    with pytest.raises(BadInput, match=r"not an npz file of plain arrays \(File is not a zip file\)"):
        read(tmp_path / "b.npz")


def test_truncated_npz(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(50, 50)), y=np.arange(50) % 2)
    whole = (tmp_path / "a.npz").read_bytes()
    damaged = bytearray(whole)
    damaged[200:220] = bytes(20)
    for content in (whole[: len(whole) // 2], bytes(damaged)):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(BadInput, match="not an npz file"):
            read(tmp_path / "a.npz")


def test_other_widths_than_the_weights(file):
    with pytest.raises(BadInput, match="has 4 columns but the weights were learned on 2"):
        read(file("a.csv", "1,2,3,4\n"), n_inputs=2)
    with pytest.raises(BadInput, match="features up to 4 but the weights know 2"):
        read(file("a.svm", "0 4:1\n"), n_inputs=2)


def test_a_column_called_label_wins_over_one_called_y(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text("x,y,label\n1,2,a\n3,4,b\n5,6,a\n")
    problem = data_problem(path)()
    assert list(problem.classes) == ["a", "b"]
    assert problem.n_inputs == 2


# ── words and cells without a value ───────────────────────────────────────────────────────────────

WARDS = "name,ward,age,weight,kind\nann,east,30,,x\nbob,west,NA,70,y\ncas,,50,80,x\ndan,east,40,90,y\n"


def test_words_become_columns_and_empty_cells_means(file):
    problem = data_problem(file("wards.csv", WARDS))(drop="name", one_hot="ward", fill="mean")
    assert problem.columns == ["ward=east", "ward=west", "age", "weight"]
    np.testing.assert_array_equal(dense(problem.X), [[1, 0, 30, 80], [0, 1, 40, 70], [0, 0, 50, 80], [1, 0, 40, 90]])
    assert problem.classes.tolist() == ["x", "y"]
    assert (
        "ward as 2 columns of 0 and 1, 0 in each for 1 cell without a word; 2 cells without a value filled"
        in problem.reading
    )


def test_columns_of_words_come_in_the_order_of_their_numbers(file):
    text = "floor,label\n10,a\n9,b\nroof,a\n9,b\n"
    assert data_problem(file("floors.csv", text))(one_hot="floor").columns == ["floor=9", "floor=10", "floor=roof"]
    bare = "".join(line.replace(",", ",1,") + "\n" for line in text.splitlines()[1:])
    assert data_problem(file("bare.csv", bare))(one_hot="1", label="3").columns[0] == "column 1=9"


def test_all_that_a_file_needs_is_said_at_once(file):
    with pytest.raises(BadInput) as caught:
        data_problem(file("wards.csv", WARDS))()
    assert str(caught.value).endswith(
        "column name and column ward and column kind hold words, so each may be the labels, and line 2: column weight "
        "is empty, one of 2 such cells; say --set label=ward or --set label=kind, --set one_hot=NAME for the others (a "
        "column of 0 and 1 a word), --set drop=name (its words all differ), --set fill=mean."
    )
    with pytest.raises(BadInput) as caught:
        data_problem(file("wards.csv", WARDS))(label="kind")
    assert str(caught.value).endswith(
        "line 2: column name is 'ann' and line 2: column ward is 'east' and line 2: column weight is empty, one of 2 "
        "such cells, and inputs are numbers; say --set drop=name (its words all differ), --set one_hot=ward (a column "
        "of 0 and 1 a word), --set fill=mean."
    )


@pytest.mark.parametrize("cell", ["inf", "-inf", "1e999", '"1,234.5"'])
def test_cells_that_are_no_finite_numbers_are_said_with_those_without_a_value(cell, file):
    path = file("a.csv", f"a,b,label\n1,nan,x\n1,2,y\n3,{cell},x\n{cell},2,y\n")
    shown = cell.strip('"')
    with pytest.raises(BadInput) as caught:
        data_problem(path)()
    assert str(caught.value) == (
        f"{path} line 2: column b is 'nan', a missing value and line 4: column b is {shown!r}, one of 2 such cells, "
        "and inputs are numbers; say --set fill=mean, and write finite numbers with points in line 4 and the like."
    )


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.csv", "a,b,label\n\n1,2,x\n3,{},y\n-1,{},x\n", "line 4: column b"),
        ("a.csv", "x,1,2\ny,3,{}\n", "line 2: column 3"),
        ("a.svm", "# two\n1 1:1 2:2\n2 1:3 2:{}\n", "line 3: feature 2"),
    ],
)
@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e101"])
@pytest.mark.filterwarnings("error")
def test_numbers_too_large_to_compute_with_are_named_by_their_line_and_can_be_scaled(name, content, place, value, file):
    path = file(name, content.format(value, "-1e308"))
    with pytest.raises(BadInput) as caught:
        data_problem(path)()
    assert str(caught.value) == (
        f"{path} {place} is {float(value):.3g}, sums of such squares overflow; rescale the data, as by --set "
        "scale=largest, or repair the entry."
    )
    found = data_problem(path)(scale="largest")
    assert np.abs(found.X.data).max() == 1
    assert max(found.scales) == max(abs(float(value)), 1e308 if "csv" in name and "label" in content else 0)


def test_numbers_too_large_in_an_archive_are_named_by_their_sample(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[1.0, 2.0], [3.0, 1e200]]), y=[0, 1])
    with pytest.raises(BadInput, match=r"a\.npz sample 2: feature 2 is 1e\+200, sums of such squares overflow"):
        data_problem(tmp_path / "a.npz")()


def test_a_label_that_cannot_be_printed_is_named_by_its_line(file, tmp_path):
    with pytest.raises(BadInput, match=r"a\.csv line 4: the label 'x\\ny' has unprintable characters; remove them"):
        data_problem(file("a.csv", 'a,label\n\n1,"x\ny"\n2,z\n'))()
    with pytest.raises(BadInput, match=r"a\.svm line 3: the label '.*' has unprintable characters"):
        data_problem(file("a.svm", "# words\nz 1:2\n\x1b[2J 1:2\n"))()
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=["a", "\x1b"])
    with pytest.raises(BadInput, match=r"a\.npz sample 2: the label '.*' has unprintable characters"):
        data_problem(tmp_path / "a.npz")()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"one_hot": "kind", "label": "kind", "drop": "name"}, "holds the labels; leave it out of one_hot"),
        ({"one_hot": "name", "label": "kind"}, "the words of column name all differ; use drop=name instead"),
        ({"one_hot": "wards"}, "called 'wards'; did you mean 'ward'"),
        ({"one_hot": "ward", "drop": "ward"}, "column ward is in drop and in one_hot; leave it out of one of them"),
    ],
)
def test_one_hot_refuses(settings, says, file):
    with pytest.raises((BadInput, UnknownName), match=says):
        data_problem(file("wards.csv", WARDS))(**settings, fill="mean")


def test_a_column_without_any_value_has_no_mean(file):
    with pytest.raises(BadInput, match="column b holds no value to take a mean of; leave it out, drop=b"):
        data_problem(file("a.csv", "a,b,label\n1,,x\n2,?,y\n"))(fill="mean")
    with pytest.raises(BadInput, match="one_hot makes columns b=… and there is b=u; rename one"):
        data_problem(file("a.csv", "b=u,b,label\n1,u,x\n2,v,y\n3,u,y\n"))(one_hot="b")


def test_predict_knows_the_words_and_the_means_learned(file, tmp_path):
    """A word that was not learned counts 0 in each column; a cell without a value has the mean of those learned."""
    source, out = file("wards.csv", WARDS), tmp_path / "m"
    made = ["--set", "drop=name", "--set", "one_hot=ward", "--set", "fill=mean"]
    done = CliRunner().invoke(cli, ["solve", str(source), "soft-margin", *made, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(cli, ["verify", str(out), "--data", str(source)]).exit_code == 0

    new = file("new.csv", "weight,ward,age\n,north,20\n100,east,\n")
    plain = file("plain.csv", "ward=west,ward=east,age,weight\n0,0,20,80\n0,1,40,100\n")
    found = [CliRunner().invoke(cli, ["predict", str(out), str(each), "--json"]) for each in (new, plain)]
    labels = [json.loads(each.stdout)["predictions"] for each in found]
    assert labels[0] == labels[1]
    told = CliRunner().invoke(cli, ["predict", str(out), str(new)]).stderr
    assert "north not learned, 0 in each of them" in told
    assert "2 cells without a value filled with the mean of the column in the data learned from" in told
    assert "in the data learned from" not in done.stderr

    names = ["ward=east", "ward=west", "age", "weight"]
    X = read(new, 4, names, one_hot=("ward",), fill="mean", means=np.array([0.5, 0.25, 40.0, 80.0])).X
    np.testing.assert_array_equal(X, [[0, 0, 20, 80], [1, 0, 40, 100]])


def test_predict_fills_where_the_weights_were_learned_on_whole_rows(file, tmp_path):
    done = CliRunner().invoke(
        cli, ["solve", str(file("a.csv", "a,b,label\n1,2,x\n3,4,y\n")), "soft-margin", "--out", str(tmp_path / "m")]
    )
    assert done.exit_code == 0
    words = ["predict", str(tmp_path / "m"), str(file("new.csv", "a,b\n1,\n"))]
    refused = CliRunner().invoke(cli, words)
    assert refused.exit_code == 2
    assert "line 2: column b is empty, and inputs are numbers; say --set fill=mean." in refused.stderr
    assert CliRunner().invoke(cli, [*words, "--set", "fill=mean"]).exit_code == 0


def test_weights_of_columns_made_elsewhere_say_which_column_holds_words(file):
    with pytest.raises(BadInput, match=r"has no column ward_east, .*; make columns of 0 and 1 of column ward as there"):
        read(file("new.csv", "ward,age\neast,3\n"), 2, ["ward_east", "age"])


# ── scales ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["a.csv", "a.svm", "a.npz"])
def test_inputs_are_divided_by_their_largest_entries_and_so_are_those_to_predict(name, tmp_path, monkeypatch):
    """Predictions are those of W x/s by hand; the third input is 0 in all samples, so its scale is 1."""
    monkeypatch.chdir(tmp_path)
    X = np.array([[-400.0, 0.5, 0.0], [100.0, 0.25, 0.0], [200.0, -0.125, 0.0], [50.0, 0.5, 0.0]])
    new = np.array([[-30.0, 0.4, 7.0], [60.0, -0.9, 1.0], [-500.0, 0.1, 0.0]])

    def written(path, rows, labels):
        if path.endswith("csv"):
            lines = [[*row, *label] for row, label in zip(rows.tolist(), labels or [[]] * len(rows), strict=True)]
            head = "a,b,c,label" if labels else "a,b,c"
            (tmp_path / path).write_text("\n".join([head, *(",".join(map(str, line)) for line in lines)]) + "\n")
        elif path.endswith("svm"):
            sparse_rows = [" ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for row in rows.tolist()]
            labels = [each[0] for each in labels or [[0]] * len(rows)]
            text = "\n".join(f"{y} {row}" for y, row in zip(labels, sparse_rows, strict=True))
            (tmp_path / path).write_text(text + "\n")
        else:
            np.savez(tmp_path / path, X=rows, **({"y": [each[0] for each in labels]} if labels else {}))

    written(name, X, [[1], [2], [2], [1]])
    written(f"new{name[1:]}", new, [])
    problem = data_problem(name)(scale="largest")
    assert problem.scales == [400.0, 0.5, 1.0]
    np.testing.assert_array_equal(dense(problem.X), X / [400.0, 0.5, 1.0])
    assert "each input divided by its largest absolute entry" in problem.reading
    assert "penalised alike" not in problem.reading
    assert "--set scale=largest divides each column" in data_problem(name)().reading

    done = CliRunner().invoke(cli, ["solve", name, "soft-margin", "--set", "scale=largest", "--out", "m"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(cli, ["verify", "m", "--data", name]).exit_code == 0
    W = np.load("m/learned.npz")["w"].reshape(2, 3)
    told = CliRunner().invoke(cli, ["predict", "m", f"new{name[1:]}", "--json"])
    wanted = [[1, 2][k] for k in (new / [400.0, 0.5, 1.0] @ W.T).argmax(axis=1)]
    assert json.loads(told.stdout)["predictions"] == wanted


def test_means_to_fill_with_are_those_before_scaling(file, tmp_path):
    source = file("a.csv", "a,b,label\n10,1,x\n,3,y\n30,5,x\n-40,7,y\n")
    out = str(tmp_path / "m")
    words = ["--set", "scale=largest", "--set", "fill=mean", "--out", out]
    assert CliRunner().invoke(cli, ["solve", str(source), "soft-margin", *words]).exit_code == 0
    W = np.load(tmp_path / "m" / "learned.npz")["w"].reshape(2, 2)
    new = file("new.csv", "b,a\n2,\n,-3\n")
    seen = json.loads(CliRunner().invoke(cli, ["predict", out, str(new), "--json"]).stdout)["predictions"]
    scores = np.array([[0.0, 2.0], [-3.0, 4.0]]) / [40.0, 7.0] @ W.T
    assert seen == [["x", "y"][k] for k in scores.argmax(axis=1)]


@pytest.mark.parametrize("spoilt", [[1.0], [1.0, 0.0], [1.0, -2.0], "word", ["x", "y"]])
def test_spoilt_scales_are_one_sentence(spoilt, file, tmp_path):
    source = file("a.csv", "a,b,label\n1,2,x\n3,4,y\n")
    words = ["solve", str(source), "soft-margin", "--set", "scale=largest", "--out", str(tmp_path / "m")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    header = json.loads((tmp_path / "m" / "certificate.json").read_text())
    assert header["problem"]["scales"] == [3.0, 4.0]
    header["problem"]["scales"] = spoilt
    (tmp_path / "m" / "certificate.json").write_text(json.dumps(header))
    done = CliRunner().invoke(cli, ["predict", str(tmp_path / "m"), str(source)])
    assert done.exit_code == 2
    assert "do not keep one positive scale for each of their inputs; learn them again" in done.stderr


# ── predict and verify where the settings of learning count ───────────────────────────────────────


def test_a_new_file_may_write_names_otherwise_and_have_columns_of_0_and_1_already(file):
    text = "id,ward,a,age,label\n1,east,x,3,0\n2,west,y,4,1\n3,east,y,5,0\n"
    problem = data_problem(file("old.csv", text))(one_hot="WARD,a", drop="id")
    names = ["ward=east", "ward=west", "a=x", "a=y", "age"]
    assert problem.columns == names
    known = {"n_inputs": 5, "columns": names, "classes": ("0", "1"), "one_hot": ("WARD", "a"), "drop": ("id",)}
    for text in (
        "Ward,A,age\nwest,y,9\n",
        "age,a,ward=west,ward=east,ID\n9,y,1,0,0\n",
        "age,a,ward=west,ward=east,ward\n9,y,1,0,east\n",
    ):
        found = read(file("new.csv", text), **known)
        np.testing.assert_array_equal(found.X, [[0, 1, 0, 1, 9]])
        assert found.y is None
        assert "labels" not in found.remark
    with pytest.raises(BadInput, match=r"has no column age, which .*; it has Age, so rename that"):
        read(file("new.csv", "Ward,A,Age\nwest,y,9\n"), **known)
    with pytest.raises(BadInput, match="line 2: column age is 'old'; give a finite number"):
        read(file("new.csv", "ward,a,age\nwest,y,old\n"), **known)
    both = {"columns": ["A=x", "a=x", "a=y"], "one_hot": ("A", "a"), "n_inputs": 3}
    np.testing.assert_array_equal(read(file("new.csv", "a,A\nx,x\ny,x\n"), **both).X, [[1, 1, 0], [1, 0, 1]])


def test_numbers_are_one_word_however_they_are_written(file):
    problem = data_problem(file("a.csv", "size,label\n1,a\n2.5,b\n01,a\n1.0,b\n1e1,b\n"))(one_hot="size")
    assert problem.columns == ["size=1", "size=2.5", "size=10"]
    np.testing.assert_array_equal(dense(problem.X)[:, 0], [1, 0, 1, 1, 0])


def test_names_with_commas_stand_in_quotes(file):
    path = file("a.csv", '"site, plot",q,label\nx,1,a\ny,2,b\nx,3,a\n')
    with pytest.raises(BadInput, match='say --set one_hot="site, plot" '):
        data_problem(path)()
    assert data_problem(path)(one_hot='"site, plot"').columns == ["site, plot=x", "site, plot=y", "q"]
    assert data_problem(path)(drop='"site, plot"').columns == ["q"]


def test_what_learning_left_out_is_no_label_and_places_do_not_shift(file, tmp_path):
    """Columns dropped in learning are never compared with; a file without names has all columns or the inputs."""
    source, out = str(file("a.csv", "sex,z,sick\n1,5,0\n0,7,1\n1,8,1\n0,2,0\n")), str(tmp_path / "m")
    assert CliRunner().invoke(cli, ["solve", source, "soft-margin", "--set", "drop=sex", "--out", out]).exit_code == 0
    said = CliRunner().invoke(cli, ["predict", out, str(file("new.csv", "z,sex\n5,1\n7,0\n"))])
    assert (said.exit_code, said.stderr) == (0, "")
    assert "of 4 differ" in CliRunner().invoke(cli, ["predict", out, source]).stderr

    bare, out = str(file("b.csv", "0,1.5,3,9\n1,2.5,4,8\n2,0.5,3,8\n")), str(tmp_path / "n")
    words = ["solve", bare, "soft-margin", "--set", "label=1", "--set", "drop=4", "--out", out]
    assert CliRunner().invoke(cli, words).exit_code == 0
    every, inputs = (
        CliRunner().invoke(cli, ["predict", out, name, "--json"])
        for name in (bare, str(file("c.csv", "1.5,3\n2.5,4\n0.5,3\n")))
    )
    assert json.loads(every.stdout)["predictions"] == json.loads(inputs.stdout)["predictions"]
    refused = CliRunner().invoke(cli, ["predict", out, str(file("d.csv", "1.5,3,9\n2.5,4,8\n"))])
    assert refused.exit_code == 2
    assert "has 3 columns and no header, and the file learned from had 4; write all columns, or the 2 inputs" in (
        refused.stderr
    )


def test_labels_of_signs_and_of_mixed_words_are_found_again(file, tmp_path):
    for number, (old, new) in enumerate(
        [(("+", "-"), ("-", "+")), (("1", "unk"), ("1", "1")), (("1", "2"), ("2.0", "1.0"))]
    ):
        out = str(tmp_path / f"m{number}")
        source = file("a.csv", f"grp,z,x\n{old[0]},5,1\n{old[1]},7,2\n{old[0]},8,0\n")
        words = ["solve", str(source), "soft-margin", "--set", "label=grp", "--out", out]
        assert CliRunner().invoke(cli, words).exit_code == 0
        told = CliRunner().invoke(cli, ["predict", out, str(file("b.csv", f"what,z,x\n{new[0]},5,1\n{new[1]},7,2\n"))])
        assert "% of 2 differ" in told.stderr, (old, told.stderr)


def test_columns_of_words_that_hold_the_labels_are_refused(file):
    path = file("a.csv", "size,treat,outcome\n1,p,well\n2,q,ill\n3,p,ill\n")
    with pytest.raises(BadInput, match="no column is left that holds labels; name one by --set label=NAME"):
        data_problem(path)(one_hot="treat,outcome")
    path = file("a.csv", "class,treat,z\nx,p,1\ny,q,2\nx,q,3\n")
    with pytest.raises(BadInput, match="column class holds the labels; leave it out of one_hot, or name other labels"):
        data_problem(path)(one_hot="class,treat")
    assert data_problem(path)(one_hot="class", label="treat").columns == ["class=x", "class=y", "z"]


def test_strange_settings_of_a_certificate_are_none(file, tmp_path):
    source, out = str(file("a.csv", WARDS)), tmp_path / "m"
    made = ["--set", "drop=name", "--set", "one_hot=ward", "--set", "fill=mean"]
    assert CliRunner().invoke(cli, ["solve", source, "soft-margin", *made, "--out", str(out)]).exit_code == 0
    header = json.loads((out / "certificate.json").read_text())
    header["problem"]["settings"] |= {"one_hot": 5, "fill": "max", "drop": ["x"]}
    (out / "certificate.json").write_text(json.dumps(header))
    assert CliRunner().invoke(cli, ["predict", str(out), source]).exit_code == 2
    npz = tmp_path / "n.npz"
    np.savez(npz, X=[[1.0, np.nan]])
    told = CliRunner().invoke(cli, ["predict", str(out), str(npz), "--set", "fill=mean"])
    assert (told.exit_code, "no CSV file, of which alone cells are filled" in told.stderr) == (2, True)


def test_verify_takes_the_settings_that_are_not_given_from_the_certificate(file, tmp_path):
    source, out = str(file("a.csv", WARDS)), str(tmp_path / "m")
    made = ["--set", "drop=name", "--set", "one_hot=ward", "--set", "fill=mean"]
    assert CliRunner().invoke(cli, ["solve", source, "soft-margin", *made, "--out", out]).exit_code == 0
    for given, code in (([], 0), (["fill=mean"], 0), (["label=kind"], 0), (["scale=largest"], 1)):
        words = ["verify", out, "--data", source, *(part for each in given for part in ("--set", each))]
        assert CliRunner().invoke(cli, words).exit_code == code, given
