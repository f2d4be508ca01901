"""The main job, told on small real problems: proven, cross-checked, verified, drawn.

    1  digits     one optimum by every route: each backend, CVXPY with lazy and with all cuts
    2  iris       hard margins: solved where classes separate, refused with a proof where they overlap
    3  learners   subgradient and block-coordinate Frank–Wolfe against the proven optimum
    4  words      exponentially many outputs per sample: handwriting, or generated chains
    5  motif      hidden positions: what an alternation proves, and what it does not
    6  proofs     every certificate read from its file and verified again
    7  figures

Each chapter prints a short table and writes its files into the folder. Every fault is printed where it happens and once
more at the end; the exit code is then not 0.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import click
import numpy as np

from workbench.backends import BACKENDS
from workbench.command import terminal
from workbench.command.pictures import make
from workbench.data.loading import load_problem
from workbench.errors import BadInput, CutbenchError, MissingCapability, NotSeparable, counted
from workbench.judging.verdicts import DISAGREES, FAILED, crosscheck
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.verify import verify
from workbench.registries import registry, settings_of
from workbench.solving.solution import Solution
from workbench.solving.solve import solve
from workbench.solving.stochastic import run
from workbench.system.versions import installed_version

PROCESSES = 2  # that draw figures
PATIENCE = 25.0  # seconds that a single solve may take
ROUTES: Mapping[str, dict[str, Any]] = {
    "our own ascent": {},
    "PIQP": {"backend": "PIQP"},
    "OSQP": {"backend": "OSQP"},
    "SCS": {"backend": "SCS"},
    "CLARABEL": {"backend": "CLARABEL"},
    "ECOS through CVXPY": {"backend": "ECOS", "master": "compiled"},
    "CVXPY, lazy cuts": {"backend": "CLARABEL", "master": "compiled", "groups": "all"},
    "CVXPY, all cuts": {"backend": "CLARABEL", "declare": "compact"},
}


FIGURES = (  # those that take seconds, the dearest first; `cutbench figures` draws all
    "costs",
    "gap-curves",
    "path",
    "pictures",
    "alignment",
    "cuts-per-round",
    "flow-curves",
    "pacing",
    "toy-margins",
    "tracking",
    "transitions",
    "words",
)


@dataclass
class Story:
    """The folder of the story's files, the sizes of its problems, and its results so far."""

    out: Path
    n: int
    words: int
    passes: Mapping[str, int]
    drawn: Mapping[str, Any]
    sequences: int
    processes: int
    certificates: list[Path] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def fault(self, sentence: str) -> None:
        """Print and remember a fault, which a reader must not overlook."""
        self.faults.append(sentence)
        click.secho(f"  ! {sentence}", fg="red")

    def keep(self, solution: Solution, stem: str, source: str, settings: Mapping[str, Any]) -> None:
        """Save the certificate of a solution."""
        certificate = replace(solution.certificate, source={"name": source, "settings": dict(settings)})
        self.certificates.append(certificate.save(self.out / "certificates" / stem))


def main(
    out: str | Path,
    n: int = 200,
    words: int = 50,
    passes: Mapping[str, int] | None = None,
    figures: Mapping[str, Any] | None = None,
    sequences: int = 60,
    processes: int = PROCESSES,
) -> int:
    """Tell the story and write its files into the folder `out`; 0 without faults, else 1.

    n, words, sequences : samples of digits, of the chain problem, and of the motif problem
    passes : per learner;  figures : settings for `pictures.make`;  processes : how many draw figures
    """
    began = time.perf_counter()
    story = Story(
        Path(out), n, words, passes or {"subgradient": 8000, "bcfw": 900}, figures or {}, sequences, processes
    )
    introduce()
    digits = many_routes(story)
    hard_margins(story)
    if digits:
        learners(story, digits)
    chains(story)
    motif(story)
    proofs(story)
    pictures(story)
    farewell(story, time.perf_counter() - began)
    return 1 if story.faults else 0


def introduce() -> None:
    """Print which of the packages that the story uses are installed, and which are not."""
    used = ("cvxpy", "numpy", "scipy", "matplotlib", *(BACKENDS[name].package for name in backends_used()))
    found, absent = [], []
    for package in used:
        version = installed_version(package)
        absent.append(package) if version is None else found.append(f"{package} {version}")
    click.echo(f"With {', '.join(found)}.")
    if absent:
        why = " (ecos has no wheel for Python 3.13 and later)" if "ecos" in absent else ""
        click.echo(f"Not installed, so left out: {', '.join(absent)}{why}.")


def backends_used() -> list[str]:
    return list(dict.fromkeys(route["backend"] for route in ROUTES.values() if "backend" in route))


def chapter(title: str, text: str) -> None:
    click.secho(f"\n{title}", bold=True)
    click.echo(f"{text}\n")


def solved(text: str, *arguments: Any, **options: Any) -> Solution:
    """`solve` with progress on a terminal and nothing else on stdout."""
    with terminal.stdout_kept(), terminal.progress(text) as observe:
        return solve(*arguments, observe=observe, time_limit=PATIENCE, **options)


# ── the chapters ──────────────────────────────────────────────────────────────────────────────────


def many_routes(story: Story) -> Solution | None:
    """Digits by every route; returns the solution with the least gap."""
    form, problem = registry("formulation").get("soft-margin"), load_problem("digits")(n=story.n)
    chapter(
        "1  Digits: one optimum, many routes",
        f"A soft-margin SVM (λ = 0.1) on {story.n} handwritten digits. Bounds are computed from the data alone,\n"
        "rounded outward; no backend is believed.",
    )
    rows, solutions = [], []
    for name, route in ROUTES.items():
        options = dict(route)
        chosen = form(lam=0.1, declare=options.pop("declare", "cuts"))
        if "backend" in options and not BACKENDS[options["backend"]].installed:
            rows.append([name, "not installed"] + [""] * 5)
            continue
        try:
            solution = solved(f"digits by {name}", chosen, problem, **options)
        except CutbenchError as error:
            rows.append([name, "failed"] + [""] * 5)
            story.fault(str(error))
            continue
        solutions.append(solution)
        stem = "digits-" + name.lower().replace(",", "").replace(" ", "-")
        story.keep(solution, stem, "digits", {"n": story.n})
        bounds = [terminal.small(solution.gap), terminal.below(solution.lower), terminal.above(solution.upper)]
        rows.append([name, solution.status, *bounds, solution.rounds, f"{solution.seconds:.2f}"])
    terminal.table(["route", "status", "proven gap", "lower bound", "upper bound", "rounds", "seconds"], rows)
    if not any(solution.status == "optimal" for solution in solutions):
        story.fault("No route proved a gap of 1e-9 on digits.")
        return None
    lower, upper = max(s.lower for s in solutions), min(s.upper for s in solutions)
    if lower > upper:
        story.fault("Two proven intervals exclude each other: the oracle or the features are wrong.")
    else:
        click.echo(f"All intervals meet: F* in {terminal.interval({'lower': lower, 'upper': upper})}.")
    return min(solutions, key=lambda solution: solution.gap)


def hard_margins(story: Story) -> None:
    """Iris with hard margins: classes 0 and 1 separate, 1 and 2 do not."""
    chapter("2  Iris: hard margins", "The largest margin between two species, if there is any.")
    hard, iris = registry("formulation").get("hard-margin")(), load_problem("iris")
    solution = solved("iris", hard, iris(n=100))
    found = f"½‖w‖² in {terminal.interval(vars(solution))}, gap {terminal.small(solution.gap)}"
    click.echo(f"setosa (0) against versicolor (1): separable, {found}.")
    if solution.status != "optimal":
        story.fault(f"Hard margins on iris ended {solution.status}.")
    story.keep(solution, "iris-hard-margin", "iris", {"n": 100})
    everything = iris()
    overlapping = type(everything)(everything.X[50:], everything.classes[everything.labels[50:]])
    try:
        solved("iris", hard, overlapping)
        story.fault("Hard margins were found between versicolor and virginica, which overlap.")
    except NotSeparable as refusal:
        click.echo(f"versicolor (1) against virginica (2): {refusal}")
        click.echo(
            f"The combination is the proof: it leaves ‖Σ αψ‖ = {refusal.norm:.0e}, so weights that reach these "
            f"{len(refusal.samples)} margins have ‖w‖ ≥ {1 / max(refusal.norm, 1e-300):.0e}."
        )


def learners(story: Story, reference: Solution) -> None:
    """Our stochastic solvers on digits, judged by the proven optimum."""
    chapter(
        "3  Fast learners against the proven optimum",
        "A learner agrees if its objective, recomputed from its weights, is within 1e-4 of the optimum.",
    )
    bounds, rows = bounds_for(reference.formulation, reference.problem), []
    for name, passes in story.passes.items():
        with terminal.stdout_kept(), terminal.progress(name):
            trace = run(registry("solver").get(name)(), reference.formulation, reference.problem, passes=passes, rng=0)
            verdict = crosscheck(trace, reference)
        gap = bounds.gap(trace.upper[-1], trace.lower[-1])
        own = terminal.small(gap) if np.isfinite(gap) else "none"
        cells = [terminal.small(verdict.excess), own, passes, f"{trace.seconds[-1]:.2f}", verdict.reason]
        rows.append([name, verdict.verdict, *cells])
        if verdict.verdict in (DISAGREES, FAILED):
            story.fault(f"{name} {verdict.verdict}: {verdict.reason}")
    terminal.table(["learner", "verdict", "excess", "own gap", "passes", "seconds", "because"], rows)
    click.echo("A method with a dual bounds its own excess; the others can only be judged by a reference.")


def chains(story: Story) -> None:
    """Words with Viterbi as the oracle; generated chains where the handwriting is not at hand."""
    lam, name, settings = 1.0, "ocr", {"n": story.words}
    chapter("4  Chains: more outputs than could be listed", "A soft-margin chain, solved by asking Viterbi for cuts.")
    try:
        problem = load_problem(name)(**settings)
        click.echo(f"{story.words} handwritten words, 26 letters, λ = {lam:g}.")
    except BadInput as reason:
        lam, name = 0.1, "synthetic-chain"
        problem = load_problem(name)(**settings)
        click.echo(f"The handwritten words are not at hand: {reason}")
        click.echo(f"Instead, {story.words} GENERATED chains (synthetic-chain), λ = {lam:g}.")
    k, longest = problem.n_classes, int(problem.lengths.max())
    click.echo(f"The longest has {longest} positions, hence {k}^{longest} = {float(k) ** longest:.0e} labelings.")
    form = registry("formulation").get("soft-margin")(lam=lam)
    solution = solved(name, form, problem, gap=1e-6, groups="all")
    click.echo(
        f"{solution.status}: F* in {terminal.interval(vars(solution))}, gap {terminal.small(solution.gap)}, "
        f"{counted(solution.rounds, 'round')}, {counted(solution.cuts, 'cut')}, {solution.seconds:.1f} s;\n"
        f"{100 * solution.train_error:.1f} % of the positions of these sequences are read wrongly."
    )
    if solution.status != "optimal":
        story.fault(f"{name} ended {solution.status} with a gap of {solution.gap:.1e}, 1e-6 was asked for.")
    story.keep(solution, name, name, settings)


def motif(story: Story) -> None:
    """Planted motifs at hidden places: a latent SSVM by CCCP from several starts."""
    settings = {"n": story.sequences}
    chapter(
        "5  Motif: its place is hidden",
        f"{story.sequences} generated sequences over A, C, G, T, half of them with a planted motif at a hidden place.\n"
        "A latent SSVM completes the places and learns from them in turn: each program is proven, the whole is not.",
    )
    problem = load_problem("motif")(**settings)
    form = registry("formulation").get("latent-ssvm")(C=30.0, starts=4, start_seed=2)
    solution = solved("motif", form, problem, gap=1e-6)
    rows = []
    for start in range(form.starts):
        own = [entry for entry in solution.history if entry["start"] == start]
        rows += [[start, len(own), f"{own[-1]['value'] / form.C:.4f}", terminal.small(own[-1]["gap"])]] if own else []
    terminal.table(["start", "rounds", "objective F/C at its end", "proven gap of the last program"], rows)
    positive, found = problem.labels == 1, problem.impute(solution.theta_flat)
    right = float((found == problem.truth[:, 1])[positive].mean())
    click.echo(
        f"{solution.status}: the best start has its motif where it was planted in {100 * right:.0f} % of the sequences "
        "that hold one."
    )
    if solution.status != "stationary":
        story.fault(f"The motif problem ended {solution.status}.")
    story.keep(solution, "motif", "motif", settings)


def proofs(story: Story) -> None:
    """Every certificate verified from its files: no solver, no CVXPY, whole numbers."""
    chapter(
        "6  Proofs: every certificate again, from its files",
        "Cuts are rebuilt from the data, every maximum is taken anew, both ends are computed over whole numbers.",
    )
    rows = []
    for path in story.certificates:
        proof = verify(path)
        rows.append([path.name, "proven" if proof["proven"] else "NOT PROVEN", terminal.small(proof["gap"])])
        rows[-1] += [terminal.below(proof["lower"]), terminal.above(proof["upper"]), proof["data_sha256"][:12]]
        if not proof["proven"]:
            story.fault(f"{path} is not proven.")
    terminal.table(["certificate", "verdict", "gap", "lower bound", "upper bound", "data sha256"], rows)
    click.echo(f"{sum(row[1] == 'proven' for row in rows)} of {len(rows)} are proven.")


def pictures(story: Story) -> None:
    """The figures, PROCESSES at a time."""
    chapter("7  Figures", "Each as PNG, as SVG, and with its data as CSV.")
    folder, names = story.out / "figures", FIGURES
    with terminal.stdout_kept(), terminal.progress("figures"):
        if story.processes == 1:
            made = [drawn(name, folder, story.drawn) for name in names]
        else:
            made = drawn_beside(names, folder, story.drawn, story.processes)
    for found in made:
        if isinstance(found, str):
            story.fault(found)
        else:
            story.figures += found
    for path in (path for path in story.figures if path.suffix == ".png"):
        click.echo(f"  {terminal.shown_path(path)}")


def drawn(name: str, folder: Path, settings: Mapping[str, Any]) -> list[Path] | str:
    """The files of one figure, or the sentence that says what it lacks."""
    takes = settings_of(registry("figure").get(name).measure)
    try:
        with terminal.stdout_kept():
            return make([name], folder, **{key: value for key, value in settings.items() if key in takes})
    except MissingCapability as reason:
        return str(reason)


def drawn_beside(
    names: Sequence[str], folder: Path, settings: Mapping[str, Any], processes: int
) -> list[list[Path] | str]:
    """The same in processes of their own, which end with this one."""
    pool = ProcessPoolExecutor(processes, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        return list(pool.map(drawn, names, [folder] * len(names), [settings] * len(names)))
    except BrokenProcessPool:
        return ["A process that draws figures was ended from outside; draw them by `cutbench figures`."]
    except BaseException:
        for each in active_children():
            each.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def farewell(story: Story, seconds: float) -> None:
    """Print where the files are, the faults, and what to type next."""
    chapter("Done", f"{seconds:.0f} seconds. In {terminal.shown_path(story.out)}:")
    click.echo(f"  certificates/  {len(story.certificates)} proofs: NAME.json, with weights, cuts and data in NAME.npz")
    if story.figures:
        click.echo(f"  figures/       {len(story.figures)} files: NAME.png, NAME.svg, and what is drawn in NAME.csv")
    for sentence in story.faults:
        click.secho(f"  ! {sentence}", fg="red")
    command = typed()
    click.echo("\nNext, verify a proof yourself, solve another problem, or see what there is:\n")
    if story.certificates:
        click.secho(f"  {command} verify {terminal.shown_path(story.certificates[0])}", bold=True)
    click.secho(f"  {command} solve wine soft-margin --set lam=0.01 --backend all", bold=True)
    click.secho(f"  {command} list", bold=True)


def typed() -> str:
    """The command as this user has to type it: by its path if it is not on PATH."""
    here = Path(sys.argv[0])
    if here.name != "cutbench" or shutil.which("cutbench"):
        return "cutbench"
    return terminal.shown_path(here)
