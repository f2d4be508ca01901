"""The documentation site: pages of the checkout and pages made from the registries, laid out for Sphinx, and built.

    make site                                  figures first, those that are missing, then the site in out/site
    python tests/support/website.py OUT        the same

OUT/pages is laid out like the checkout, so that each relative link leads where it leads there: docs/*.md, the pages
beside README.md (which is the front page), and whatever file a page links to. Made are one page a formulation
(docs/formulations/NAME.md), one page a section of the public API, and the gallery. Every warning of Sphinx is an error.

`followed` reads the built pages as a browser does: each link and source leads to a file and an anchor of the site, and
nothing but a link leads outside.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import textwrap
from functools import cache
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import api

from workbench.registries import compatibility, registry, settings_of

ROOT = Path(__file__).resolve().parents[2]
FRONT = ("README.md", "docs/site/contents.md")
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")  # README.md
PROGRAMS = ("program", "cost_program", "compact_program", "mixed_program", "surrogate", "binary")
LINK = re.compile(r"\]\(([^)\s]+)\)")
DUAL = "*Dual.*"
INNER = {  # no convex program, but made of such
    "kappa-difficulty": "Alternates: each round solves the program of [`fixed-cost.program`](fixed-cost.md).",
    "self-paced-latent": "Alternates: each round solves the program of [`completed-ssvm.program`](completed-ssvm.md).",
    "nuclear-dyadic": "Not convex. The convex program of its bound stands in `dyads/nuclear.py`, for one at a time of "
    "these problems in two classes:",
}
PAGE = re.compile(r"(?<![`(\[/])\bdocs/([\w-]+)\.md")  # a page named in a docstring


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────


def pages(figures: Path | None = None) -> dict[str, str]:
    """Every page by its place; `figures`: the folder of drawn figures, None for a gallery without pictures."""
    found = {f"docs/{path.relative_to(ROOT / 'docs')}": path.read_text("utf-8") for path in written()}
    found |= {name: (ROOT / name).read_text("utf-8") for name in BESIDE}
    found["index.md"] = "\n".join((ROOT / name).read_text("utf-8") for name in FRONT)
    found["index.md"] += unlisted(found["index.md"])
    found["docs/recipes.md"] = (ROOT / "docs/site/recipes.md").read_text("utf-8")
    made = {f"docs/formulations/{name}.md": formulation(name) for name in registry("formulation").names()}
    found["docs/formulations.md"] += contents("One page each", [f"formulations/{Path(name).stem}" for name in made])
    found |= made | reference() | {"docs/gallery.md": gallery(figures)}
    return {name: LINK.sub(lambda link: front(link[0]), text) for name, text in found.items()}


def written() -> list[Path]:
    """The pages below docs/ that somebody wrote, and those that the tests keep current."""
    return [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "recipes").glob("*.md"))]


def unlisted(index: str) -> str:
    """A last part of the contents, for pages of docs/ that docs/site/contents.md does not name."""
    stems = [f"docs/{path.stem}" for path in sorted((ROOT / "docs").glob("*.md"))]
    names = [stem for stem in stems if f"\n{stem}\n" not in index]
    return "\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *names, "```", ""]) if names else ""


def front(link: str) -> str:
    """A link to README.md leads to the front page."""
    return re.sub(r"(?<=[(/])README\.md", "index.md", link)


def contents(title: str, names: list[str]) -> str:
    return "\n".join(["", f"## {title}", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


def fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def prose(doc: str, up: str = "") -> str:
    """A docstring as Markdown: indented lines are a formula, in a block of their own; `up` leads to docs/."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", doc.strip("\n")):
        for inside, lines in groupby(paragraph.split("\n"), lambda line: line.startswith("  ")):
            block = textwrap.dedent("\n".join(lines))
            parts.append(fenced("text", block) if inside else PAGE.sub(rf"[\1]({up}\1.md)", block) + "\n")
    return "\n".join(parts).replace("```\n\n```text\n", "\n")  # the lines of one formula, set apart by an empty one


def formulation(name: str) -> str:
    """The page of a formulation: objective and dual from its docstring, CVXPY text, settings, what works, source."""
    kind, module = registry("formulation").get(name), registry("formulation").modules[name]
    head, _, rest = (inspect.getdoc(module) or "").partition("\n\n")
    objective, dual = parted(rest)
    parts = [f"# {name}\n", prose(head, "../")]
    parts += ["## Objective\n", prose(objective, "../"), "## Dual\n", prose(dual, "../")]
    parts += ["## As a CVXPY program\n", stated(name, kind)]
    settings = [[f"`{key}`", s.kind, default(s)] for key, s in settings_of(kind).items()]
    parts += ["## Settings\n", f"{inspect.getdoc(kind)}\n", table(["setting", "type", "default"], settings)]
    parts += ["## What works\n", fitting(name)]
    place = Path(str(inspect.getsourcefile(module))).relative_to(ROOT)
    parts += ["## Source\n", f"`{place}`; in Python `wb.{kind.__name__}`; on the command line:\n"]
    return "\n".join([*parts, fenced("console", f"$ cutbench list {name}")])


def default(setting: Any) -> str:
    return "must be given" if setting.default is inspect.Parameter.empty else f"`{setting.default}`"


def parted(doc: str) -> tuple[str, str]:
    """A docstring without and with its paragraph on the dual, and the formulas that belong to this paragraph."""
    blocks = re.split(r"\n\s*\n", doc)
    start = next((j for j, block in enumerate(blocks) if block.startswith(DUAL)), len(blocks))
    stop = next((j for j in range(start + 1, len(blocks)) if not continues(blocks[j])), len(blocks))
    dual = "\n\n".join(blocks[start:stop]).removeprefix(DUAL).strip()
    return "\n\n".join([*blocks[:start], *blocks[stop:]]), dual


def continues(block: str) -> bool:
    """Whether a paragraph goes on with the one before: a formula, or words without a capital."""
    return block[0].islower() or block[0] in " ("


def stated(name: str, kind: type) -> str:
    """The methods that declare the program, as they stand in the source."""
    methods = [getattr(kind, each) for each in PROGRAMS if hasattr(kind, each)]
    if not methods:  # one name, several classes: WeightedRisk
        methods = [cls.program for cls in kind.__subclasses__() if cls.__module__ == kind.__module__]
    told = sources(methods)
    if "cvxpy" not in told:
        told += "\n" + sources(called(methods))
    head = "The declaration as it stands in the source; the tests compare it with the closed forms."
    return f"{head if 'cvxpy' in told else INNER[name]}\n\n{fenced('python', told)}"


def sources(functions: list[Any]) -> str:
    return "\n".join(inspect.cleandoc("\n" + inspect.getsource(each)) + "\n" for each in functions)


def called(methods: list[Any]) -> list[Any]:
    """The functions that methods call by name and that declare a program in CVXPY."""
    names = [(each.__globals__, name) for each in methods for name in each.__code__.co_names]
    found = [space.get(name) for space, name in names]
    return [each for each in found if inspect.isfunction(each) and "cvxpy" in inspect.getsource(each)]


@cache
def pairs() -> list[Any]:
    return compatibility()


def fitting(name: str) -> str:
    """Which outputs the formulation fits, and the solvers of ours for each."""
    rows = []
    for pair in pairs():
        if pair.formulation == name:
            takes = ", ".join(f"`{each}`" for each, why in pair.solvers.items() if why is None)
            rows.append([f"`{pair.output}`", pair.why or f"yes; {takes or 'no solver of ours'}"])
    return table(["outputs", "fits, and which solvers of ours run"], rows)


# ── reference, gallery ────────────────────────────────────────────────────────────────────────────


def reference() -> dict[str, str]:
    """docs/api.md in pieces: a page for each of its sections."""
    head, *sections = re.split(r"^## ", api.page(), flags=re.M)
    found = {}
    for section in sections:
        title, _, body = section.partition("\n")
        stem = re.sub(r"\W+", "-", title.replace("`", "").replace("Module wb.", "wb-")).strip("-").lower()
        higher = re.sub(r"^#(#+ )", r"\1", body, flags=re.M)
        higher = higher.replace("```python\n", "```{code-block} python\n:class: signature\n\n")
        found[f"docs/api/{stem}.md"] = f"# {title}\n{higher}"
    names = contents("Sections", [f"api/{Path(name).stem}" for name in found])
    return {"docs/api.md": head.rstrip() + "\n" + names} | found


def gallery(figures: Path | None) -> str:
    """Every figure, small on one page, with its question, its command and its data on a page section of its own."""
    names = registry("figure").names()
    parts = [
        "# Gallery\n\nEvery figure is measured and drawn by one command, which also writes the drawn numbers as CSV. "
        "Figures are SVG with text that can be searched; hues differ in lightness, too.\n"
    ]
    if figures:
        small = [f"```{{figure}} figures/{name}.svg\n:target: '#{name}'\n:alt: {name}\n\n{name}\n```" for name in names]
        parts.append("````{container} gallery\n" + "\n".join(small) + "\n````\n")
    for name in names:
        doc = inspect.getdoc(registry("figure").modules[name]) or ""
        head = doc.partition("\n\n")[0].replace("\n", " ")
        parts.append(f"## {name}\n\n{prose(doc)}")
        if figures:
            parts.append(f"![{head}](figures/{name}.svg)\n\n[data as CSV](figures/{name}.csv)\n")
        parts.append(fenced("console", f"$ cutbench figures {name}"))
    return "\n".join(parts)


def drawn(folder: Path) -> Path:
    """The folder with every registered figure in it; those that are there already stay."""
    from workbench.command.pictures import make

    for name in registry("figure").names():
        if not all((folder / f"{name}.{suffix}").is_file() for suffix in ("svg", "csv")):
            print(f"drawing {name}", flush=True)
            make([name], folder)
    return folder


# ── building ──────────────────────────────────────────────────────────────────────────────────────


def laid_out(folder: Path, figures: Path | None = None) -> Path:
    """Write every page into `folder`, with the files that pages link to, settings and looks."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages(figures).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        for target in LINK.findall(text):
            carried(name, urlsplit(target).path, folder)
    shutil.copytree(ROOT / "docs" / "site", folder / "docs" / "site", dirs_exist_ok=True)
    if figures:
        shutil.copytree(figures, folder / "docs" / "figures", dirs_exist_ok=True)
    return folder


def carried(page: str, target: str, folder: Path) -> None:
    """Copy a file that a page links to and that is no page."""
    source = (ROOT / page).parent / target
    if target and not target.endswith(".md") and source.is_file():
        place = folder / source.resolve().relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)


def build(out: Path, figures: Path | None = None, builder: str = "html") -> Path:
    """Build OUT/site; a warning of Sphinx raises RuntimeError."""
    from sphinx.cmd.build import build_main

    source, site = laid_out(out / "pages", figures), out / "site"
    shutil.rmtree(site, ignore_errors=True)
    settings = str(source / "docs" / "site")
    words = ["-q", "-W", "--keep-going", "-E", "-b", builder, "-c", settings]
    if build_main([*words, "-d", str(out / "doctrees"), str(source), str(site)]):
        raise RuntimeError(f"Sphinx complains about the pages in {source}; see above.")
    for path in site.rglob("*.html"):
        path.write_text(accessible(path.read_text(encoding="utf-8")), encoding="utf-8")
    return site


def accessible(page: str) -> str:
    """A page as Sphinx writes it, its captions headings of a level, its blocks within reach of the keyboard."""
    page = page.replace('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">')
    return page.replace("<pre>", '<pre tabindex="0">')


# ── following links ───────────────────────────────────────────────────────────────────────────────


class Built(NamedTuple):
    """A built page: its anchors, where its links lead, and what it loads."""

    anchors: set[str]
    links: list[str]
    loads: list[str]


class Reader(HTMLParser):
    """Collects anchors, links and loaded files."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Built(set(), [], [])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {key: value or "" for key, value in attrs}
        self.page.anchors.update(told[key] for key in ("id", "name") if key in told)
        loaded = tag == "link" and told.get("rel") in ("stylesheet", "icon", "preload")
        if "href" in told and told.get("rel") != "canonical":
            (self.page.loads if loaded else self.page.links).append(told["href"])
        if "src" in told:
            self.page.loads.append(told["src"])


def read(path: Path) -> Built:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def followed(site: Path) -> list[str]:
    """What is broken: links to nothing inside the site, and files loaded from elsewhere."""
    built = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in built.items():
        broken += [f"{path.relative_to(site.resolve())} loads {src}" for src in page.loads if urlsplit(src).netloc]
        for target in [*page.links, *page.loads]:
            to = urlsplit(target)
            if to.scheme or to.netloc or target == "#":
                continue
            place = (path.parent / unquote(to.path)).resolve() if to.path else path
            missing = place in built and to.fragment and unquote(to.fragment) not in built[place].anchors
            if not place.is_file() or missing:
                broken.append(f"{path.relative_to(site.resolve())} links to {target}")
    return broken


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    site = build(out, drawn(out / "figures"))
    faults = followed(site)
    print("\n".join(faults) or f"{len(list(site.rglob('*.html')))} pages, no broken link: {site / 'index.html'}")
    raise SystemExit(bool(faults))
