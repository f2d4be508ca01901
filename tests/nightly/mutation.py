"""Mutation: one fault at a time in the modules whose faults could make a false proof or verdict; does a test fail?

    python tests/nightly/mutation.py [MODULE | FOLDER | MODULE:LINE ...] [--every N] [--seconds S] [--each S] [--jobs N]

Without names, all of TARGETS. With `--seconds`, as many mutants of each module as fit into S seconds of the processor,
counted from the first mutant, in an order that is drawn once, so that those that were tried stand for the others. With
`--each`, a mutant survives that passes those of its tests that fit into S seconds, the fastest first.

A mutant is a module with one change of its syntax tree (`alternatives`):

    comparisons     < ↔ ≤ ↔ >, = ↔ ≠, is ↔ is not, in ↔ not in
    operations      + ↔ −, × ↔ ÷, ** → ×, << ↔ >>, and ↔ or, & ↔ |, a condition negated, `not` and − dropped
    numbers         c ± 1, 2c for a float, 1 for 0.0, True ↔ False
    directions      up ↔ down, lo ↔ hi, min ↔ max, all ↔ any, below ↔ above
    rounding        up, down, abs, positive and their like dropped, γ and the oracles' error terms set to 0
    statements      calls, raises, breaks and assignments in place dropped

Left alone are annotations, the text of sentences, `strict` of zip, which only asserts that our own lists are alike, and
the size of the −1 that asks `reshape` for the missing length, for which NumPy takes any number below 0.

It is compiled in memory, in a fork of a process that has imported all packages and run the tests named beside the
module once, in a copy of the checkout. Of these tests those that cover the mutant run until one fails (`covering.py`),
on the examples that `make test` draws. A second and ten times the CPU time that a test takes soundly, 3 GiB of memory,
or a crash, also kill. What TARGETS names as `search` proposes and proves nothing, and is left out. numba keeps compiled
functions on disk, whose text a mutant does not change; so they run `interpreted` where they are mutated.

ACCEPTED holds the survivors that change no proof, each with the reason. Exit code 1 if there are others, or if an entry
of ACCEPTED names no survivor of the modules run.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.machinery
import importlib.util
import os
import resource
import runpy
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property, partial
from itertools import accumulate
from math import inf
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from covering import Covering, grafted

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("workbench", "problems", "figures", "benchmarks", "tests", "pyproject.toml")
HEAVY = ("numpy", "scipy.sparse", "scipy.optimize", "cvxpy", "clarabel", "osqp", "piqp", "sklearn.datasets", "numba")
HEAVY += ("click.testing", "rich.table", "pytest", "hypothesis.extra.numpy", "hypothesis.strategies")
MEMORY = 3 << 30
CRASHED = 70
MANY = 1 << 30
ACCEPTED = Path(__file__).with_name("accepted.toml")


class Target(NamedTuple):
    """The tests of a module, its own file first; its definitions that propose and do not prove; words to pytest.

    `plain`: the tests are functions without arguments, which are called without pytest. Where a change is outside of
    functions, all of the package is imported anew, or of a `plain` target what lies below this name. `about`: a pattern
    for the names of the cases that run the module. `interpreted`: as where numba is not installed.
    """

    tests: tuple[str, ...]
    search: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    plain: str = ""
    about: str = ""
    interpreted: bool = False


SEARCH = ("GRID", "MOST_UNKNOWNS", "MOST_STEPS", "NEGLIGIBLE", "sharpened", "optimum", "polished", "finished", "Face")
OF_DUAL = (
    "BARRIERS",
    "STEPS",
    "STILL",
    "POWERS",
    "DENSE",
    "sides_of",
    "solution",
    "risen",
    "climbed",
    "point",
    "attaining",
    "Point",
)
TARGETS = {
    "arithmetic/intervals": Target(("arithmetic/test_intervals",), ("MANY", "RUN", "SMALL")),
    "arithmetic/products": Target(("arithmetic/test_products",), ("MANY", "BLOCK", "COUNTED"), interpreted=True),
    "proofs/listed": Target(("proofs/test_listed_parts", "proofs/test_listed"), ("FULL",)),
    "proofs/bounds": Target(
        ("proofs/test_bounds", "objectives/test_sweeps", "proofs/test_listed"),
        ("*.balanced", "BALANCING", "*.row_entries", "SEEN", "RUN"),
    ),
    "system/threads": Target(("system/test_threads",)),
    "objectives/regularizers": Target(
        ("objectives/test_regularizers", "proofs/test_bounds"),
        ("Shape", "plain", "separated", "projected", "*.prox", "*.shape"),
    ),
    "proofs/ends": Target(("proofs/test_exact_parts", "proofs/test_exact")),
    "proofs/exact": Target(("proofs/test_exact_parts", "proofs/test_exact"), (*SEARCH, "differences")),
    "arithmetic/rationals": Target(("proofs/test_exact",)),
    "arithmetic/lifting": Target(("arithmetic/test_lifting",)),
    "proofs/certificate": Target(("proofs/test_read_back", "proofs/test_certificate")),
    "proofs/tree": Target(("proofs/test_trees",)),
    "proofs/capped": Target(("proofs/test_capped_parts", "proofs/test_capped"), ("LARGEST", "CHUNK")),
    "proofs/support": Target(("proofs/test_support_parts", "proofs/test_support")),
    "objectives/oracles": Target(("objectives/test_oracles",)),
    "objectives/likelihoods": Target(("objectives/test_likelihoods",), ("MOST_ENTRIES",), interpreted=True),
    "objectives/least_change": Target(
        ("objectives/test_novelty_parts", "objectives/test_novelty"),
        ("ALIKE",),
        words=("-k", "not interpreted_equals"),
        interpreted=True,
    ),
    "dyads/dual": Target(("dyads/test_dual",), OF_DUAL),
}
TARGETS |= {
    f"outputs/{name}": Target(("outputs/test_exact_views",))
    for name in (
        *(path.stem for path in sorted((ROOT / "workbench/outputs").glob("_exact_*.py"))),
        "_graph/exact",
        "_flow/exact",
    )
}
SESSION: list[Covering] = []  # what covers the mutants: plain tests, or the session of pytest that forks are made in
CHECKER = ROOT / "workbench" / "proofs" / "checker"
CHANCE, PARTS, FILES = "proofs/checker/test_by_chance", "proofs/checker/test_parts", "proofs/checker/test_files"
VERDICTS, ENCLOSURES = "proofs/checker/test_verdicts", "proofs/checker/test_enclosures"
FORMULATIONS, MAXIMA = "proofs/checker/test_formulations", "proofs/checker/test_maxima"
OF_PROGRAM = "proofs/checker/test_program_parts"
SEARCHES, NODES = "proofs/checker/test_search", "proofs/checker/test_nodes"
PROGRAMS, STRUCTURES = "proofs/checker/test_programs_by_chance", "proofs/checker/test_structures"
ABOUT = {  # the certificates by chance that run a module, by words of their names; all, for a module that is not here
    **{name: f"of {name}" for name in ("chain", "flow", "graph", "linear", "matching", "motif", "multilabel")},
    **{name: f"of {name}" for name in ("structured", "views", "dyads")},
    "multiclass": "of multiclass",
    "outputs/tree": "of tree|with pairs",
    "_cuts": "of graph",
    "_hungarian": "of matching",
    "_forests": "of tree",
    "_pairwise": "of (tree|graph)",
    "_viterbi": "of chain",
    "_paths": "with pairs",
    "_detections": "of flow",
    "_sums": "crf of chain",
    **dict.fromkeys(("kinds/tree", "_box", "_boxes", "_nodes", "_terms"), "self-paced"),
    "slopes": "nuclear-dyadic",
    "nuclear_dyadic": "nuclear-dyadic",
    "intercepts": "soft-margin of (multiclass|chain|dyads)",
    "_free_labels": "cost|soft-margin of (multiclass|chain|dyads)",
    "self_paced": "self-paced",
    "completed": "completed",
    "costs": "cost",
    "fixed_cost": "fixed-cost",
    "_errors": "cost",
    "_rounding": "cost|completed",
    "hard_margin": "hard|perceptron",
    "soft_margin": "soft|weighted",
    "smooth": "crf|weighted",
    "tangent": "crf|weighted",
    "balls": "crf|weighted",
    "kinds/cuts": "soft|hard|perceptron|completed|cost",
    "checker/regularizers": "cost|graph|soft",
    **dict.fromkeys(("checker/learning", "contracts", "checker/whole"), "of (multiclass|motif|flow|tree)"),
    "check": "of multiclass|program (optimal|infeasible)",
}
DIRECT = {  # what calls a module by itself, and comes first
    **dict.fromkeys(("archive", "faults"), (FILES,)),
    **dict.fromkeys(("check", "program"), (VERDICTS,)),
    **dict.fromkeys(("balls", "outputs/_sums", "outputs/_forests"), (ENCLOSURES,)),
    "formulations/smooth": (FORMULATIONS, ENCLOSURES),
    "contracts": (VERDICTS, FORMULATIONS, STRUCTURES),
    "kinds/tangent": (VERDICTS, ENCLOSURES),
    "kinds/cuts": (FORMULATIONS, VERDICTS),
    "regularizers": (FORMULATIONS,),
    **dict.fromkeys([f"kinds/{name}" for name in ("_box", "_boxes", "_nodes", "_terms")], (NODES, SEARCHES)),
    "kinds/tree": (SEARCHES,),
    "formulations/self_paced": (FORMULATIONS, SEARCHES),
    **dict.fromkeys(("kinds/slopes", "formulations/nuclear_dyadic"), ("proofs/checker/test_slopes",)),
    "whole": (PARTS, STRUCTURES),
}
ALONE = ("archive", "faults", "check", "balls", "outputs/_cuts", "outputs/_hungarian")  # these need no chance
ALONE += ("kinds/_box", "kinds/_boxes", "kinds/_nodes")
OF_PROGRAMS = ("programs", "cones", "convexity", "kinds/_vectors", "kinds/program")
LIMITED = ("archive", "contracts", "kinds/cuts", "kinds/tree", "kinds/_vectors", "kinds/program")


def checked(path: Path) -> Target:
    """The tests of a module of the checker."""
    name = path.relative_to(ROOT / "workbench" / "proofs" / "checker").with_suffix("").as_posix()
    words = next((words for end, words in ABOUT.items() if f"proofs/checker/{name}".endswith(f"/{end}")), "")
    folders = {"outputs": (MAXIMA, STRUCTURES), "formulations": (FORMULATIONS,)}
    tests = DIRECT.get(name, folders.get(path.parent.name, ()))
    tests += () if name in ALONE else (OF_PROGRAM, PROGRAMS) if name in OF_PROGRAMS else (CHANCE,)
    tests += (PROGRAMS,) if name == "whole" else ()
    tests += (PARTS,) if name in LIMITED else ()
    return Target(tests, ("MOST_*",), plain="workbench.proofs.checker", about=words)


TARGETS |= {
    path.relative_to(ROOT / "workbench").with_suffix("").as_posix(): checked(path)
    for path in sorted(CHECKER.rglob("*.py"))
    if path.name != "__init__.py"
}
JUDGES = ("words_of_verdicts", "judges_numbers", "settling", "patience", "controls", "verdict_parts")
CONVENTIONS = ("features", "layouts", "standardised", "losses", "padding", "neighbours")
OF_JUDGE = {  # of each module of the judge, the fast tests in tests/judging
    "patience": ("patience", "straight", "stand"),
    "programs": ("own_programs",),
    "terms": ("terms", "own_programs"),
    "settling": ("settling_parts", "straight", "settling"),
    "seeds": ("verdict_parts",),
    "share": ("share",),
    "claims": ("claims", "verdict_parts", "judges_numbers"),
    "verdicts": JUDGES,
    "controls": ("controls",),
    "reports": ("reports", "words_of_verdicts"),
    "kin": ("kin",),
    "stationary": ("without_optimum",),
    "alternations": ("without_optimum",),
    "mistakes": ("without_optimum",),
    "judge": ("judge", "share"),
    "stand": ("stand", "share"),
    "relations": ("relation_parts", "relations"),
    "hooks": ("audits", "flow_audit", "judges_numbers"),
    "audits": ("audit_parts", "audit_limits", "judges_numbers", "audits", "flow_audit"),
    "conventions/detective": ("detective", "judges_numbers"),
    "conventions/scaling": ("scaling_parts",),
    "conventions/one_vs_rest": ("one_vs_rest_parts", "judges_numbers"),
    "conventions/all_rivals": ("all_rivals",),
    "conventions/transposed": ("transposed", "guesses"),
    **{f"conventions/{name}": ("convention_parts",) for name in CONVENTIONS},
}
TARGETS |= {f"judging/{name}": Target(tuple(f"judging/test_{each}" for each in own)) for name, own in OF_JUDGE.items()}


# ── mutants ───────────────────────────────────────────────────────────────────────────────────────

COMPARED = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
}
COMPARED |= {ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,)}
COMPARED |= {ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
OPERATED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
OPERATED |= {ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr}
OPERATED |= {ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And}
PAIRS = (("up", "down"), ("lo", "hi"), ("min", "max"), ("minimum", "maximum"), ("all", "any"), ("below", "above"))
PAIRS += (("lower", "upper"),)
SWAPPED = {**dict(PAIRS), **{b: a for a, b in PAIRS}}
UNWRAPPED = {"up", "down", "abs", "positive", "sqrt", "below", "above", "enclosed", "masked"}
ZEROED = {"gamma", "slope_error", "offset_error", "rounding", "reach"}
SKIPPED = {"annotation", "returns", "decorator_list", "bases", "keywords_of_class", "exc", "cause"}


@dataclass
class Mutant:
    line: int
    scope: str
    change: str
    around: tuple[int, int]  # the lines of its function
    compiled: Callable[[], CodeType]

    @cached_property
    def code(self) -> CodeType:
        """Compiled in the fork that needs it."""
        return self.compiled()


def named(node: ast.AST) -> str | None:
    """The name of what is called."""
    return getattr(node, "id", getattr(node, "attr", None))


def alternatives(node: Any) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            for other in COMPARED[type(op)]:
                yield ast.Compare(left, [other()], right)
        case ast.Compare(left=left, ops=ops, comparators=right):
            for j, op in enumerate(ops):
                for other in COMPARED[type(op)]:
                    yield ast.Compare(left, [*ops[:j], other(), *ops[j + 1 :]], right)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATED:
            yield ast.BinOp(left, OPERATED[type(op)](), right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(OPERATED[type(op)](), values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value or 1.0)
        case ast.Name(id=name, ctx=ast.Load()) if name in SWAPPED:
            yield ast.Name(SWAPPED[name], ast.Load())
        case ast.Attribute(value=value, attr=name, ctx=context) if name in SWAPPED:
            yield ast.Attribute(value, SWAPPED[name], context)
        case ast.Call(func=func, args=[*_, last]) if named(func) in UNWRAPPED:
            yield last
        case ast.Call(func=func) if named(func) in ZEROED:
            yield ast.BinOp(ast.Constant(0), ast.Mult(), node)
        case ast.If(test=test, body=body, orelse=other) if not isinstance(test, ast.Compare):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.IfExp(test=test, body=body, orelse=other) if not isinstance(test, ast.Compare):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.AugAssign(target=target, op=op, value=value):
            yield ast.Pass()
            if type(op) in OPERATED:
                yield ast.AugAssign(target, OPERATED[type(op)](), value)
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()


def places(node: ast.AST, scope: str = "") -> Iterator[tuple[Any, Any, ast.AST, str]]:
    """(holder, key, node, scope) of every node that may change, the holder a list or the parent."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}".lstrip(".")
    if isinstance(node, ast.Assign) and not scope:
        scope = named(node.targets[0]) or ""
    if scope.endswith("__repr__"):
        return
    for field, value in ast.iter_fields(node):
        if field in SKIPPED or isinstance(node, ast.JoinedStr) or getattr(node, "arg", "") == "strict":
            continue
        for key, child in enumerate(value) if isinstance(value, list) else [(field, value)]:
            if isinstance(child, ast.AST):
                yield (value if isinstance(value, list) else node), key, child, scope
                yield from places(child, scope)


def around(tree: ast.Module, line: int) -> tuple[int, int]:
    """The first and last line of the function of a line; of the module, for a line outside of functions."""
    ends = [(1, MANY)]
    ends += [(each.lineno, each.end_lineno or 0) for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    return min((each for each in ends if each[0] <= line <= each[1]), key=lambda each: each[1] - each[0])


def put(holder: Any, key: Any, node: ast.AST) -> None:
    if isinstance(holder, list):
        holder[key] = node
    else:
        setattr(holder, key, node)


def first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def mutants(path: Path, spared: tuple[str, ...]) -> Iterator[Mutant]:
    """Every mutant of a file outside of the definitions that are spared."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    missing = set(lengths(tree))
    for holder, key, node, scope in list(places(tree)):
        if any(fnmatch(scope, each) or fnmatch(scope, f"{each}.*") for each in spared) or node in missing:
            continue
        for other in alternatives(node):
            change, changed = (
                f"{first_line(node)} → {first_line(other)}",
                (holder, key, ast.copy_location(copy(other), node)),
            )
            again = partial(built, tree, path, changed, node)
            yield Mutant(node.lineno, scope, change, around(tree, node.lineno), again)


def lengths(tree: ast.Module) -> Iterator[ast.AST]:
    """The 1 of every −1 that `reshape` is given."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and named(call.func) == "reshape":
            yield from (each.operand for each in call.args if isinstance(each, ast.UnaryOp))


def built(tree: ast.Module, path: Path, changed: tuple[Any, Any, ast.AST], node: ast.AST) -> CodeType:
    """The code of the tree with one node changed for the while."""
    holder, key, _ = changed
    put(*changed)
    try:
        return compile(ast.fix_missing_locations(tree), str(path), "exec")
    finally:
        put(holder, key, node)


# ── trials ────────────────────────────────────────────────────────────────────────────────────────


class Altered(importlib.machinery.SourceFileLoader):
    """Finds and loads one module, whose code is given."""

    def __init__(self, name: str, path: Path, code: CodeType):
        super().__init__(name, str(path))
        self.given = code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        return self.given


def tested(module: str, mutant: Mutant | None, seconds: int, tests: list[str]) -> int:
    """pytest's exit code, or 0 where plain tests pass; runs in a fork, in the copy of the checkout.

    mutant : None for the sound module
    tests : of the session, those that cover the mutant
    """
    bounded(seconds)
    target, path = TARGETS[module], Path("workbench", f"{module}.py")
    name = ".".join(path.with_suffix("").parts)
    os.environ["CUTBENCH_MUTATED"] = target.about
    here = sys.modules[name]
    if not mutant or exchanged(here, mutant) or (not target.plain and grafted(here, mutant.code)):
        if not target.plain:
            SESSION[0].forget()
        return int(SESSION[0].failed(tests))
    inside = str(Path("tests").resolve())
    for other, each in list(sys.modules.items()):  # tests hold names of the sound package, and are imported anew, too
        if f"{other}.".startswith((f"{target.plain or 'workbench'}.", "_cutbench")) or (
            not target.plain and (getattr(each, "__file__", None) or "").startswith(inside)
        ):
            del sys.modules[other]
    sys.meta_path.insert(0, Altered(name, path.resolve(), mutant.code))
    if not target.plain:
        return by_pytest(target.words, tests)
    signal.setitimer(signal.ITIMER_PROF, 0)
    for test in plain_tests(target.tests):
        test()
    return 0


def plain_tests(files: tuple[str, ...]) -> list[Any]:
    """The functions of plain tests, their files executed anew."""
    found = [runpy.run_path(f"tests/{file}.py") for file in files]
    return [test for names in found for name, test in names.items() if name.startswith("test_")]


def exchanged(module: Any, mutant: Mutant) -> bool:
    """Gives the function in which the mutant differs its new code; False if the change is outside of functions."""
    owner: Any = module
    for part in mutant.scope.split("."):
        owner = vars(owner).get(part) if isinstance(owner, type | ModuleType) else None
        owner = getattr(owner, "__wrapped__", getattr(owner, "fget", getattr(owner, "func", owner)))
        owner = getattr(owner, "__func__", owner)
        if isinstance(owner, FunctionType):
            break
    if not isinstance(owner, FunctionType) or owner.__module__ != module.__name__:
        return False
    for code in codes(mutant.code):
        if code.co_qualname == owner.__code__.co_qualname and code != owner.__code__:
            owner.__code__ = code
            for each in vars(module).values():
                if getattr(each, "__wrapped__", None) is owner:
                    each.cache_clear()
            return True
    return False


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of all functions within."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes(each)


def by_pytest(words: tuple[str, ...], files: list[str], plugins: tuple[Any, ...] = ()) -> int:
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    drawn = {"max_examples": 50, "deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
    drawn |= {"report_multiple_bugs": False}
    settings.register_profile("mutation", **drawn, phases=[Phase.explicit, Phase.generate])  # a failure is enough
    options = ["-x", "-s", "--quick", "--tb=line", "--assert=plain", "-p", "no:cacheprovider"]
    options += ["--hypothesis-profile=mutation"]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    return pytest.main([*options, *words, *files], plugins=list(plugins))


def bounded(seconds: int) -> None:
    """Limits of CPU time and memory for this process, which prints nothing."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(30 * seconds)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)


def forked(module: str, mutant: Mutant | None, seconds: int, tests: list[str]) -> int:
    """Starts a trial; its process."""
    process = os.fork()
    if not process:
        try:
            result = tested(module, mutant, seconds, tests)
        except BaseException:  # whatever a mutant does, its fork must end here
            result = CRASHED
        sys.stdout.flush()
        os._exit(result)
    return process


def waited() -> tuple[int, int, float]:
    """(process, exit code or −signal, CPU seconds) of the next trial that ends."""
    process, status, used = os.wait3(0)
    return process, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def sound(module: str, tests: list[str]) -> None:
    """Tests that did not yet run in a fork do, on the sound module; notes how long each takes."""
    session = SESSION[0]
    if TARGETS[module].plain:  # of another module a test may have run fewer cases, and taken less
        session.seconds.update(session.watched)
    fresh = [test for test in tests if TARGETS[module].plain or test not in session.sound]
    if not fresh:
        return
    record = session.recorded(fresh)
    forked(module, None, 5 + int(10 * sum(session.seconds[test] for test in fresh)), fresh)
    _, code, _ = waited()
    if code:
        raise SystemExit(f"The sound {module} ends with {code} in {fresh[int(record[0])]}.")
    session.sound.update(fresh)
    session.seconds.update(zip(fresh, record[1:].tolist(), strict=True))


def trials(module: str, chosen: list[Mutant], told: argparse.Namespace) -> tuple[list[Mutant], int, int, float]:
    """The mutants that no test kills, in the order of lines; how many were tried, and killed by the clock; CPU seconds.

    told : the options; the sound run does not count among their seconds
    """
    running, survivors, late, tried, spent, session = {}, [], 0, 0, 0.0, SESSION[0]
    sound(module, [test for test in covering(module, 1, (1, MANY)) if session.seconds[test] <= told.each])
    waiting = list(chosen)[::-1]
    while waiting or running:
        while waiting and len(running) < told.jobs:
            mutant = waiting.pop()
            tests = fitting(covering(module, mutant.line, mutant.around), told.each)
            limit = 5 + int(10 * sum(session.seconds[test] for test in tests))
            record = session.recorded(tests)
            running[forked(module, mutant, limit, tests)], tried = (mutant, tests, record), tried + 1
        process, code, seconds = waited()
        (mutant, tests, record), spent = running.pop(process), spent + seconds
        late += code in (-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGPROF)
        if spent > told.seconds:
            waiting.clear()
        if code == 0:
            survivors.append(mutant)
            print(f"  survived workbench/{module}.py:{mutant.line}  {mutant.scope}:  {mutant.change}", flush=True)
        elif tests:
            session.kills[tests[int(record[0])]] += 1
    return sorted(survivors, key=lambda mutant: mutant.line), tried, late, spent


def fitting(tests: list[str], within: float) -> list[str]:
    """The tests that passed soundly in a fork and together fit into so many CPU seconds, in their order."""
    usable = [test for test in tests if test in SESSION[0].sound]
    spent = accumulate(SESSION[0].seconds[test] for test in usable)
    return [test for test, until in zip(usable, spent, strict=True) if until <= within]


def covering(module: str, line: int, around: tuple[int, int]) -> list[str]:
    """The tests of the module that run the line, or else some line around."""
    target, path = TARGETS[module], Path("workbench", f"{module}.py")
    found = SESSION[0].covers(path, line, *around, own=f"{'' if target.plain else 'tests/'}{target.tests[0]}")
    return [test for test in found if not target.plain or test.rpartition("::")[0] in target.tests]


def copied(place: str, heavy: tuple[str, ...]) -> None:
    """A copy of the checkout becomes the place where everything is imported from."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, Path(place, name))
    os.chdir(place)
    sys.path.insert(0, place)
    os.environ |= {"PYTHONPATH": place, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in heavy:
        importlib.import_module(name)


def warmed(modules: list[str]) -> None:
    """What plain tests import and compute once is there before the forks; each file is run once."""
    sys.path.insert(0, "tests/support")
    plain = [module for module in modules if TARGETS[module].plain]
    SESSION[:] = [Covering([Path("workbench", f"{module}.py") for module in plain])]
    for file in {file: None for module in plain for file in TARGETS[module].tests}:
        for test in plain_tests((file,)):
            test()
            SESSION[0].items[f"{file}::{test.__name__}"] = test
            SESSION[0].watch(f"{file}::{test.__name__}", test)
    SESSION[0].ready()


def below(word: str) -> list[str]:
    """The modules that a word names: itself, or all of a folder."""
    return [word] if word.partition(":")[0] in TARGETS else [each for each in TARGETS if each.startswith(f"{word}/")]


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("modules", nargs="*", default=list(TARGETS), help="or folders, of " + ", ".join(TARGETS))
    reader.add_argument("--every", type=int, default=1, help="only each n-th mutant, when time is short")
    reader.add_argument(
        "--seconds", type=float, default=inf, help="of the processor for each module, when it is shorter"
    )
    reader.add_argument("--each", type=float, default=inf, help="of the processor for the tests of one mutant")
    reader.add_argument("--jobs", type=int, default=os.cpu_count())
    told = reader.parse_args()
    if lost := [word for word in told.modules if not below(word)]:
        reader.error(f"No module is named {lost[0]}; --help lists them.")
    words = [each for word in told.modules for each in below(word)]
    modules = [word.partition(":")[0] for word in words]
    with tempfile.TemporaryDirectory(prefix="cutbench-mutation-") as place:
        copied(place, ("numpy",) if all(TARGETS[module].plain for module in modules) else HEAVY)
        warmed(modules)
        for module in modules:
            importlib.import_module(f"workbench.{module.replace('/', '.')}")
        strange = sum(tried_out(word, told) for word in words if TARGETS[word.partition(":")[0]].plain)
        rest = [word for word in words if not TARGETS[word.partition(":")[0]].plain]
        for session in {kind(word): None for word in rest}:
            strange += in_session([word for word in rest if kind(word) == session], told)
    return int(strange > 0)


def kind(word: str) -> tuple[tuple[str, ...], bool]:
    """What the modules that share a session of pytest have in common."""
    target = TARGETS[word.partition(":")[0]]
    return target.words, target.interpreted


def in_session(words: list[str], told: argparse.Namespace) -> int:
    """Modules that one session of pytest serves."""
    targets = {word.partition(":")[0]: TARGETS[word.partition(":")[0]] for word in words}
    strange: list[int] = []

    def work() -> None:
        strange.extend(tried_out(word, told) for word in words)

    SESSION[:] = [Covering([Path("workbench", f"{module}.py") for module in targets], work)]
    files = {f"tests/{file}.py": None for target in targets.values() for file in target.tests}
    of_pytest, interpreted = kind(words[0])
    with hidden("numba") if interpreted else nullcontext():
        by_pytest(of_pytest, list(files), tuple(SESSION))
    SESSION.clear()
    if len(strange) < len(words):
        raise SystemExit("The tests of the sound package do not pass, for the reason above.")
    return sum(strange)


@contextmanager
def hidden(name: str) -> Iterator[None]:
    """As where a package is not installed."""
    kept = sys.modules[name]
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.modules[name] = kept


def tried_out(word: str, told: argparse.Namespace) -> int:
    """The mutants of a module, or of a line of it; how many answers are not as ACCEPTED says."""
    module, _, line = word.partition(":")
    accepted = tomllib.loads(ACCEPTED.read_text(encoding="utf-8")).get(module, [])
    found = list(mutants(Path("workbench", f"{module}.py"), TARGETS[module].search))
    chosen = [mutant for mutant in found if not line or mutant.line == int(line)][:: told.every]
    if told.seconds < inf:
        Random(0).shuffle(chosen)
    survivors, tried, late, spent = trials(module, chosen, told)
    whole = tried == len(found)
    known = Counter((each["in"], each["change"]) for each in accepted)
    found_again = Counter((mutant.scope, mutant.change) for mutant in survivors)
    new, stale = (found_again - known).total(), known - found_again
    killed = tried - len(survivors)
    print(f"{module}: {tried} of {len(found)} mutants, {killed} killed ({late} by the clock), ", end="")
    print(f"{len(survivors) - new} accepted, {new} survived, {spent:.0f} s CPU", flush=True)
    for scope, change in sorted(stale) if whole else ():
        print(f"  accepted.toml names what no longer survives: {scope}: {change}")
    return new + whole * len(stale)


if __name__ == "__main__":
    raise SystemExit(main())
