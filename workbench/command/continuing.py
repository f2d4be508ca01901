"""Runs of verbs that `cutbench resume` continues: their first line in the journal, and the way back to the verb.

A verb with a function `continued(words, journal, as_json) -> exit code` begins its journal with `begun`. The words are
its arguments, as JSON has them. `resume` calls that function with the same words, in the folder where the run began,
and rows that the journal holds are not computed again. `solve` keeps rounds and checkpoints (solving/recording.py).
"""

from __future__ import annotations

from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.system.alarm import time_limit as ended_after

if TYPE_CHECKING:
    from workbench.system.journal import Journal


FIRST_LINES: dict[str, dict[str, type]] = {  # by verb: what the first line holds, and of which type
    "solve": {"folder": str, "source": dict, "options": dict, "formulation": dict, "data_sha256": str},
    "crosscheck": {"folder": str, "words": dict},
    "bench": {"folder": str, "words": dict},
}


def begun(folder: Path, verb: str, words: dict[str, Any]) -> Journal:
    """The new journal of a verb's run."""
    from workbench.system.journal import Journal

    return Journal.create(folder.resolve(), {"command": verb, "folder": str(Path.cwd()), "words": words})


def going_on(folder: Path) -> Path | Journal:
    """What `solve` takes as its journal: the one in the folder, or the folder if no run has begun there."""
    from workbench.system.journal import LINES, Journal

    try:
        return Journal.resume(folder) if (folder / "journal" / LINES).is_file() else folder
    except BadInput as error:
        if "before it began" not in str(error):
            raise
        return folder


def described(journal: Journal) -> str:
    """The verb whose run the first line of the journal describes; `BadInput` if the line describes none."""
    settings = journal.settings
    verb = settings.get("command")
    asked = FIRST_LINES.get(verb, {}) if isinstance(verb, str) else {}
    kept = all(isinstance(settings.get(key), kind) for key, kind in asked.items())
    if not isinstance(verb, str) or not asked or not kept:
        raise BadInput(f"The first line of the journal in {journal.run} describes no run that can be continued.")
    if verb == "solve" and not {"name", "settings"} <= settings["formulation"].keys():
        raise BadInput(f"The first line of the journal in {journal.run} names no formulation; solve again.")
    if verb == "solve":
        from workbench.solving.request import Request

        if other := sorted(settings["options"].keys() ^ Request().options.keys()):
            raise BadInput(
                f"The run in {journal.run} was begun by another version, whose options differ in {', '.join(other)}; "
                f"solve again into another folder."
            )
    return verb


def go_on(journal: Journal, verb: str, time_limit: float | None, as_json: bool) -> int:
    """Continue the run of a verb other than `solve`; its exit code."""
    place = Path(journal.settings["folder"])
    if not place.is_dir():
        raise BadInput(f"The run in {journal.run} was begun in {place}, which is gone; begin again.")
    with chdir(place), ended_after(time_limit):
        return import_module(f"workbench.command.verbs.{verb}").continued(journal.settings["words"], journal, as_json)
