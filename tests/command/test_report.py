"""`cutbench report`: one page that loads nothing, shows any name as text, works by keyboard, prints."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shlex
from dataclasses import replace

import cvxpy as cp
import pytest
from browser import CHROMIUM, Browser
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.command.records import run_at
from workbench.command.reporting.charts import Series, chart
from workbench.command.reporting.contents import page_of
from workbench.command.reporting.page import render
from workbench.errors import BadInput

EVIL = "</script><script>alert(1)</script>"
WORDS = ("crosscheck", "toy", "soft-margin", "--learners", "bcfw,subgradient,dual-block", "--passes", "60")


def run(*words, codes=(0,)):
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code in codes, result.output
    return result


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with a solve, a crosscheck with an evil learner, a proof, and the pages of all three."""
    folder = tmp_path_factory.mktemp("pages")
    run("solve", "toy", "soft-margin", "--set", "lam=0.5", "--out", folder / "solved")
    run(*WORDS, "--out", folder / "judged", codes=(0, 1, 3))
    record = json.loads((folder / "judged" / "crosscheck.json").read_text())
    record["learners"][0] |= {"name": EVIL, "reason": f"because {EVIL}"}
    record["learners"][1]["causes"] = [{"kind": "audit", "name": EVIL, "sentence": EVIL, "confident": True}]
    (folder / "judged" / "crosscheck.json").write_text(json.dumps(record))
    (folder / "program.py").write_text(
        "import cvxpy as cp\ndef program():\n    x = cp.Variable(2, name='x')\n"
        "    return cp.Problem(cp.Minimize(x[0] + x[1]), [x >= 1, x[0] + 2 * x[1] >= 4])\n"
    )
    run("prove", folder / "program.py", "--out", folder / "program")
    found = {}
    for name in ("solved", "judged", "program"):
        run("report", folder / name)
        found[name] = folder / name / "report.html"
    return found


def test_the_page_holds_what_was_asked_proven_and_how_to_repeat_it(pages):
    text = html.unescape(pages["solved"].read_text())
    record = json.loads((pages["solved"].parent / "solve.json").read_text())
    assert "λ/2 ‖w‖²" in text
    assert "lam=0.5" in text
    assert record["about"]["command"] in text
    assert f"cutbench verify {shlex.quote(record['certificate'])}" in text or "cutbench verify" in text
    for path in (pages["solved"].with_name("certificate.json"), pages["solved"].with_name("certificate.npz")):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in text
    assert record["about"]["versions"]["cvxpy"] in text
    assert text.count("<svg") == 1
    assert "The optimum lies in [" in text
    assert "Both ends as fractions" in text


def test_the_command_in_a_record_repeats_the_run(pages, tmp_path):
    record = json.loads((pages["judged"].parent / "crosscheck.json").read_text())
    words = shlex.split(record["about"]["command"])
    assert words[:8] == ["cutbench", *WORDS[:7]]
    again = run(*words[1 : words.index("--out")], "--out", tmp_path / "again", codes=(0, 1, 3))
    assert again.exit_code in (0, 3)
    other = json.loads((tmp_path / "again" / "crosscheck.json").read_text())
    assert [row["excess"] for row in other["learners"]] == [row["excess"] for row in record["learners"]]


@pytest.mark.parametrize("name", ["solved", "judged", "program"])
def test_nothing_but_the_pages_own_style_and_script_may_run(pages, name):
    text = pages[name].read_text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    assert policy.startswith("default-src 'none'")
    for tag, kind in (("style", "style-src"), ("script", "script-src")):
        [content] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert not re.search(r"(?:src|href|action|style|on[a-z]+)\s*=", text.split("</style>")[1].split("<script>")[0])
    assert EVIL not in text
    assert (html.escape(EVIL, quote=False) in text) == (name == "judged")


def test_a_certificate_that_proves_nothing_is_called_so(pages, tmp_path):
    for name in ("certificate.json", "certificate.npz"):
        (tmp_path / name).write_bytes((pages["solved"].parent / name).read_bytes())
    claim = json.loads((tmp_path / "certificate.json").read_text())
    (tmp_path / "certificate.json").write_text(json.dumps(claim | {"upper": 0.9 * claim["upper"]}))
    run("report", tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert "<strong>Not proven</strong>" in text
    assert "<strong>Proven</strong>" not in text


def test_a_record_alone_is_called_what_it_is(pages, tmp_path):
    record = json.loads((pages["judged"].parent / "crosscheck.json").read_text())
    record["reference"]["certificate"] = None
    (tmp_path / "printed.json").write_text(json.dumps({key: record[key] for key in ("reference", "learners")}))
    run("report", tmp_path / "printed.json", "--out", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<strong>Not proven here</strong>" in text
    assert "<strong>Proven</strong>" not in text
    run("path", "toy", "soft-margin", "--points", 3, "--epsilon", 0.1, "--out", tmp_path / "path")
    run("report", tmp_path / "path")
    assert (tmp_path / "path" / "report.html").read_text().count("<svg") == 3


def saved(problem, path, monkeypatch):
    """The claim of the page about a certificate that Python code saved, and the page's text."""
    monkeypatch.chdir(path.parent)
    proof = wb.prove(problem)
    proof.save(path)
    run("report", path.name)
    text = html.unescape(path.with_name(f"{path.name}.html").read_text())
    assert proof.statement in text
    assert f"cutbench verify {path.name}.json" in text
    assert f"in {path.name}.json</h1>" in text
    return re.search(r'<p class="claim good"><strong>Proven</strong> (.*?)</p>', text)[1], text


def test_a_certificate_of_a_program_without_a_record_has_a_page(tmp_path, monkeypatch):
    x = cp.Variable(2, name="x")
    need = (cp.sum(x) >= 1).set_label("need")
    claim, text = saved(cp.Problem(cp.Minimize(3 * x[0] + x[1]), [need, x >= 0.125]), tmp_path / "sub", monkeypatch)
    assert claim == "The optimum lies in [1.25, 1.25]: relative gap 0.0e+00."
    assert "2 variables, 0 equalities, 3 inequalities" in text
    run("report", "sub.json", "--out", "page.html")
    assert html.unescape((tmp_path / "page.html").read_text()) == text
    assert run_at("sub").title == "the problem in sub.json"
    none = [need, (x <= 0.25).set_label("most")]
    claim, text = saved(cp.Problem(cp.Minimize(x[0]), none), tmp_path / "none", monkeypatch)
    assert claim == "No x satisfies the constraints."
    assert "<dt>constraints</dt><dd>need, most</dd>" in text
    claim, _ = saved(cp.Problem(cp.Minimize(x[0]), [need]), tmp_path / "endless", monkeypatch)
    assert claim.startswith("The objective has no finite optimum: it improves without end")
    assert "sub.json" in run("runs", ".").stdout


def test_a_forged_certificate_of_a_program_is_not_called_proven(tmp_path, monkeypatch):
    x = cp.Variable(name="x")
    _, text = saved(cp.Problem(cp.Minimize(x), [x >= 1]), tmp_path / "sub", monkeypatch)
    header = json.loads((tmp_path / "sub.json").read_text())
    (tmp_path / "sub.json").write_text(json.dumps(header | {"lower": 2.0, "upper": 2.0, "optimum": "2"}))
    run("report", "sub")
    text = (tmp_path / "sub.html").read_text()
    assert "<strong>Not proven</strong>" in text
    assert "<strong>Proven</strong>" not in text


def test_values_of_backends_differ_in_late_digits_and_prices_are_explained(pages):
    folder = pages["program"].parent
    record = json.loads((folder / "prove.json").read_text())
    record["rows"] = [{"backend": name, "value": value} for name, value in (("A", 3.00000000012), ("B", 3.00000000034))]
    text = html.unescape(render(page_of(replace(run_at(folder), record=record))))
    assert ">3.00000000012<" in text
    assert ">3.00000000034<" in text
    assert "how much the optimum improves per unit by which the constraint is loosened." in text
    assert "The price of an equality has the sign of CVXPY's dual_value." in text


def test_crosscheck_writes_its_page_itself(tmp_path):
    result = run(*WORDS, "--report", tmp_path / "new" / "page.html", "--json", codes=(0, 1, 3))
    assert json.loads(result.stdout)["reference"]["certificate"] is None
    text = (tmp_path / "new" / "page.html").read_text()
    assert "<strong>Proven</strong>" in text
    assert "dual-block" in text


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("no", "is no JSON"),
        ("[1]", "no JSON object"),
        ("{}", "is no record"),
        ('{"learners": 3, "reference": {}}', "'learners' is missing or of a wrong kind"),
        ('{"learners": [{"name": 3}], "reference": {}}', "'learners[0].name' is missing or of a wrong kind"),
        ('{"n_samples": 3, "problem": "x", "formulation": "y", "lower": "0"}', "'lower' is missing"),
        ('{"format": "cutbench-certificate-2"}', "'formulation' is missing"),
        (f"{'[' * 10**5}", "is no JSON"),
    ],
)
def test_files_that_are_no_records_get_one_sentence(tmp_path, content, part):
    (tmp_path / "odd.json").write_text(content)
    with pytest.raises(BadInput, match=re.escape(part)):
        run_at(tmp_path / "odd.json")
    assert "There is no record" in run("report", tmp_path / "missing.json", codes=(2,)).stderr
    assert "holds no run" in run("report", tmp_path, codes=(2,)).stderr


def test_a_chart_places_points_in_order_and_leaves_out_what_it_cannot_show():
    drawn = chart("t", ("x", "y"), [Series("a", [(1, 10), (10, 0), (100, 0.1), (1000, None)])], (True, True))
    points = [tuple(map(float, each.split())) for each in drawn.lines[0].path[1:].split(" L")]
    assert len(points) == 2
    assert points[0][0] < points[1][0]
    assert points[0][1] < points[1][1]  # heights are counted downwards
    assert [text for _, text in drawn.y.ticks] == ["1e-1", "1", "10"]
    assert chart("t", ("x", "y"), [Series("a", [(0, 1)])], (True, True)) is None


# ── in a browser ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not CHROMIUM:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def test_pages_render_without_a_complaint_and_names_stay_text(pages, browser):
    for name, path in pages.items():
        browser.open(path)
        assert browser.value("document.title").endswith("cutbench")
        assert browser.value("document.querySelectorAll('main section').length") >= 3
        assert browser.value("getComputedStyle(document.querySelector('.claim')).borderLeftStyle") == "solid"
        assert browser.value(f"document.body.textContent.includes({json.dumps(EVIL)})") == (name == "judged")
        assert browser.value("document.scripts.length") == 1
    assert browser.complaints == []


def test_tables_sort_by_keyboard_and_say_so(pages, browser):
    browser.open(pages["judged"])
    excesses = "[...document.querySelector('table').tBodies[0].rows].map(r => Number(r.cells[2].dataset.sort))"
    before = browser.value(excesses)
    browser.value("document.querySelectorAll('table th button')[1].focus()")
    browser.press("Tab", 9)
    assert browser.value("document.activeElement.textContent") == "excess"
    browser.press("Enter", 13, "\r")
    assert browser.value(excesses) == sorted(before)
    assert browser.value("document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending"
    browser.press(" ", 32, " ")
    assert browser.value(excesses) == sorted(before, reverse=True)
    assert "Sorted by excess, descending" in browser.value("document.querySelectorAll('[aria-live]')[1].textContent")
    assert browser.complaints == []


def test_the_page_prints_and_follows_the_colour_scheme(pages, browser):
    browser.open(pages["judged"])
    colours = []
    for scheme in ("light", "dark"):
        browser.shown(scheme)
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(21, 23, 27)"]
    browser.shown("light", 380)
    assert browser.value("document.documentElement.scrollWidth") <= 380
    assert browser.printed().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_checker_finds_nothing_serious(pages, browser, scheme):
    browser.shown(scheme)
    for path in pages.values():
        browser.open(path)
        assert browser.violations() == []


def test_the_accessibility_checker_finds_what_is_planted(browser, tmp_path):
    (tmp_path / "bad.html").write_text("<html lang=en><title>t</title><main><img src=x.png><button></button></main>")
    browser.open(tmp_path / "bad.html")
    browser.complaints.clear()  # the picture is missing
    assert {rule for _, rule, _ in browser.violations()} >= {"image-alt", "button-name"}
    browser.complaints.clear()


def test_every_picture_and_table_has_words(pages, browser):
    for path in pages.values():
        browser.open(path)
        assert browser.value(
            "[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-labelledby').split(' ')"
            ".every(id => document.getElementById(id).textContent.length > 5))"
        )
        assert browser.value("[...document.querySelectorAll('table')].every(t => t.caption && t.tHead)")
        assert browser.value(
            "[...document.querySelectorAll('th')].every(t => t.scope === 'col' && t.querySelector('button'))"
        )
    assert browser.complaints == []
