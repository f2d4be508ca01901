"""The part of a page on what holds an optimum: samples by falling pull, pictures of them, their cuts and weights."""

from __future__ import annotations

from typing import Any

from workbench.command.records import Run
from workbench.command.reporting.page import Part, Picture
from workbench.errors import MissingCapability, shortened

MOST, CUTS, SHOWN = 6, 5, 200  # samples, cuts of each, and characters of an output
DRAWN = 2  # outputs beside the truth that are drawn
RULE = 0.25  # the shade of a line between two pictures
GAP = 3  # pixels between two pictures


def holders(run: Run, proof: dict[str, Any]) -> list[Part | None]:
    """The samples with the greatest pull, where the proof has dual weights."""
    from workbench.command.drawn import output_picture, pictures, words
    from workbench.contracts import Sourced
    from workbench.proofs.certificate import load
    from workbench.proofs.support import explain

    if run.certificate is None or run.of_program or not proof.get("proven"):
        return []
    held, _ = load(run.certificate)
    try:
        found = explain(held, MOST)
    except MissingCapability:  # a search tree, or slopes of pairs: a proof without weights of cuts
        return []
    text = f"{found.support} of {found.n_samples} samples hold the optimum, with {found.cuts} cuts. "
    parts: list[Part | None] = [
        Part("text", text=text + "Those that pull the most at the weights (samples count from 0):")
    ]
    cards: list[list[Part]] = []
    for each in found.samples:
        where = held.problem.where(each.sample) if isinstance(held.problem, Sourced) else ""
        place = f" ({shortened(where, SHOWN)})" if where else ""
        title = f"Sample {each.sample}{place}: {shortened(each.truth, SHOWN)}"
        cuts = [
            f"against {shortened(cut.output, SHOWN)}: {100 * cut.share:.3g} % of its weight, loss {cut.loss:g}"
            for cut in each.cuts[:CUTS]
        ]
        if len(each.cuts) > CUTS:
            cuts.append(f"and {len(each.cuts) - CUTS} more, of less weight")
        if each.left is not None:
            least, greatest = each.left.change
            cuts.append(f"without it, the optimum changes by {least:+.3e} to {greatest:+.3e}")
        drawn = [picture(pictures(held.problem, each.sample), title)]
        outputs = [held.problem.truth[each.sample], *(cut.witness for cut in each.cuts[:DRAWN])]
        tables = [table for output in outputs for table in output_picture(held.problem, each.sample, output)]
        drawn.append(picture(tables, f"{title}; the truth, then the outputs below, from the left", ruled=True))
        shown = [part for part in drawn if part is not None]
        if text := words(held.problem, each.sample):
            shown.insert(0, Part("text", text=shortened(text, SHOWN)))
        cards.append([Part("heading", text=title), *shown, Part("list", items_=cuts)])
    return [*parts, Part("cards", cards=cards)]


def picture(found: list[Any], title: str, ruled: bool = False) -> Part | None:
    """The pictures of a sample side by side, with lines between them if ruled; the squares that are not white."""
    if not found:
        return None
    rows = max(len(each) for each in found)  # tracks differ in number
    columns = found[0].shape[1]
    squares = [
        (number * (columns + GAP) + x, y, round(float(shade), 2))
        for number, each in enumerate(found)
        for y, row in enumerate(each)
        for x, shade in enumerate(row)
        if shade > 0.02
    ]
    ends = [number * (columns + GAP) - 2 for number in range(1, len(found))] if ruled else []
    squares += [(x, y, RULE) for x in ends for y in range(rows)]
    return Part("picture", title=title, picture=Picture(len(found) * (columns + GAP) - GAP, rows, squares))
