"""The OCR words: where they are looked for, what is refused, and the problem built from them.

With the real file (CUTBENCH_DATA, or `../shared/data` beside the checkout) its content is checked too;
without it a made file of the same shape takes its place. Nothing here touches the network.
"""

from __future__ import annotations

import gzip
import http.server
import io
import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.compiled import available, compiled_kernel
from workbench.data import store
from workbench.data.datasets import OCR, MissingData, content_digest, load, ocr_letters
from workbench.data.loading import load_problem
from workbench.data.sets import ocr as ocr_file
from workbench.data.sets.ocr import pack_letters

ocr = load_problem("ocr")


def made_letters(seed=0, words=40):
    """Arrays shaped like the real ones, packed; the first five words belong to fold 0."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 15, words).astype(np.uint8)
    folds = np.concatenate([np.zeros(5), rng.integers(0, 10, words - 5)]).astype(np.uint8)
    letters = int(lengths.sum())
    pixels = np.packbits(rng.random((letters, 128)) < 0.22, axis=1)
    labels = rng.integers(0, 26, letters).astype(np.uint8)
    return {"pixels": pixels, "labels": labels, "lengths": lengths, "folds": folds}


def text_of(arrays, shuffle=None):
    """The public table's lines: id letter next_id word_id position fold p_0_0 … p_15_7."""
    lines, row = [], 0
    bits = np.unpackbits(arrays["pixels"], axis=1)
    for word, length in enumerate(arrays["lengths"].tolist()):
        for t in range(length):
            after = row + 2 if t + 1 < length else -1
            head = [row + 1, chr(ord("a") + arrays["labels"][row]), after, word + 1, t + 1, arrays["folds"][word]]
            lines.append("\t".join(map(str, [*head, *bits[row]])) + "\t\n")
            row += 1
    return "".join(lines)


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    np.savez_compressed(folder / "ocr_letters.npz", **made_letters())
    return folder


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No data of this machine and no network: an empty cache and a source that does not exist."""
    monkeypatch.delenv("CUTBENCH_DATA", raising=False)
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache" / "cutbench")
    monkeypatch.setattr(ocr_file, "OCR", replace(OCR, url=(tmp_path / "absent" / "letter.data.gz").as_uri()))


REAL = [Path(p) for p in (os.environ.get("CUTBENCH_DATA"), Path(__file__).resolve().parents[3] / "shared/data") if p]
REAL = next((str(p) for p in REAL if (p / "ocr_letters.npz").is_file()), None)


@pytest.fixture
def folder(made):
    return REAL or str(made)


# ── the problem ───────────────────────────────────────────────────────────────────────────────────


def test_problem_follows_its_formula(folder):
    n = 5
    problem, words = ocr(n, data=folder), ocr_letters(folder)
    assert (problem.n_samples, problem.n_inputs, problem.n_features) == (n, 131, 4082)
    assert problem.exact_features
    ends = np.cumsum(words.lengths)
    for i, word in enumerate(np.flatnonzero(words.folds == 0)[:n]):
        rows = slice(ends[word] - words.lengths[word], ends[word])
        x = problem.letters[problem.offsets[i] : problem.offsets[i + 1]].toarray()
        assert np.array_equal(x[:, :128], words.pixels[rows])
        assert np.array_equal(x[:, 128], np.ones(len(x)))
        assert np.array_equal(x[:, 129:].sum(axis=0), [1, 1])
        assert x[0, 129] == x[-1, 130] == 1
        assert np.array_equal(problem.truth[i, : len(x)], words.labels[rows])
        wrong = problem.truth[i : i + 1].copy()
        wrong[0, 0] = (wrong[0, 0] + 1) % 26
        assert problem.loss(np.array([i]), wrong)[0] == 1 / len(x)
        word = "".join(chr(ord("a") + c) for c in words.labels[rows])
        assert problem.describe(i, problem.truth[i]) == f'labels "{word}"'


def test_oracles_agree_on_words(folder, monkeypatch):
    from workbench.outputs import chain

    problem = ocr(5, data=folder)
    w, every = np.random.default_rng(0).normal(size=4082), np.arange(5)
    batch = problem.argmax(w, every)
    truth = problem.features(every, problem.truth)
    kernel = problem.kernel()
    for k in (kernel, compiled_kernel(kernel) if available() else kernel):
        out = np.empty(problem.width, np.int64)
        for i in every:
            value = k.argmax_into(k.data, w, i, out)
            assert np.array_equal(out, batch[i])
            at = np.array([i])
            hinge = (problem.features(at, out[None]) - truth[at]) @ w + problem.loss(at, out[None])
            assert value == pytest.approx(hinge[0], abs=1e-9)
    slack = problem.slack_argmax(w, every)
    monkeypatch.setattr(chain, "available", lambda: False)
    assert np.array_equal(batch, problem.argmax(w, every))
    assert np.array_equal(slack, problem.slack_argmax(w, every))


def test_a_perfect_scorer_is_found_and_bad_settings_are_not(folder):
    problem = ocr(5, data=folder)
    weights = np.zeros(4082)
    for i in range(5):  # the perceptron's update: truth up, best labelling down
        for _ in range(30):
            at = np.array([i])
            best = problem.argmax(weights, at)
            weights += (problem.features(at, problem.truth[at]) - problem.features(at, best)).toarray()[0]
    every = np.arange(5)
    assert problem.loss(every, problem.argmax(weights, every, augment=False)).mean() < 0.5
    with pytest.raises(wb.BadInput, match=r"Fold 0 of the OCR data has \d+ words but n=100000"):
        ocr(100_000, data=folder)
    with pytest.raises(wb.BadInput, match="Fold 17 of the OCR data has 0 words but n=1"):
        ocr(1, fold=17, data=folder)


@pytest.mark.skipif(REAL is None, reason="the real file is not here; the made one is tested above")
def test_real_content_is_the_pinned_one():
    words = ocr_letters(REAL)
    assert content_digest(pack_letters(words._asdict())) == OCR.digest
    assert words.pixels.shape == (52152, 128)
    assert len(words.lengths) == 6877
    problem = ocr(626, data=REAL)
    assert problem.describe(0, problem.truth[0]) == 'labels "ommanding"'
    assert (problem.n_samples, len(problem.labels), problem.width) == (626, 4617, 14)


# ── where a file is looked for ────────────────────────────────────────────────────────────────────


def test_named_folder_then_variable_then_cache_then_source(made, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.data").write_text(text_of(made_letters(seed=1)))
    monkeypatch.setenv("CUTBENCH_DATA", str(other))
    by_name, by_variable = ocr_letters(made), ocr_letters()
    assert np.array_equal(by_name.labels, made_letters(0)["labels"])
    assert np.array_equal(by_variable.labels, made_letters(1)["labels"])
    monkeypatch.setenv("CUTBENCH_DATA", str(tmp_path / "empty"))
    with pytest.raises(MissingData, match="could not be fetched"):
        ocr_letters()
    cache = store.cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    np.savez(cache / "ocr_letters.npz", **made_letters(2))
    monkeypatch.setattr(ocr_file, "OCR", replace(OCR, digest=content_digest(made_letters(2))))
    assert np.array_equal(ocr_letters().labels, made_letters(2)["labels"])
    with pytest.raises(MissingData, match=r"There is no ocr_letters.npz or letter.data.gz or letter.data in .*empty"):
        ocr_letters(tmp_path / "empty")


def test_nothing_found_says_where_to_put_the_file(tmp_path):
    with pytest.raises(MissingData) as caught:
        ocr(3)
    text = str(caught.value)
    assert "\n" not in text
    assert "put ocr_letters.npz or letter.data.gz" in text
    assert "CUTBENCH_DATA" in text
    assert "--data" in text
    assert str(store.cache_folder()) in text
    assert not list(store.cache_folder().iterdir())


def test_cache_folder_is_the_platforms_own(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    places = {}
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(store.sys, "platform", platform)
        places[platform] = store.cache_folder()
    assert places["linux"] == Path("/somewhere/cutbench")
    assert places["darwin"] == Path.home() / "Library/Caches/cutbench"
    assert places["win32"] == Path("/local/cutbench")


# ── the public table ──────────────────────────────────────────────────────────────────────────────


def test_public_table_gives_the_same_arrays(made, tmp_path):
    lines = text_of(made_letters()).splitlines(keepends=True)
    with gzip.open(tmp_path / "letter.data.gz", "wt") as file:
        file.writelines(lines)
    a, b = ocr_letters(made), ocr_letters(tmp_path)
    for name in a._fields:
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert content_digest(pack_letters(b._asdict())) == content_digest(made_letters())
    # letters of a word need not be neighbours in the file: next_id leads
    first, rest = lines[: a.lengths[0]], lines[a.lengths[0] :]
    (tmp_path / "letter.data.gz").unlink()
    (tmp_path / "letter.data").write_text("".join([first[0], *rest, *first[:0:-1]]))
    c = ocr_letters(tmp_path)
    assert np.array_equal(a.pixels, c.pixels)
    assert np.array_equal(a.lengths, c.lengths)


def mutated(lines, row, field, text):
    fields = lines[row].split("\t")
    fields[field] = text
    return [*lines[:row], "\t".join(fields), *lines[row + 1 :]]


TABLES = {
    "empty": lambda lines: [],
    "short line": lambda lines: [*lines[:3], lines[3][:40] + "\n", *lines[4:]],
    "two letters": lambda lines: mutated(lines, 2, 1, "ab"),
    "capital": lambda lines: mutated(lines, 2, 1, "A"),
    "grey pixel": lambda lines: mutated(lines, 2, 20, "7"),
    "not a number": lambda lines: mutated(lines, 2, 0, "x"),
    "same id": lambda lines: mutated(lines, 2, 0, "1"),
    "lost letter": lambda lines: mutated(lines, 0, 2, "9999"),
    "circle": lambda lines: mutated(lines, 2, 2, "1"),
    "joined words": lambda lines: mutated(lines, 0, 2, "40"),
}


@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables_are_refused(name, tmp_path):
    lines = text_of(made_letters()).splitlines(keepends=True)
    (tmp_path / "letter.data").write_text("".join(TABLES[name](lines)))
    with pytest.raises(wb.BadInput, match=r"letter\.data is truncated or damaged .*; replace it by a fresh copy\.$"):
        ocr_letters(tmp_path)


def objects(path):
    with path.open("wb") as file:
        np.savez(file, **{**made_letters(), "labels": np.array([{}, None], dtype=object)})


def npy():
    file = io.BytesIO()
    np.save(file, np.arange(4))
    return file.getvalue()


ARCHIVES = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-500]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("not found"),
    "flipped": lambda path: path.write_bytes(path.read_bytes()[:300] + bytes(64) + path.read_bytes()[364:]),
    "pickle": objects,
    "one array": lambda path: path.write_bytes(npy()),
    "no folds": lambda path: np.savez(path, **{k: v for k, v in made_letters().items() if k != "folds"}),
    "wide": lambda path: np.savez(path, **{**made_letters(), "pixels": np.zeros((9, 17), np.uint8)}),
    "reals": lambda path: np.savez(path, **{**made_letters(), "labels": np.zeros(9)}),
    "lengths": lambda path: np.savez(path, **{**made_letters(), "lengths": np.ones(40, np.uint8)}),
    "labels": lambda path: np.savez(path, **{**made_letters(), "labels": made_letters()["labels"] + np.uint8(9)}),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_damaged_archives_are_refused(name, made):
    ARCHIVES[name](made / "ocr_letters.npz")
    with pytest.raises(wb.BadInput, match=r"ocr_letters\.npz is truncated or damaged .*; replace it by a fresh copy\."):
        ocr_letters(made)


# ── the download ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def source(tmp_path):
    """A source whose archive, at a file:// URL, holds made letters, with the digest of their content."""
    archive = tmp_path / "public" / "letter.data.gz"
    archive.parent.mkdir()
    with gzip.open(archive, "wt") as file:
        file.write(text_of(made_letters(3)))
    return replace(OCR, url=archive.as_uri(), digest=content_digest(made_letters(3)))


def test_download_is_verified_kept_and_not_repeated(source):
    first = load(source)
    kept = list(store.cache_folder().iterdir())
    assert [p.name for p in kept] == ["ocr_letters.npz"]
    again = load(replace(source, url="file:///nowhere/letter.data.gz"))
    for name, array in first.items():
        assert np.array_equal(array, again[name])
        assert array.dtype == again[name].dtype


def test_download_over_http(source, tmp_path):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "public")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(MissingData, match=r"could not be fetched \(File not found\)"):
            load(replace(source, url=f"{base}/elsewhere/letter.data.gz"))
        arrays = load(replace(source, url=f"{base}/letter.data.gz"))
        server.shutdown()
    assert np.array_equal(arrays["labels"], made_letters(3)["labels"])


def test_wrong_content_is_refused_and_not_kept(source):
    with pytest.raises(wb.BadInput, match="does not hold the expected data"):
        load(replace(source, digest=OCR.digest))
    assert not list(store.cache_folder().iterdir())


def test_truncated_download_is_refused_and_not_kept(source, tmp_path):
    archive = tmp_path / "public" / "letter.data.gz"
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(wb.BadInput, match=r"public/letter\.data\.gz is truncated or damaged"):
        load(source)
    assert not list(store.cache_folder().iterdir())


def test_changed_cache_is_refused(source):
    load(source)
    kept = store.cache_folder() / "ocr_letters.npz"
    letters = made_letters(3)
    letters["labels"][0] = (letters["labels"][0] + 1) % 26
    np.savez(kept, **letters)
    with pytest.raises(wb.BadInput, match=r"ocr_letters\.npz does not hold the expected data"):
        load(source)


def test_content_digest_does_not_depend_on_packing_or_byte_order(made):
    letters = made_letters()
    with np.load(made / "ocr_letters.npz") as file:
        assert content_digest({name: file[name] for name in letters}) == content_digest(letters)
    numbers = np.arange(5, dtype="<i4")
    assert content_digest({"a": numbers}) == content_digest({"a": numbers.astype(">i4")})
    assert content_digest({"a": numbers}) != content_digest({"b": numbers})
    assert content_digest({"a": numbers}) != content_digest({"a": numbers[:4]})
