"""Every parser under a fuzzer that follows the code it reaches: atheris, for a budget of seconds each.

    python tests/nightly/guided.py [SECONDS] [PARSER]      60 seconds of the clock for each parser

The parsers, their seeds and what counts as a crash are those of parsers.py; here libFuzzer chooses the bytes, by the
branches of the package's own modules that they reach. What reaches new code is kept in tests/nightly/corpus/PARSER
if KEEP=1 is set, at most KEPT files a run, the smallest, and is where the next run begins. A crash is always kept,
printed, and makes the exit code 1. Each parser has a process of its own, for libFuzzer ends the process it works in.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

MOST, KEPT = 2**14, 30  # bytes of a file, files
GUIDES = [f"workbench.{wing}" for wing in ("data", "programs", "backends", "system", "proofs")]  # whose branches guide


def fuzz(name: str, seconds: int, seeds: Path, work: Path) -> None:
    """libFuzzer on one parser, in this process, which ends here."""
    import atheris

    with atheris.instrument_imports(include=GUIDES, enable_loader_override=False):
        import parsers

    path = work / parsers.PARSERS[name][0]

    def once(content: bytes) -> None:
        path.write_bytes(content)
        if said := parsers.tried(name, path):
            raise AssertionError(said)

    words = ["guided", f"-max_total_time={seconds}", f"-max_len={MOST}", "-rss_limit_mb=4096", "-print_final_stats=1"]
    atheris.Setup([*words, "-timeout=30", f"-artifact_prefix={work}/crash-", str(seeds)], once)
    atheris.Fuzz()


def seeded(name: str, folder: Path) -> None:
    """The corpus of a parser as files."""
    import parsers

    folder.mkdir()
    (folder.parent / "made").mkdir()
    for k, content in enumerate(parsers.examples(name, folder.parent / "made")):
        (folder / f"seed{k}").write_bytes(content)


def kept(name: str, file: Path, lines: list[str]) -> str:
    """A crash, once its file is in the corpus."""
    import parsers

    place = parsers.CORPUS / name / parsers.hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(file.read_bytes())
    told = next((line for line in lines if "AssertionError" in line), " ".join(lines[-1:]))
    return f"{name}: {told} ({place.name})"


def campaign(name: str, seconds: int) -> tuple[int, list[str]]:
    """The files that were tried, and the crashes, which are kept."""
    import parsers

    with tempfile.TemporaryDirectory() as place:
        seeds, work = Path(place) / "seeds", Path(place) / "work"
        work.mkdir()
        seeded(name, seeds)
        words = [sys.executable, __file__, "--one", name, str(seconds), str(seeds), str(work)]
        lines, crashes = list[str](), list[str]()
        try:
            done = subprocess.run(
                words,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=2 * seconds + 120,
            )
            lines = done.stderr.splitlines()
            crashes = [kept(name, file, lines) for file in sorted(work.glob("crash-*"))]
            if done.returncode and not crashes:
                crashes.append(f"{name}: the fuzzer ended with {done.returncode}: {' '.join(lines[-3:])}")
        except subprocess.TimeoutExpired:  # native code that is deaf to alarms
            crashes.append(kept(name, work / parsers.PARSERS[name][0], ["it never came back"]))
        count = sum(int(line.split()[-1]) for line in lines if line.startswith("stat::number_of_executed_units"))
        if os.environ.get("KEEP") == "1":
            found = [file for file in seeds.iterdir() if not file.name.startswith("seed")]
            for file in sorted(found, key=lambda file: (file.stat().st_size, file.name))[:KEPT]:
                (parsers.CORPUS / name).mkdir(parents=True, exist_ok=True)
                (parsers.CORPUS / name / file.name[:16]).write_bytes(file.read_bytes())
    return count, crashes


def main(seconds: str = "60", only: str = "") -> int:
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("atheris is missing; install it, or run tests/nightly/parsers.py, which needs nothing.", file=sys.stderr)
        return 1
    import parsers

    failed = False
    for name in parsers.PARSERS:
        if only in name:
            count, crashes = campaign(name, int(seconds))
            print(f"{name}: {count} files, {len(crashes)} crashes", *crashes, sep="\n", flush=True)
            failed |= bool(crashes)
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]))
    sys.exit(main(*sys.argv[1:]))
