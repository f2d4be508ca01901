"""One session of pytest for all mutants: which tests run which lines, and these tests alone, the fastest first.

The tests of the sound package are run once, and watched (`sys.settrace`): a test *covers* a mutant if it runs the
mutated line, or, if no test is seen there, any line of the function. Then they run once more, in a fork and unwatched:
they must pass there, too, and the time that each takes says when a mutant hangs. A mutant's fork inherits the session
and runs what covers the mutant until one test fails. So a mutant costs its own tests, and neither imports nor a
collection of tests.

What the sound package has cached in functions is forgotten in the fork, unless the value is one of the tests' own.
"""

from __future__ import annotations

import functools
import gc
import mmap
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPILED = ("workbench.arithmetic.compiled", "workbench.arithmetic.sealed")
PLAIN = (int, float, complex, str, bytes, type(None), tuple, frozenset, Fraction)
VALUES = (*PLAIN, np.ndarray, list, dict, set)


class Covering:
    """The plugin: `work` is called within the session, after the sound package passed.

    `items`: a test of pytest, or a function without arguments. `record`, shared with the forks of one trial: which test
    runs, and the CPU seconds of each that ended. `kills`: how many mutants each test has found.
    """

    def __init__(self, files: list[Path], work: Callable[[], None] = lambda: None):
        self.files, self.work = {str(file.resolve()): file for file in files}, work
        self.lines: dict[str, dict[tuple[str, int], set[int]]] = {}  # test → (file, first line of a function) → lines
        self.seconds: dict[str, float] = {}  # while watched, and then of the sound run in a fork
        self.watched: dict[str, float] = {}  # while watched
        self.sound: set[str] = set()  # what passed in a fork
        self.kills: Counter[str] = Counter()
        self.items: dict[str, Any] = {}
        self.caches: list[Any] = []
        self.record: NDArray[np.float64] = np.zeros(0)
        self.now: dict[tuple[str, int], set[int]] = {}
        self.session: Any = None

    def pytest_runtestloop(self, session: Any) -> bool:
        self.session = session
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            self.items[item.nodeid] = item
            run = partial(item.config.hook.pytest_runtest_protocol, item=item, nextitem=following)
            self.watch(item.nodeid, run)
            if session.testsfailed:
                return True
        self.ready()
        self.work()
        return True

    def ready(self) -> None:
        """Before the first fork: which caches there are, and nothing that a fork's garbage collection would touch."""
        self.caches = list(caches())
        gc.freeze()

    def watch(self, name: str, test: Callable[[], object]) -> None:
        """Run a test, and note its lines and CPU seconds."""
        self.now, began = {}, time.process_time()
        sys.settrace(self.called)
        try:
            test()
        finally:
            sys.settrace(None)
        self.seconds[name] = self.watched[name] = time.process_time() - began
        self.lines[name] = self.now

    def called(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Lines are watched in the files that are mutated, and nowhere else."""
        if frame.f_code.co_filename not in self.files:
            return None
        seen = self.now.setdefault((frame.f_code.co_filename, frame.f_code.co_firstlineno), set())

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            seen.add(frame.f_lineno)
            return line

        return line(frame, event, arg)

    def covers(self, file: Path, line: int, first: int, last: int, own: str) -> list[str]:
        """The tests that run the line, or any line of its function from `first` to `last`.

        For lines outside of functions also those of the file `own` that run none, as they may look at numbers alone.
        The fastest come first, and the sooner the more mutants they have found. Those of the file `own` count a tenth.
        """
        at, inside, around = str(file.resolve()), [], []
        for name, functions in self.lines.items():
            seen = set().union(*(lines for (path, _), lines in functions.items() if path == at))
            inside += [name] * (line in seen)
            looking = first == 1 and not seen and name.startswith(own)
            around += [name] * (looking or any(first <= each <= last for each in seen))

        def price(name: str) -> float:
            return self.seconds[name] / (1 + self.kills[name]) / (10 if name.startswith(own) else 1)

        return sorted(inside or around, key=price)

    def hurried(self, name: str) -> None:
        """The process ends where the test takes a second and ten times the CPU time that it takes soundly."""
        signal.setitimer(signal.ITIMER_PROF, 1 + 10 * self.seconds[name])

    def recorded(self, names: list[str]) -> NDArray[np.float64]:
        """A record for a trial by these tests."""
        self.record = np.frombuffer(mmap.mmap(-1, 8 * (1 + len(names))))
        return self.record

    def failed(self, names: list[str]) -> bool:
        """Whether a test fails; in a fork. Without tests none does."""
        for k, (name, following) in enumerate(zip_longest(names, names[1:])):
            self.record[0], began = k, time.process_time()
            self.hurried(name)
            if self.fails(name, following):
                return True
            self.record[1 + k] = time.process_time() - began
        return False

    def fails(self, name: str, following: str | None) -> bool:
        item = self.items[name]
        if callable(item):
            item()
            return False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following and self.items[following])
        return bool(self.session.testsfailed)

    def forget(self) -> None:
        """Caches of functions of the package are emptied."""
        for each in self.caches:
            each.cache_clear()


def caches() -> Iterable[Any]:
    """Caches of functions of the package, but for compiled code, whose text no mutant changes."""
    for each in gc.get_objects():
        kept = type(each) is functools._lru_cache_wrapper  # isinstance would ask what a dead weak reference stood for
        owner = each.__module__ if kept else ""
        if owner.startswith("workbench") and owner not in COMPILED:
            yield each


def grafted(module: ModuleType, code: CodeType) -> bool:
    """Numbers at the level of a module or class, and defaults, as the code makes them; whether there are any."""
    new = ModuleType(module.__name__)
    new.__file__ = module.__file__
    sound = sys.modules[module.__name__]
    sys.modules[module.__name__] = new  # dataclasses look their module up
    try:
        exec(code, vars(new))
    except Exception:  # what registers itself does so once; the module is imported anew instead
        return False
    finally:
        sys.modules[module.__name__] = sound
    changed = False
    for name, value in list(vars(new).items()):
        old = vars(module).get(name)
        if isinstance(value, type) and isinstance(old, type) and value.__module__ == module.__name__:
            for inner, each in list(vars(value).items()):
                changed |= replaced(old, inner, vars(old).get(inner), each, module.__name__)
        elif not name.startswith("__"):
            changed |= replaced(module, name, old, value, module.__name__)
    return changed


def same(old: Any, new: Any) -> bool:
    """Whether two values are alike; those that hold functions, which are made anew each time, count as alike."""
    if type(new) is not type(old):
        return False
    if isinstance(new, np.ndarray):
        return bool(np.array_equal(new, old))
    if isinstance(new, list | dict | set) and not new:  # it is filled by and by
        return True
    return repr(new) == repr(old) or " at 0x" in repr(new) or (isinstance(new, PLAIN) and bool(new == old))


def replaced(owner: Any, name: str, old: Any, new: Any, module: str) -> bool:
    """One name of a module or class."""
    if isinstance(new, VALUES) and isinstance(old, VALUES):
        if same(old, new):
            return False
        others = [each for path, each in list(sys.modules.items()) if path.startswith("workbench.")]
        for each in [owner, *(others if isinstance(owner, ModuleType) else ())]:
            if each is owner or vars(each).get(name, owner) is old:
                setattr(each, name, new)
        return True
    old, new = (getattr(each, "__func__", getattr(each, "__wrapped__", each)) for each in (old, new))
    kept = getattr(old, "__defaults__", None), getattr(old, "__kwdefaults__", None)
    other = getattr(new, "__defaults__", None), getattr(new, "__kwdefaults__", None)
    made_by = (
        module,
        f"namedtuple_{getattr(owner, '__name__', '')}",
    )  # the latter of a NamedTuple's __new__
    if getattr(old, "__module__", None) not in made_by or repr(kept) == repr(other) or " at 0x" in repr((kept, other)):
        return False
    old.__defaults__, old.__kwdefaults__ = other
    return True
