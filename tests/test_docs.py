"""What the documents say is true: code runs and prints what stands below it, recipes work, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import supply
import tower
from click.testing import CliRunner

from workbench import __version__
from workbench.command.cli import cli
from workbench.contracts import CutForm
from workbench.registries import CHECKOUT, load_file, present, registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md", "docs/rooms.md", "docs/lazy.md"]
PAGES += ["docs/peers.md", "docs/campaigns.md"]
PAGES += ["docs/guide.md", "docs/formulations.md", "docs/certificates.md", "docs/limits.md", "docs/backends.md"]
PAGES += ["docs/crosscheck.md", "docs/costs.md", "docs/latent.md", "docs/dyads.md", "docs/nightly.md", "docs/tests.md"]
PAGES += ["docs/programs.md", "docs/own_models.md", "docs/pytorch.md", "docs/estimators.md"]
PAGES += ["docs/continuum.md", "docs/structures.md"]
RECIPES = [f"docs/recipes/{path.name}" for path in sorted((ROOT / "docs" / "recipes").glob("*.md"))]
PAGES += RECIPES
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
FILE = re.compile(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```$", re.M | re.S)
LINE = re.compile(r"^`(\w+)` in `([\w/]+\.py)` wants .*?\n\n```python\n(.*?)^```$", re.M | re.S)
BUNDLED = pytest.mark.skipif(not present("problem"), reason="problems and figures come with a checkout or a wheel")


@cache
def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")], ids=lambda p: p.name)
def test_no_page_holds_a_placeholder(path):
    """Two at-signs stand for a figure that nobody has filled in; `A @ x` and addresses have one."""
    assert "@" * 2 not in path.read_text(encoding="utf-8")


@cache
def recipes() -> str:
    """All recipes, one behind the other."""
    return "\n".join(map(page, RECIPES))


def blocks(name: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: (language, text)."""
    return FENCE.findall(page(name))


# ── README: code ──────────────────────────────────────────────────────────────────────────────────

PRINTING = ("programs", "lazy", "estimators", "guide", "dyads", "recipes/convention")
TOLD = [
    (name, j, code)
    for name in ("README.md", *(f"docs/{stem}.md" for stem in PRINTING))
    for j, (kind, code) in enumerate(blocks(name))
    if kind == "python" and "print(" in code
]


@pytest.mark.parametrize(("name", "position", "code"), TOLD, ids=[f"{name} block {j}" for name, j, _ in TOLD])
def test_code_prints_what_stands_below_it(name, position, code, capsys, tmp_path, monkeypatch):
    """Words and optima to all printed digits; gaps below 1e-9 and excesses, given to two, to a quarter."""
    monkeypatch.chdir(tmp_path)
    if "sklearn" in code:
        pytest.importorskip("sklearn")
    kind, told = blocks(name)[position + 1]
    assert kind == "text"
    exec(compile(code, name, "exec"), {})
    printed = capsys.readouterr().out
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", told)
    for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(told), strict=True):
        if "e" not in theirs:
            assert ours == theirs
        elif float(theirs) < 1e-9:
            assert 0 <= float(ours) <= 1e-9
        else:
            assert float(ours) == pytest.approx(float(theirs), rel=0.25)


def test_the_first_code_is_ten_lines():
    code = blocks("README.md")[0][1]
    assert len([line for line in code.splitlines() if line]) <= 10


# ── README: commands ──────────────────────────────────────────────────────────────────────────────


def commands(text: str) -> list[list[str]]:
    """The words behind `cutbench` in console blocks and in `code` spans, without the variables before it."""
    told = [line[2:] for kind, block in FENCE.findall(text) if kind == "console" for line in block.splitlines()
            if line.startswith("$ ")]  # fmt: skip
    told += re.findall(r"`(cutbench [^`]+)`", FENCE.sub("", text))
    return [shlex.split(line.split("cutbench ", 1)[1]) for line in told]


COMMANDS = [words for name in PAGES for words in commands(page(name)) if "NAME" not in words and len(words) > 1]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_parses(words):
    command = cli.commands[words[0]]
    try:
        command.make_context(words[0], words[1:])
    except Exception as error:
        pytest.fail(f"cutbench {' '.join(words)}: {error}")


@pytest.fixture
def cutbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(line: str, code: int) -> str:
        result = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert result.exit_code == code, result.output
        return result.output

    return run


def answer(line: str) -> str:
    """What the guide shows below a command."""
    for kind, block in blocks("docs/guide.md"):
        if kind == "console" and block.startswith(f"$ {line}\n"):
            return block.partition("\n")[2]
    raise AssertionError(f"docs/guide.md does not show {line}")


def agree(shown: str, output: str, *patterns: str) -> None:
    """Each pattern finds the same in what is shown and in what came out."""
    for pattern in patterns:
        assert re.search(pattern, shown), f"{pattern} is not shown"
        assert re.findall(pattern, shown) == re.findall(pattern, output), output


@BUNDLED
def test_solve_and_verify_answer_as_shown(cutbench):
    pytest.importorskip("sklearn")
    for line in (
        "cutbench solve digits soft-margin --set lam=0.1 --set n=300 --gap 1e-9",
        "cutbench verify runs/digits-soft-margin/certificate.json",
    ):
        output = cutbench(line, 0)
        agree(answer(line), output, r"0\.50318438830")
        if "solve" in line:
            agree(answer(line), output, r".*: 300 samples, 640 weights", r"relative, optimal", r"train error .*%")
        else:
            agree(answer(line), output, r"^proven")


@BUNDLED
def test_a_refusal_is_as_shown(cutbench):
    pytest.importorskip("sklearn")
    line = "cutbench solve iris hard-margin"
    agree(answer(line), cutbench(line, 2), r"No weights reach every margin: a Farkas ray", r"use soft-margin or .*")


@BUNDLED
def test_your_own_learner_is_judged_as_shown(cutbench):
    pytest.importorskip("sklearn")
    code = re.search(r"<!-- mine\.py -->\n```python\n(.*?)^```$", page("docs/guide.md"), re.M | re.S).group(1)
    line = "cutbench crosscheck digits soft-margin --learners ./mine.py --passes 600"
    Path("mine.py").write_text(code)
    agree(answer(line), cutbench(line, 0), r"mine +agrees")
    Path("wrong.py").write_text(code.replace(" * problem.n_samples", ""))
    wrong = "cutbench crosscheck digits soft-margin --set n=100 --learners ./wrong.py --passes 600"
    assert re.search(r"wrong +disagrees", cutbench(wrong, 1))


def test_the_guides_program_is_proven_as_shown(cutbench):
    plan = re.search(r"`plan\.py`:\n\n```python\n(.*?)^```$", page("docs/guide.md"), re.M | re.S).group(1)
    Path("plan.py").write_text(plan)
    Path("strict.py").write_text(plan.replace("[need]", "[need, x <= 0]"))
    proven, refuted = answer("cutbench prove plan.py").split("$ cutbench infeasible strict.py\n")
    assert cutbench("cutbench prove plan.py", 0).startswith(proven)
    assert cutbench("cutbench infeasible strict.py", 0).startswith(refuted)


def test_a_data_file_is_a_problem(cutbench):
    Path("flowers.csv").write_text("length,width,label\n1,2,a\n2,1,b\n3,1,b\n1,3,a\n")
    cutbench("cutbench solve flowers.csv soft-margin --out mine", 0)
    assert cutbench("cutbench predict mine flowers.csv", 0).startswith("a\nb\nb\na\n")


def test_make_has_the_targets_that_are_named():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    for name in PAGES:
        assert set(re.findall(r"\bmake (\w+)(?: OUT=\w+)?(?:`|  )", page(name))) <= targets


# ── links, rooms ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    """Files exist, anchors are headings; files named in code exist in the checkout."""
    text = page(name)
    anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors
        elif "://" not in target:
            assert ((ROOT / name).parent / target).is_file(), f"{name} links to {target}"
    made = {path for path, _ in FILE.findall(recipes())}
    for path in re.findall(r"`((?:workbench|tests|problems|figures|docs)/[\w./]+\.\w+)`", text):
        assert path in made or "NAME" in path or (ROOT / path).is_file(), f"{name} names {path}"


def test_one_version_everywhere():
    assert f"\nversion: {__version__}\n" in page("CITATION.cff")
    assert f"\n## [{__version__}]" in page("CHANGELOG.md")
    assert f'\nversion = "{__version__}"\n' in page("pyproject.toml")


def test_pictures_are_small():
    for path in (ROOT / "docs" / "images").iterdir():
        assert path.stat().st_size < 250_000, f"{path.name} is too large for a repository"


def test_the_tower_is_made_from_the_list_of_wings():
    for path, text in tower.pages().items():
        assert path.read_text() == text, "run python tests/support/tower.py"
    assert page("docs/images/layers.svg") == tower.picture(), "run python tests/support/tower.py"


@pytest.mark.skipif(CHECKOUT is None, reason="extras are declared in a checkout")
def test_the_supply_page_names_every_declared_package_its_reason_and_its_extra():
    """Versions and licences are those of the machine where the table was made; the rest follows from pyproject.toml."""
    shown, made = (
        [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ")]
        for text in (page("docs/supply_chain.md").partition(supply.BEGIN)[2].partition(supply.END)[0], supply.table())
    )
    assert len(shown) > 20
    assert shown == made, "run python tests/support/supply.py"


# ── recipes ─────────────────────────────────────────────────────────────────────────────────────────

EXAMPLES = dict(FILE.findall(recipes()))
LINES = {(name, path): text for name, path, text in LINE.findall(recipes())}


def recipe(kind: str) -> tuple[str, str]:
    """(path, text) of the example of a kind."""
    return next((path, text) for path, text in EXAMPLES.items() if f"{kind}s/" in path)


def inserted(path: Path, name: str, text: str) -> None:
    """Put lines at the head of the table called `name`."""
    content = path.read_text(encoding="utf-8")
    head = re.search(rf"^{name}\b.*?= [\[{{(]", content, re.M)
    assert head, f"{path.name} has no table {name}"
    path.write_text(content[: head.end()] + "\n" + text + content[head.end() :], encoding="utf-8")


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the checkout with every example in its place; compiled code comes along."""
    if CHECKOUT is None:
        pytest.skip("the recipes are for a checkout")
    copy = tmp_path_factory.mktemp("house")
    for name in ("workbench", "problems", "figures", "tests"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy2(ROOT / "pyproject.toml", copy)
    for path, text in EXAMPLES.items():
        assert not (copy / path).exists(), f"{path} is taken; choose another example"
        (copy / path).write_text(text, encoding="utf-8")
    profile = 'settings.register_profile("few", max_examples=5, deadline=None, derandomize=True)\n'
    with (copy / "tests" / "conftest.py").open("a", encoding="utf-8") as file:
        file.write(profile + 'settings.load_profile("few")\n')
    return copy


SCRIPT = """
import pytest
from workbench.command.cli import cli
if pytest.main({words}):
    raise SystemExit("the examples fail their tests")
for line in {runs}:
    print("$", *line)
    print("exit code", cli(line, standalone_mode=False))
"""


def test_the_examples_pass_the_tests_of_their_folders_and_run(house):
    """One process: most of the time goes into imports."""
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    chosen = "tags or elastic or optimum-path or registered or fixture or (NEWTON and conditions) or Calm"
    slow = "pinned or log_is_cut or other_data or are_whole or chain-elastic or [1- or [2- or [3-"
    names = ("formulations/test_conformance", "test_layers", "test_registry", "command/test_figures")
    files = [f"tests/{name}.py" for name in (*names, "backends/test_backends", "solving/test_run")]
    words = ["-p", "no:cacheprovider", "-v", "-k", f"({chosen}) and not ({slow})", *files]
    runs = [
        ["solve", "circles", "elastic-net", "--set", "lam1=0.05", "--out", "one"],
        ["verify", "one", "--allow-conditional"],
        ["solve", "circles", "hard-margin", "--backend", "newton", "--gap", "1e-6", "--out", "two"],
        ["crosscheck", "digits", "soft-margin", "--set", "n=60", "--learners", "calm-subgradient,crammer-singer"],
        ["count-outputs", "circles"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(words=words, runs=runs)],
        cwd=house,
        env=os.environ | {"PYTHONPATH": str(house)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    ran = re.findall(r"^(tests/[\w/]+\.py) (\.+)", done.stdout, re.M)
    assert {path for path, _ in ran} == set(files), done.stdout
    for word in (r"optimal", r"CONDITIONAL", r"NEWTON", r"calm-subgradient +not converged", r"crammer-singer +agrees"):
        assert re.search(word, done.stdout), done.stdout
    assert re.findall(r"^exit code (\d)", done.stdout, re.M) == ["0", "0", "0", "3", "0"]


TESTS = re.compile(r"^    \.venv/bin/pytest((?: tests/\S+)*) -k \"(.+)\"$", re.M)
UNREGISTERED = "docs/recipes/text.md"  # a file of a user's own, which `cutbench solve` and `cutbench verify` try


@pytest.mark.parametrize("page", [page for page in RECIPES if page != UNREGISTERED])
def test_every_recipe_says_which_tests_to_run(page):
    """By files that are there, and by words that a test here or the example's own name holds."""
    text = (ROOT / page).read_text(encoding="utf-8")
    ((files, words),) = TESTS.findall(text)
    assert all((ROOT / name).exists() for name in files.split())
    tests = " ".join([path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")])
    names = " ".join([text.lower(), tests, *(path.name for path in (ROOT / "tests").rglob("test_*.py"))])
    assert all(word.lower() in names for word in words.split(" or "))


PINNED = {"output": ["MISFITS"], "formulation": ["REFUSALS"], "solver": ["HARD", "OTHER_R"]}


@pytest.mark.parametrize("kind", PINNED)
def test_the_lines_about_what_fits_are_what_the_example_needs(kind, tmp_path, monkeypatch):
    """The lines given for tests/test_registry.py, each example by itself."""
    path, text = recipe(kind)
    (tmp_path / Path(path).name).write_text(text, encoding="utf-8")
    (name, thing), = load_file(tmp_path / Path(path).name).NAMES.items()  # fmt: skip
    monkeypatch.setitem(registry(kind).objects, name, thing)
    table = tmp_path / "test_registry.py"
    shutil.copy2(ROOT / "tests" / "test_registry.py", table)
    for lines in PINNED[kind]:
        inserted(table, lines, LINES[lines, "tests/test_registry.py"])
    load_file(table).test_what_fits_what_is_pinned()


def test_the_formulation_example_is_of_the_kind_that_is_solved(tmp_path):
    path, text = recipe("formulation")
    (tmp_path / Path(path).name).write_text(text, encoding="utf-8")
    assert all(isinstance(kind(), CutForm) for kind in load_file(tmp_path / Path(path).name).NAMES.values())


def test_the_container_file_copies_what_is_there_and_runs_commands_that_are_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text, wheel = (ROOT / "Containerfile").read_text(), project["tool"]["hatch"]["build"]["targets"]["wheel"]
    left_out = (ROOT / ".containerignore").read_text().split()
    copied = [source for line in re.findall(r"^COPY (.+)$", text, re.M) for source in line.split()[:-1]]
    built_of = ["pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]]
    built_of += [*wheel["packages"], *wheel["force-include"]]
    assert copied
    assert all((ROOT / source).exists() for source in [*copied, *built_of])
    assert not set(left_out) & {*copied, *built_of}
    extras = re.findall(r"'\.\[(\w+)\]'", text)
    assert extras
    assert set(extras) <= set(project["project"]["optional-dependencies"])
    verbs = re.findall(r"\bcutbench ([a-z]\S*)", text.partition("FROM")[2])
    assert verbs
    assert set(verbs) <= set(cli.list_commands(None))
