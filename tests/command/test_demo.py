"""The demo, reduced: it leaves what it says, says what it lacks, and does not hide a fault."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from workbench.backends import BACKENDS
from workbench.command import demo
from workbench.data import store
from workbench.proofs.verify import verify

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
REDUCED = {
    "n": 24,
    "words": 5,
    "sequences": 10,
    "processes": 1,
    "passes": {"subgradient": 40, "bcfw": 40},
    "figures": {"n": 24, "passes": 10, "gap": 0.1, "instances": 2},
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(exit code, text, folder) of one reduced demo without the handwriting and without ECOS."""

    def missing(*_):
        raise store.MissingData("There is no such data; put it there.")

    folder = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load", missing)
        patch.setattr(demo, "ROUTES", {name: route | {"groups": "all"} for name, route in demo.ROUTES.items()})
        patch.setitem(BACKENDS, "ECOS", replace(BACKENDS["ECOS"], package="no-such-package"))
        lines: list[str] = []
        patch.setattr(demo.click, "echo", lambda text="", **_: lines.append(str(text)))
        patch.setattr(demo.click, "secho", lambda text="", **_: lines.append(str(text)))
        code = demo.main(folder, **REDUCED)
    return code, "\n".join(lines), folder


def test_it_ends_well_and_in_plain_text(told):
    code, text, _ = told
    assert code == 0
    assert "\x1b" not in text
    assert not re.search(r"^ *!", text, re.MULTILINE)


def test_it_leaves_what_it_says(told):
    _, text, folder = told
    proofs = sorted((folder / "certificates").glob("*.json"))
    pictures = list((folder / "figures").iterdir())
    assert f"{len(proofs)} proofs" in text
    assert f"{len(pictures)} files" in text
    assert not [path for path in folder.rglob("*") if "partial" in path.name]
    for path in proofs:
        assert path.with_suffix(".npz").exists()
        assert verify(path)["proven"], path
        assert path.name in text
    assert {path.suffix for path in pictures} == {".png", ".svg", ".csv"}
    assert f"{len(proofs)} of {len(proofs)} are proven" in text
    assert re.search(r"cutbench verify \S+/certificates/\S+\.json", text)


def test_it_uses_every_installed_backend_and_names_the_absent_one(told):
    _, text, _ = told
    assert re.search(r"left out: .*no-such-package", text)
    assert re.search(r"ECOS through CVXPY +not installed", text)
    for name in ("PIQP", "OSQP", "SCS", "CLARABEL"):
        if BACKENDS[name].installed:
            assert re.search(rf"^ *{name} +optimal", text, re.MULTILINE), name
    for name in ("CVXPY, lazy cuts", "CVXPY, all cuts"):
        assert re.search(rf"{name} +\w+ +[\d.]+e-\d+", text), name
    assert "All intervals meet" in text


def test_it_says_plainly_when_words_are_generated(told):
    _, text, folder = told
    assert "GENERATED" in text
    assert "There is no such data" in text
    assert (folder / "certificates" / "synthetic-chain.json").exists()


def test_it_tells_what_an_alternation_proves(told):
    _, text, folder = told
    assert "each program is proven, the whole is not" in text
    assert "stationary: the best start" in text
    assert len(re.findall(r"^ *[0-3] +\d+ +\d\.\d{4} +\d", text, re.MULTILINE)) == 4
    assert (folder / "certificates" / "motif.json").exists()


def test_it_names_the_overlapping_irises_and_judges_the_learners(told):
    _, text, _ = told
    assert "Farkas ray" in text
    for name in REDUCED["passes"]:
        assert re.search(rf"^ *{name} +(agrees|not converged)", text, re.MULTILINE)


def test_a_fault_is_told_and_changes_the_exit_code(tmp_path, monkeypatch, capsys):
    for part in ("introduce", "chains", "motif", "pictures", "hard_margins"):
        monkeypatch.setattr(demo, part, lambda *_: None)
    monkeypatch.setattr(demo, "ROUTES", {"PIQP": demo.ROUTES["PIQP"]})
    monkeypatch.setattr(demo, "verify", lambda path: verify(path) | {"proven": False})
    assert demo.main(tmp_path, **REDUCED | {"passes": {"bcfw": 3}}) == 1
    text = capsys.readouterr().out
    assert "NOT PROVEN" in text
    assert text.count("digits-piqp.json is not proven") == 2, "where it happens and at the end"


def test_processes_draw_what_one_would(tmp_path):
    """The same files, byte by byte."""
    (own,), names = [demo.drawn("toy-margins", tmp_path / "own", {})], ("toy-margins",)
    (beside,) = demo.drawn_beside(names, tmp_path / "beside", {}, 1)
    assert [path.name for path in own] == [path.name for path in beside]
    assert all(one.read_bytes() == other.read_bytes() for one, other in zip(own, beside, strict=True))
