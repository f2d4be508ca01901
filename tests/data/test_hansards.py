"""The Hansards: where they are looked for, what is refused, the features word by word, and the error rate.

With the real files (CUTBENCH_DATA, or `../shared/data` beside the checkout) their content is checked too;
without them made-up sentences of the same form take their place. Nothing here touches the network.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.data import datasets, store
from workbench.data.datasets import Bitext, MissingData, content_digest, load, made_bitext
from workbench.data.loading import load_problem
from workbench.data.sets import hansards as hansards_file
from workbench.proofs.verify import verify
from workbench.registries import registry

module = registry("problem").modules["hansards"]
bench = registry("benchmark").modules["alignment"]
hansards = load_problem("hansards")

REAL = [Path(p) for p in (os.environ.get("CUTBENCH_DATA"), Path(__file__).resolve().parents[3] / "shared/data") if p]
REAL = next((str(p) for p in REAL if (p / "hansards" / "enfr.gold").is_file()), None)
real_only = pytest.mark.skipif(REAL is None, reason="the real files are not here; made ones are tested above")


def write(folder: Path, bitext: Bitext) -> Path:
    """The two files of a bitext."""
    folder.mkdir(parents=True, exist_ok=True)
    sentences = [f"{' '.join(e)}   ||| {' '.join(f)}  " for e, f in zip(bitext.english, bitext.french, strict=True)]
    marked = [
        [f"{j + 1}{mark}{k + 1}" for mark, links in (("p", p), ("-", s)) for j, k in links]
        for s, p in zip(bitext.sure, bitext.possible, strict=True)
    ]
    (folder / "enfr.src-tgt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    (folder / "enfr.gold").write_text("\n".join(map(" ".join, marked)) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No data of this machine and no network: an empty cache and sources that do not exist."""
    monkeypatch.delenv("CUTBENCH_DATA", raising=False)
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache" / "cutbench")
    for name in ("PAIRS", "LINKS"):
        source = getattr(datasets, name)
        absent = (tmp_path / "absent" / source.url.rsplit("/", 1)[-1]).as_uri()
        monkeypatch.setattr(hansards_file, name, replace(source, url=absent))


@pytest.fixture
def made(tmp_path):
    return write(tmp_path / "made" / "hansards", made_bitext(20)).parent


# ── the files ─────────────────────────────────────────────────────────────────────────────────────


def test_files_are_read_as_they_were_written(made, monkeypatch):
    written = made_bitext(20)
    for folder in (made, made / "hansards"):
        bitext = datasets.hansards(folder)
        assert (bitext.english, bitext.french) == (written.english, written.french)
        for name in ("sure", "possible"):
            for mine, other in zip(getattr(bitext, name), getattr(written, name), strict=True):
                assert np.array_equal(mine, other)
    monkeypatch.setenv("CUTBENCH_DATA", str(made))
    assert hansards().n_samples == 20


def test_absent_files_say_where_to_put_them(tmp_path):
    with pytest.raises(MissingData, match=r"enfr\.src-tgt could not be fetched .* put .*hansards/enfr\.src-tgt"):
        datasets.hansards()
    with pytest.raises(MissingData, match=r"There is no .*enfr\.src-tgt in .*; put the file there"):
        datasets.hansards(tmp_path)


def test_what_is_fetched_must_be_what_was_pinned(made, tmp_path, monkeypatch):
    source = replace(datasets.LINKS, url=(made / "hansards" / "enfr.gold").as_uri())
    with pytest.raises(wb.BadInput, match="does not hold the expected data"):
        load(source)
    assert not list((tmp_path / "cache").rglob("*.npz"))
    digest = content_digest(load(datasets.LINKS, made))
    fetched = load(replace(source, digest=digest))
    kept = load(replace(source, digest=digest, url="file:///nowhere/enfr.gold"))
    assert fetched["text"].tobytes() == kept["text"].tobytes() == load(datasets.LINKS, made)["text"].tobytes()


FAULTS = {
    "no bars": ("enfr.src-tgt", 3, "a b c", r"enfr\.src-tgt is .*line 3 is not of the form"),
    "three sides": ("enfr.src-tgt", 1, "a ||| b ||| c", "line 1 is not of the form"),
    "no French": ("enfr.src-tgt", 2, "a ||| ", "line 2 is not of the form"),
    "no link": ("enfr.gold", 4, "1-1 2", r"enfr\.gold is .*line 4 has '2', which is neither"),
    "other mark": ("enfr.gold", 1, "1s1", "line 1 has '1s1'"),
    "from zero": ("enfr.gold", 1, "0-1", "line 1 has '0-1'"),
    "twice": ("enfr.gold", 2, "1-1 1p1", "line 2 links two words twice"),
    "outside": ("enfr.gold", 5, "1-1 99-1", r"Line 5 of enfr\.gold links words 99 and 1 but its sentences have"),
    "not text": ("enfr.gold", 5, b"\xff\xfe", r"enfr\.gold is truncated or damaged \(UnicodeDecodeError"),
    "one less": ("enfr.gold", 20, None, r"has 20 sentence pairs but enfr\.gold has 19 lines"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_damaged_file_is_one_sentence_with_its_line(case, made):
    name, number, text, message = FAULTS[case]
    path = made / "hansards" / name
    lines = path.read_bytes().splitlines()
    fault = text.encode() if isinstance(text, str) else text
    lines[number - 1 : number] = [] if fault is None else [fault]
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(wb.BadInput, match=message) as caught:
        hansards(data=str(made))
    assert "\n" not in str(caught.value)


def test_an_empty_file_is_refused(made):
    (made / "hansards" / "enfr.gold").write_text("")
    with pytest.raises(wb.BadInput, match="no lines"):
        hansards(data=str(made))


# ── the problem ───────────────────────────────────────────────────────────────────────────────────


@cache
def sentences():
    return (datasets.hansards(REAL), "real") if REAL else (made_bitext(60), "made")


@cache
def vocabularies(side, letters):
    """The words of each sentence, in lower case and cut to so many letters, as sets."""
    return [{w.lower()[:letters] for w in sentence} for sentence in sentences()[0][side]]


def plain_features(bitext, i, j, k):
    """The 24 features of one edge, by their words in FEATURES and nothing else."""
    english, french = ([[w.lower() for w in s] for s in side] for side in bitext[:2])
    n, e, f = len(english), english[i][j], french[i][k]
    rows, columns = len(english[i]), len(french[i])

    def dice(j, k, elsewhere=1, letters=None):
        if not (0 <= j < rows and 0 <= k < columns):
            return 0.0
        one, other = (side[i][t][:letters] for side, t in ((english, j), (french, k)))
        first = [one in words for words in vocabularies(0, letters)]
        second = [other in words for words in vocabularies(1, letters)]
        both = sum(a and b for a, b in zip(first, second, strict=True))
        return 2 * (both - elsewhere) / (sum(first) + sum(second))

    def edits(a, b):
        if not a or not b:
            return len(a) + len(b)
        best = list(range(len(b) + 1))
        for x, letter in enumerate(a, 1):
            best, before = [x], best
            for y, other in enumerate(b, 1):
                best.append(min(before[y] + 1, best[-1] + 1, before[y - 1] + (letter != other)))
        return best[-1]

    def prefix(a, b):
        return next((t for t, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))

    def punctuation(word):
        return not any(c.isalnum() for c in word)

    longest = max(len(e), len(f))
    counts = sum(e in s for s in english), sum(f in s for s in french)
    distance = abs((j + 0.5) / rows - (k + 0.5) / columns)
    here = dice(j, k)
    written = bitext.english[i][j], bitext.french[i][k]
    logs = [np.log(c) / np.log(n) for c in counts]
    return [
        1,
        dice(j, k, 0),
        here,
        dice(j, k, letters=4),
        here > 0 and here == max(dice(j, t) for t in range(columns)),
        here > 0 and here == max(dice(t, k) for t in range(rows)),
        dice(j - 1, k - 1),
        dice(j + 1, k + 1),
        distance,
        distance**2,
        distance * (max(counts) > n / 10),
        e == f,
        written[0] == written[1],
        1 - edits(e, f) / longest,
        prefix(e, f) / longest,
        prefix(e[::-1], f[::-1]) / longest,
        abs(len(e) - len(f)) / longest,
        punctuation(written[0]) and punctuation(written[1]),
        punctuation(written[0]) != punctuation(written[1]),
        all(any(c.isdigit() for c in word) for word in written),
        all(word[0].isupper() for word in written),
        (j, k) in ((0, 0), (rows - 1, columns - 1)),
        abs(logs[0] - logs[1]),
        min(logs),
    ]


def test_features_follow_their_names():
    bitext, _ = sentences()
    rng = np.random.default_rng(0)
    chosen = [5, *rng.integers(0, len(bitext.english), 3)]
    tables = module.edge_features(bitext.english, bitext.french, chosen)
    for i, table in zip(chosen, tables, strict=True):
        rows, columns, d = table.shape
        assert d == len(module.FEATURES) == 24
        for j, k in {
            (0, 0),
            (rows - 1, columns - 1),
            *zip(rng.integers(0, rows, 6), rng.integers(0, columns, 6), strict=True),
        }:
            expected = np.array(plain_features(bitext, i, j, k), float)
            np.testing.assert_allclose(table[j, k], expected, atol=0.5 / 1024 + 1e-12)
            assert not (table[j, k] * 1024 % 1).any()


def test_settings_choose_the_pairs_and_their_gold(made):
    bitext = datasets.hansards(made)
    bitext.sure[3] = np.array([(0, 0), (0, 1), (1, 1)])
    bitext.possible[3] = np.empty((0, 2), int)
    write(made / "hansards", bitext)
    everyone, matchings = hansards(data=str(made)), hansards(gold="matchings", data=str(made))
    assert (everyone.n_samples, matchings.n_samples, everyone.n_features) == (20, 19, 24)
    assert everyone.truth[3, :2].tolist() == [0, 1]
    assert everyone.sizes[3] == 2
    assert np.array_equal(matchings.heights, np.delete(everyone.heights, 3))
    assert everyone.exact_features
    assert (everyone.false_positive, everyone.false_negative) == (1, 3)
    few = hansards(n=4, false_negative=1, data=str(made))
    assert (few.n_samples, few.false_negative) == (4, 1)
    assert np.array_equal(few.edges.toarray(), everyone.edges[: few.starts[-1]].toarray()), "counts are over all pairs"
    with pytest.raises(wb.BadInput, match="gold=matchings has 19 sentence pairs but n=20"):
        hansards(n=20, gold="matchings", data=str(made))
    with pytest.raises(wb.BadInput, match="n=0 sentence pairs"):
        load_problem("synthetic-bitext")(n=0)


def test_made_sentences_are_seeded_and_learnable():
    build = load_problem("synthetic-bitext")
    a, b, c = build(seed=1), build(seed=1), build(seed=2)
    assert {k: v.tobytes() for k, v in a.arrays().items()} == {k: v.tobytes() for k, v in b.arrays().items()}
    assert a.edges.shape != c.edges.shape or (a.edges != c.edges).nnz
    w = wb.solve(wb.SoftMargin(lam=0.01), a, gap=1e-6).theta["w"]
    every = np.arange(a.n_samples)
    wrong = [a.loss(every, a.argmax(v, every, augment=False)).mean() for v in (np.ones(24), w)]
    assert wrong[1] < 0.25 * wrong[0]


@real_only
def test_real_content_is_the_pinned_one():
    for source in (datasets.PAIRS, datasets.LINKS):
        assert content_digest(load(source, REAL)) == source.digest
    bitext, problem = datasets.hansards(REAL), hansards(data=REAL)
    assert (len(bitext.english), sum(map(len, bitext.sure)), sum(map(len, bitext.possible))) == (447, 4038, 13400)
    assert (problem.n_samples, int(problem.sizes.sum()), problem.edges.shape) == (447, 3893, (143000, 24))
    assert sum(len(sure) == size for sure, size in zip(bitext.sure, problem.sizes, strict=True)) == 342
    assert bitext.french[6] == ["bravo", "!"]
    assert bitext.sure[6].tolist() == [[3, 1]]


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_compact_and_cutting_planes_meet_on_sentences(lam, tmp_path):
    bitext, _ = sentences()
    chosen = [i for i in range(len(bitext.english)) if 3 <= len(bitext.english[i]) <= 9][:12]
    features = module.edge_features(bitext.english, bitext.french, chosen)
    gold = [wb.nearest_matching(bitext.sure[i], x.shape[:2]) for i, x in zip(chosen, features, strict=True)]
    problem = wb.Matching(features, gold, 1, 3)
    cuts = wb.solve(wb.SoftMargin(lam=lam), problem, gap=1e-10)
    compact = wb.solve(wb.SoftMargin(lam=lam, declare="compact"), problem, gap=1e-8)
    assert cuts.status == compact.status == "optimal"
    assert compact.upper == pytest.approx(cuts.upper, rel=1e-8)
    assert compact.lower == pytest.approx(cuts.lower, rel=1e-8)
    proof = verify(cuts.certificate.save(tmp_path / "cuts"))
    assert proof["proven"]
    assert proof["arithmetic"] == "rational"


# ── the error rate ────────────────────────────────────────────────────────────────────────────────


def test_error_rate_on_an_example_by_hand():
    """|A| = 4, |S| = 3, |A ∩ S| = 2, |A ∩ P| = 3, so AER = 1 − 5/7, precision 3/4, recall 2/3."""
    sure, possible = [np.array([(0, 0), (1, 1), (2, 2)])], [np.array([(3, 2), (3, 3)])]
    pairs = Bitext([["a"] * 5], [["b"] * 5], sure, possible)
    tally = bench.counts(pairs, [np.array([(0, 0), (1, 1), (3, 3), (4, 4)])])
    assert tally.tolist() == [[4, 3, 2, 3]]
    assert bench.rates(tally) == pytest.approx({"aer": 2 / 7, "precision": 0.75, "recall": 2 / 3})
    assert bench.error_rate(bench.counts(pairs, sure)) == 0
    assert bench.error_rate(bench.counts(pairs, [np.empty((0, 2), int)])) == 1
    assert bench.error_rate(bench.counts(pairs, [np.array([(4, 0)])])) == 1


def test_learning_beats_its_baselines_on_pairs_held_out():
    """On made-up sentences, since no network and no folder are there."""
    record = bench.alignment(n=60, folds=3, gap=1e-2)
    assert record["words"] == "generated"
    assert record["limit_aer"] == 0
    assert record["learned_aer"] < min(record[f"{name}_aer"] for name in ("dice", "ones", "centred"))
    assert record["rows"][0] == {"method": "learned"} | {
        key: record[f"learned_{key}"] for key in ("aer", "precision", "recall")
    }


def test_the_dictionary_holds_the_links_of_other_training_pairs_only():
    """By hand, and: no link of a pair held out, nor its own link, changes a feature."""
    words = [["The", "cat"], ["the", "dog"], ["the", "cat"]], [["le", "chat"], ["Le", "chien"], ["le", "chat"]]
    sure = [np.array([(0, 0), (1, 1)]), np.array([(0, 0)]), np.array([(1, 1)])]
    pairs = Bitext(*words, sure, [np.empty((0, 2), int)] * 3)
    known = datasets.in_dictionary(pairs, np.array([True, True, False]))
    assert known[0].tolist() == [[True, False], [False, False]]  # "cat" is linked in its own pair alone
    assert known[1].tolist() == [[True, False], [False, False]]
    assert known[2].tolist() == [[True, False], [False, True]]
    made = made_bitext(30)
    used = np.arange(30) % 3 > 0
    other = made._replace(sure=[each if held else each[:0] for each, held in zip(made.sure, used, strict=True)])
    for mine, theirs in zip(datasets.in_dictionary(made, used), datasets.in_dictionary(other, used), strict=True):
        assert np.array_equal(mine, theirs)
    for i in np.flatnonzero(used)[:5]:
        less = made._replace(sure=[each[: len(each) * (j != i)] for j, each in enumerate(made.sure)])
        assert np.array_equal(datasets.in_dictionary(made, used)[i], datasets.in_dictionary(less, used)[i])


def test_the_dictionary_is_a_feature_of_the_problem_and_of_the_benchmark(made):
    problem = hansards(dictionary=True, data=str(made))
    plain = hansards(data=str(made))
    assert problem.n_features == plain.n_features + 1
    known = np.concatenate([table.ravel() for table in datasets.in_dictionary(made_bitext(20), np.ones(20, bool))])
    assert np.array_equal(problem.edges.toarray()[:, -1], known)
    assert 0 < known.sum() < known.size
    looked = bench.looked_up(plain, made_bitext(20), np.arange(20) < 12)
    assert looked.n_features == problem.n_features
    assert looked.edges.toarray()[:, -1].sum() < known.sum()


def test_held_out_links_do_not_leak():
    """Other gold links in the held-out pairs leave their predictions as they are."""
    problem = load_problem("synthetic-bitext")(n=20)
    used = np.arange(20) < 15
    truth = problem.truth.copy()
    truth[15:] = -1
    other = wb.Matching.from_arrays(problem.arrays() | {"truth": truth})
    links = [bench.learned(each, used, 0.1, 3.0, 1e-6) for each in (problem, other)]
    for mine, theirs in zip(*links, strict=True):
        assert np.array_equal(mine, theirs)
