"""The documentation site: no page with a warning, every formulation and figure on it, no broken link, every block ran.

`make site` builds all of it with pictures; here Sphinx reads every page and resolves every reference, and writes none.
With CUTBENCH_NIGHTLY the pages are written, followed link by link, and searched from the disk.
"""

from __future__ import annotations

import inspect
import os
import re
import time

import pytest
import test_docs
import website
from browser import CHROMIUM, Browser

from workbench.registries import registry

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")
pytestmark = [  # of Sphinx's extensions among themselves; what Sphinx says of our pages is no Python warning
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]
NIGHTLY = pytest.mark.skipif(not os.environ.get("CUTBENCH_NIGHTLY"), reason="written pages: nightly")
ELSEWHERE = {  # blocks that other tests run
    "docs/own_models.md": "tests/outputs/test_own_models.py",
    "docs/pytorch.md": "tests/judging/test_watching.py",
}
FORMULATIONS, FIGURES = registry("formulation").names(), registry("figure").names()


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def figures(tmp_path):
    """A folder with every figure's files, empty pictures."""
    folder = tmp_path / "figures"
    folder.mkdir()
    for name in FIGURES:
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>')
        (folder / f"{name}.csv").write_text("x\n")
    return folder


def test_sphinx_reads_every_page_without_a_warning(tmp_path, figures):
    website.build(tmp_path, figures, builder="dummy")


def test_a_link_to_nowhere_is_a_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(website, "pages", lambda figures: {"index.md": "# A page\n\n[away](docs/nothing.md)\n"})
    with pytest.raises(RuntimeError, match="Sphinx complains"):
        website.build(tmp_path, builder="dummy")
    assert "docs/nothing.md" in capsys.readouterr().err


def test_every_page_of_the_checkout_is_a_page_of_the_site():
    told = website.pages()
    for path in [*website.ROOT.glob("docs/*.md"), *website.ROOT.glob("docs/recipes/*.md")]:
        assert str(path.relative_to(website.ROOT)) in told


@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_formulation_has_its_objective_dual_and_cvxpy_text(name):
    page, kind = website.formulation(name), registry("formulation").get(name)
    parts = dict(re.findall(r"^## (.*?)\n\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert re.search(r"```text\n.*min|```text\n.*θ", parts["Objective"], re.S)
    assert len(parts["Dual"].split()) > 8, f"{name}: no paragraph {website.DUAL}"
    stated = parts["As a CVXPY program"]
    assert "import cvxpy as cp" in stated or re.search(r"`[\w-]+\.program`|`\w+/\w+\.py`", stated)
    for setting in inspect.signature(kind).parameters:
        assert setting == "settings" or re.search(rf"\b{setting}\b", parts["Settings"]), f"{name}: {setting}"
    assert "yes; " in parts["What works"]


def test_the_dual_is_parted_with_its_formulas_and_no_more():
    doc = "A.\n\n*Dual.* Over α,\n\n    max α\n\nwhere α ≥ 0.\n\nNext."
    assert website.parted(doc) == ("A.\n\nNext.", "Over α,\n\n    max α\n\nwhere α ≥ 0.")


def test_formulas_stay_as_they_are_typed():
    told = website.prose("See docs/limits.md:\n\n    min  w\n\n      s.t. w ≥ 0\nThen.", "../")
    assert told == "See [limits](../limits.md):\n\n```text\nmin  w\n\ns.t. w ≥ 0\n```\n\nThen.\n"


def test_the_gallery_has_every_figure_with_its_command_and_its_data(tmp_path):
    page = website.gallery(tmp_path)
    for name in FIGURES:
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for part in (f"](figures/{name}.svg)", f"(figures/{name}.csv)", f"$ cutbench figures {name}\n"):
            assert part in section, f"{name} misses {part}"


def test_figures_that_are_drawn_already_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.command.pictures.make", lambda names, folder: drawn.extend(names))
    drawn = []
    for suffix in ("svg", "csv"):
        (tmp_path / f"{FIGURES[0]}.{suffix}").touch()
    website.drawn(tmp_path)
    assert drawn == FIGURES[1:]


def test_every_block_of_python_is_run_by_a_test():
    """API signatures and sources of formulations aside, which are no examples."""
    ran = {code for _, _, code in test_docs.TOLD} | {*test_docs.EXAMPLES.values(), *test_docs.LINES.values()}
    guide = test_docs.page("docs/guide.md")
    ran |= set(re.findall(r"(?:<!-- mine\.py -->|`plan\.py`:\n)\n```python\n(.*?)^```$", guide, re.M | re.S))
    for path in website.written():
        name = str(path.relative_to(website.ROOT))
        blocks = {code for kind, code in test_docs.blocks(name) if kind == "python"}
        if name in ELSEWHERE:
            named = re.findall(r"^`\w+\.py`:\n\n```python\n(.*?)^```$", test_docs.page(name), re.M | re.S)
            assert blocks == set(named)
            assert path.name in (website.ROOT / ELSEWHERE[name]).read_text()
        elif name != "docs/api.md":
            assert blocks <= ran, f"{name} has a block that no test runs: {min(blocks - ran)}"


def test_captions_have_a_level_and_blocks_are_within_reach_of_the_keyboard():
    told = website.accessible('<p class="caption" role="heading">Use</p><pre>x</pre>')
    assert told == '<p class="caption" role="heading" aria-level="2">Use</p><pre tabindex="0">x</pre>'


# ── links of written pages ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html#there">b</a> <a href="https://example.org/x">out</a> <a href="#here" id="here">.</a>', None),
        ('<a href="c.html">c</a>', "a.html links to c.html"),
        ('<a href="b.html#nowhere">b</a>', "a.html links to b.html#nowhere"),
        ('<img src="no.svg">', "a.html links to no.svg"),
        ('<script src="https://example.org/x.js"></script>', "a.html loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "a.html loads //example.org/x.css"),
    ],
)
def test_links_are_followed(body, fault, tmp_path):
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<p id="there">b</p>')
    assert website.followed(tmp_path) == ([fault] if fault else [])


@NIGHTLY
@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
def test_the_written_site_has_no_broken_link_and_is_searched_from_the_disk(tmp_path, figures):
    site = website.build(tmp_path / "out", figures)
    assert website.followed(site) == []
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(site / "index.html")
        browser.call("Page.navigate", url=(site / "search.html").resolve().as_uri() + "?q=farkas")
        found = "document.querySelectorAll('#search-results li').length"
        until = time.monotonic() + 20
        while not browser.value(found) and time.monotonic() < until:
            time.sleep(0.1)
        assert browser.value(found) > 0
        assert browser.complaints == []
        for page in ("index.html", "docs/guide.html", "docs/formulations/soft-margin.html"):
            browser.open(site / page)
            assert browser.violations() == []
    finally:
        browser.close()
