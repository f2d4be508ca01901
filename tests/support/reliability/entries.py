"""Every entry of the command line on damaged files and bad options: one sentence, or the answer of the sound file.

    files      EXAMPLES, each a sound file with the commands that read such files, under every one of DAMAGES
    options    every option of every verb with every value of VALUES

A trial survives if the command ends with an exit code of its contract, within SECONDS; what it prints is printable
and no traceback; a refusal prints no answer; a damage that changes no content (HARMLESS) keeps the answer.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import click
import numpy as np

import workbench as wb
from reliability import Trial
from reliability.inputs import commanded, folder
from reliability.runs import clouds
from workbench.command.cli import cli
from workbench.system.alarm import Late, alarm

SECONDS = 60.0
QUICK = ["--time-limit", "20"]
SOLVE = ["solve", "{}", "soft-margin", "--set", "lam=0.1", "--gap", "1e-6", "--json", *QUICK]
PROVE, WHY = ["prove", "{}", "--json", *QUICK], ["infeasible", "{}", "--json", *QUICK]
CHECK, LEARN = (
    ["check-oracle", "{}", "--seconds", "0.1", "--json", *QUICK],
    ["crosscheck", "toy", "soft-margin", "--learners", "{}", "--passes", "2", "--json", *QUICK],
)
CERTIFICATE = [["verify", "run", "--json"], ["explain", "run", "--json"], ["predict", "run", "iris"], ["report", "run"]]
CERTIFICATE += [["compare", "run", "run"], ["runs", "."]]

MPS = "NAME          T\nROWS\n N  COST\n G  R1\n L  R2\nCOLUMNS\n    X         COST      1.0   R1        1.0\n"
MPS += "    Y         COST      2.0   R2        1.0\nRHS\n    RHS       R1        1.0   R2        3.0\n"
MPS += "BOUNDS\n UP B         X         4.0\nENDATA\n"
QPS = MPS.replace("ENDATA", "QUADOBJ\n    X         X         2.0\nENDATA")
LP = "Minimize\n obj: x + 2 y + [ x ^ 2 ] / 2\nSubject To\n c1: x + y >= 1.5\nBounds\n 0 <= x <= 4\nEnd\n"
PROBLEM = "import numpy as np\nimport workbench as wb\n\n\ndef own():\n    X = np.array([[1.0, 2.0], [3.0, 1.0]])\n"
PROBLEM += "    return wb.Multiclass(X, [0, 1])\n\n\nNAMES = {'own': own}\n"
LEARNER = (
    "import numpy as np\n\n\ndef fit(problem, formulation, budget, rng):\n    return np.zeros(problem.n_features)\n"
)
TABLE = "a,b,label\n1.5,2,x\n3,4.25,y\n-1,0,x\n"


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


@cache
def solved() -> dict[str, bytes]:
    """The files of a run."""
    with folder():
        source = {"name": "iris", "settings": {}}
        found = wb.solve(wb.SoftMargin(lam=0.5), clouds(9), gap=1e-3, journal="run", source=source)
        found.certificate.save("run/certificate")
        return {str(path): path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}


@cache
def npz() -> bytes:
    with folder():
        np.savez("a.npz", X=clouds(9).X.toarray(), y=np.arange(9) % 3)
        return Path("a.npz").read_bytes()


Example = tuple[str, Callable[[], bytes], list[list[str]]]  # file, its content, commands in which {} is the file
EXAMPLES: dict[str, Example] = {
    "MPS": ("a.mps", MPS.encode, [PROVE, WHY]),
    "QPS": ("a.qps", QPS.encode, [PROVE]),
    "LP": ("a.lp", LP.encode, [PROVE, WHY]),
    "problem file": ("own.py", PROBLEM.encode, [SOLVE, CHECK]),
    "learner file": ("mine.py", LEARNER.encode, [LEARN]),
    "CSV": ("a.csv", TABLE.encode, [SOLVE, ["path", *SOLVE[1:3], "--json", *QUICK], CHECK]),
    "svmlight": ("a.svm", b"1 1:2 3:4.5\n0 2:1 # c\n1 1:1\n".__bytes__, [SOLVE]),
    "Vowpal Wabbit": ("a.vw", b"1 2 a|x f:1.5 g |y h\n-1 |x g\n".__bytes__, [SOLVE]),
    "npz": ("a.npz", npz, [SOLVE]),
    "certificate, header": ("run/certificate.json", lambda: solved()["run/certificate.json"], CERTIFICATE),
    "certificate, arrays": ("run/certificate.npz", lambda: solved()["run/certificate.npz"], CERTIFICATE[:3]),
    "journal": ("run/journal/lines.jsonl", lambda: solved()["run/journal/lines.jsonl"], [["resume", "run", *QUICK]]),
    "journal, arrays": (
        "run/journal/arrays.npy",
        lambda: solved()["run/journal/arrays.npy"],
        [["resume", "run", *QUICK]],
    ),
}


def cut(share: float) -> Callable[[bytes], bytes]:
    return lambda content: content[: int(share * len(content))]


def number(text: bytes, which: int) -> Callable[[bytes], bytes]:
    """The number of this rank among those in the file becomes another word."""

    def changed(content: bytes) -> bytes:
        found = list(re.finditer(rb"\d+\.?\d*", content))
        if not found:
            return content
        place = found[which % len(found)]
        return content[: place.start()] + text + content[place.end() :]

    return changed


def line(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(change(content.splitlines(keepends=True)))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda content: content,
    "empty": lambda content: b"",
    **{f"the first {share:.0%}": cut(share) for share in (0.1, 0.35, 0.6, 0.9, 0.99)},
    "twice": lambda content: content + content,
    "a byte-order mark": lambda content: b"\xef\xbb\xbf" + content,
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "UTF-16": lambda content: content.decode("latin-1").encode("utf-16"),
    "NUL inside": lambda content: content[: len(content) // 2] + b"\0" + content[len(content) // 2 :],
    "not UTF-8": lambda content: content[: len(content) // 2] + b"\xff\xfe" + content[len(content) // 2 :],
    "an escape inside": lambda content: content[: len(content) // 2] + b"\x1b[2J" + content[len(content) // 2 :],
    "backwards": lambda content: content[::-1],
    "zeros": lambda content: bytes(len(content)),
    "random bytes": lambda content: np.random.default_rng(0).bytes(len(content)),
    "JSON of no use": lambda content: b'{"a": [1, 2, {"b": null}]}',
    "no first line": line(lambda lines: lines[1:]),
    "no last line": line(lambda lines: lines[:-1]),
    "lines in another order": line(lambda lines: lines[::-1]),
    "a line of a megabyte": lambda content: b"9" * 2**20 + b"\n" + content,
    "upper case": lambda content: content.upper(),
    "blanks": lambda content: content.replace(b" ", b"").replace(b",", b" "),
    **{
        f"number {which} is {word[:12].decode()}": number(word, which)
        for which, word in enumerate(
            [b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"-1", b"9" * 400, b"0x10", b"1_0", b"1,5", b"--2", b"true"]
        )
    },
}
HARMLESS = ("none", "a byte-order mark", "CRLF")
SAME = ("MPS", "QPS", "LP", "CSV", "svmlight", "Vowpal Wabbit")  # where these change no content


def faults(code: int, out: str, err: str) -> list[str]:
    said = []
    if code not in (0, 1, 2, 3):
        said.append(f"exit code {code}: {err[-300:]}")
    if not (out + err).replace("\n", "").isprintable():
        said.append(f"control characters: {(out + err)[-200:]!r}")
    if "Traceback" in out + err or "bug of ours" in err:
        said.append(err[-300:])
    silent = not out or out.startswith('{"error": ')
    if code == 2 and not (silent and err.startswith("cutbench: ")):
        said.append(f"a refusal with {out[-100:]!r} and {err[-200:]!r}")
    return said


def tried(words: list[str]) -> tuple[list[str], str]:
    """What was wrong with a command, and what it printed on stdout."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with alarm(SECONDS):
                code, out, err = commanded(words)
        except Late:
            return [f"more than {SECONDS:g} s"], ""
        except BaseException as error:
            return [f"{type(error).__name__}: {error}"], ""
    return faults(code, out, err), out


def ends(out: str) -> list[float]:
    """Both ends of the record on stdout, if there are any."""
    record = json.loads(out) if out.startswith("{") else {}
    return [record[key] for key in ("lower", "upper") if record.get(key) is not None]


def damaged(name: str, damage: str, words: list[str]) -> tuple[list[str], str]:
    file, content, _ = EXAMPLES[name]
    with folder():
        if "run" in file:
            for path, kept in solved().items():
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_bytes(kept)
        Path(file).write_bytes(DAMAGES[damage](content()))
        sys.path_importer_cache.clear()
        return tried([word.format(f"./{file}") if word == "{}" else word for word in words])


def files(only: str = "") -> Iterator[Trial]:
    for name, (_, _, commands) in EXAMPLES.items():
        if only not in name:
            continue
        for words in commands:
            said, sound = damaged(name, "none", words)
            yield Trial("entries", f"{words[0]}, {name}", not said, "; ".join(said))
            for damage in list(DAMAGES)[1:]:
                said, out = damaged(name, damage, words)
                if damage in HARMLESS and name in SAME and ends(out) not in ([], ends(sound)):
                    said = [*said, f"{ends(out)} in place of {ends(sound)}"]
                yield Trial("entries", f"{words[0]}, {name}: {damage}", not said, "; ".join(said))


# ── options ───────────────────────────────────────────────────────────────────────────────────────

VALUES = ("nan", "-1", "0", "1e400", "", "\x1b[31m", "9" * 400, "٣", "../../x", "a=b")
BASES: dict[str, list[str]] = {  # by verb: words with which it would do something quick
    "solve": ["toy", "soft-margin"],
    "crosscheck": ["toy", "soft-margin", "--learners", "bcfw", "--passes", "1"],
    "path": ["toy", "soft-margin"],
    "check-oracle": ["toy", "--seconds", "0.1"],
    "difficulty": ["toy"],
    "verify": ["run"],
    "explain": ["run"],
    "predict": ["run", "iris"],
    "report": ["run"],
    "compare": ["run", "run"],
    "resume": ["run"],
    "runs": ["."],
    "prove": ["./a.mps"],
    "infeasible": ["./a.mps"],
    "list": [],
    "doctor": [],
    "new": ["problem", "mine"],
    "bench": ["no-such-benchmark"],
    "figures": ["no-such-figure"],
    "demo": ["--nothing"],
}


def options() -> Iterator[Trial]:
    for verb, command in cli.commands.items():
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag or option.name == "help":
                continue
            name = max(option.opts, key=len)
            for value in VALUES:
                with folder():
                    for path, kept in solved().items():
                        Path(path).parent.mkdir(parents=True, exist_ok=True)
                        Path(path).write_bytes(kept)
                    Path("a.mps").write_text(MPS)
                    limit = [] if name == "--time-limit" else ["--time-limit", "5"]
                    said, _ = tried([verb, *BASES[verb], *limit, name, value])
                yield Trial("entries", f"{verb} {name} {value[:12]!r}", not said, "; ".join(said))


def campaign() -> Iterator[Trial]:
    wb.solve(wb.SoftMargin(lam=0.1), clouds(12), gap=1e-3)
    yield from options()
    yield from files()


if __name__ == "__main__":
    for trial in files(*sys.argv[1:]) if sys.argv[1:] else campaign():
        print(trial.survived, trial.kind, trial.told)
