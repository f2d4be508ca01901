"""One session of pytest for all mutants: which tests run which lines, and these tests alone, the fastest first.

The tests of the sound package are run once, and watched (`sys.settrace`): a test *covers* a mutant if it runs the
mutated line, or, if no test is seen there, any line of the function. A mutant's fork inherits the session and runs what
covers the mutant until one test fails. So a mutant costs its own tests, and neither imports nor a collection of tests.

What the sound package has cached in functions is forgotten in the fork, unless the value is one of the tests' own.
"""

from __future__ import annotations

import functools
import gc
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

PLAIN = (int, float, complex, str, bytes, type(None), tuple, frozenset)


class Covering:
    """The plugin: `work` is called within the session, after the sound package passed."""

    def __init__(self, files: list[Path], work: Callable[[], None] = lambda: None):
        self.files, self.work = {str(file.resolve()): file for file in files}, work
        self.lines: dict[str, dict[tuple[str, int], set[int]]] = {}  # test → (file, first line of a function) → lines
        self.seconds: dict[str, float] = {}
        self.items: dict[str, Any] = {}
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
        self.work()
        return True

    def watch(self, name: str, test: Callable[[], object]) -> None:
        """Run a test, and note its lines and CPU seconds."""
        self.now, began = {}, time.process_time()
        sys.settrace(self.called)
        try:
            test()
        finally:
            sys.settrace(None)
        self.seconds[name], self.lines[name] = time.process_time() - began, self.now

    def called(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Lines are watched in the files that are mutated, and nowhere else."""
        if frame.f_code.co_filename not in self.files:
            return None
        seen = self.now.setdefault((frame.f_code.co_filename, frame.f_code.co_firstlineno), set())

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            seen.add(frame.f_lineno)
            return line

        return line(frame, event, arg)

    def covers(self, file: Path, line: int, first: int, last: int) -> list[str]:
        """The tests that run the line, or any line of its function from `first` to `last`; the fastest first."""
        at, inside, around = str(file.resolve()), [], []
        for name, functions in self.lines.items():
            seen = set().union(*(lines for (path, _), lines in functions.items() if path == at))
            inside += [name] * (line in seen)
            around += [name] * any(first <= each <= last for each in seen)
        return sorted(inside or around, key=self.seconds.__getitem__)

    def hurried(self, name: str) -> None:
        """The process ends where the test takes a second and twice the CPU time that it took while it was watched."""
        signal.setitimer(signal.ITIMER_PROF, 1 + 2 * self.seconds[name])

    def failed(self, names: list[str]) -> bool:
        """Whether a test fails; in a fork."""
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.hurried(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.session.testsfailed:
                return True
        return False


def forgotten() -> None:
    """Caches of functions of the package are emptied."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith("workbench"):
            each.cache_clear()


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


def replaced(owner: Any, name: str, old: Any, new: Any, module: str) -> bool:
    """One name of a module or class."""
    if isinstance(new, PLAIN) and isinstance(old, PLAIN):
        if type(new) is type(old) and (new == old or repr(new) == repr(old)):
            return False
        others = [each for path, each in list(sys.modules.items()) if path.startswith("workbench.")]
        for each in [owner, *(others if isinstance(owner, ModuleType) else ())]:
            if each is owner or vars(each).get(name, owner) is old:
                setattr(each, name, new)
        return True
    old, new = (getattr(each, "__func__", getattr(each, "__wrapped__", each)) for each in (old, new))
    kept = getattr(old, "__defaults__", None), getattr(old, "__kwdefaults__", None)
    other = getattr(new, "__defaults__", None), getattr(new, "__kwdefaults__", None)
    if getattr(old, "__module__", None) != module or repr(kept) == repr(other) or " at 0x" in repr((kept, other)):
        return False
    old.__defaults__, old.__kwdefaults__ = other
    return True
