"""How the proven gap of each run closed, and how far each judged learner was from the optimum.

Left: the relative gap against seconds, a line a `solve`. Right: (F(θ) − L)/F* against passes, a line a learner, with
the proven bound L of its reference. `cutbench figures judged --run RUN …` draws runs of one's own, else those on iris.
"""

import sys

import numpy as np

import workbench as wb

MOST = len(wb.pictures.STYLES)  # lines of a panel


def measure(n: int = 150, lam: float = 0.1, gap: float = 1e-8, passes: int = 200) -> dict[str, np.ndarray]:
    """run, seconds, gap: one row a round;  learner, passes, excess: one row a checkpoint."""
    problem, form = wb.load_problem("iris")(n=max(n, 60)), wb.SoftMargin(lam=lam)
    records = []
    for groups in ("all", "one"):
        best = wb.solve(form, problem, gap=gap, groups=groups)
        records.append({"problem": "iris", "formulation": f"{groups} rows", "history": best.history})
    for solver in (wb.BCFW(), wb.Subgradient()):
        trace = wb.run(solver, form, problem, passes=passes, rng=0)
        history = [[int(at), float(upper - best.lower)] for at, upper in zip(trace.passes, trace.upper, strict=True)]
        judged = {"reference": {"problem": "iris", "formulation": "soft-margin", "upper": best.upper}}
        records.append(judged | {"learners": [{"name": solver.name, "history": history}]})
    found = of_runs(records)
    assert found is not None  # both kinds of history are there
    return found


def of_runs(records):
    """The same arrays from records of `solve` and `crosscheck`; None without a history."""
    rounds, checkpoints = [], []
    for record in records:
        name = f"{record.get('problem')} {record.get('formulation')}"
        history = [each for each in record.get("history", []) if isinstance(each.get("gap"), float)]
        rounds += [(name, each["seconds"], each["gap"]) for each in history]
        for row in record.get("learners", []):
            size = abs(record["reference"].get("upper") or 0.0) or 1.0
            checkpoints += [(row["name"], float(at), miss / size) for at, miss in row["history"] if miss is not None]
    if not rounds and not checkpoints:
        return None
    parts = (("run", "seconds", "gap"), rounds), (("learner", "passes", "excess"), checkpoints)
    return {
        key: np.array(column)
        for names, rows in parts
        if rows
        for key, column in zip(names, zip(*rows, strict=True), strict=True)
    }


@wb.pictures.styled
def draw(arrays):
    panels = [each for each in (("run", "seconds", "gap"), ("learner", "passes", "excess")) if each[0] in arrays]
    told = "; ".join(ended(arrays, *panel) for panel in panels)
    figure, axes = wb.pictures.canvas(
        1,
        len(panels),
        (7.2 if len(panels) == 2 else 4.6, 3.0),
        f"Where each history ends: {told}",
        "Relative gap (F(θ) − l)/F* of runs, between their own proven bounds, against seconds; excess (F(θ) − L)/F* of "
        "learners against passes, at most so far from the optimum, with the further passes that the judge asked for. "
        "Values of 0 are not shown.",
    )
    labels = {"gap": "proven relative gap", "excess": "excess, at most"}
    for panel, (name, x, y) in zip(axes[0], panels, strict=True):
        kinds = list(dict.fromkeys(arrays[name].tolist()))[:MOST]
        for kind, style in zip(kinds, wb.pictures.STYLES, strict=False):
            own = (arrays[name] == kind) & (arrays[y] > 0) & (arrays[x] > 0)
            marked = np.linspace(0, max(own.sum() - 1, 0), 9).astype(int).tolist()
            panel.plot(arrays[x][own], arrays[y][own], label=kind, **style.line(markevery=marked))
        panel.set(xscale="log", yscale="log", xlabel=x, ylabel=labels[y])
        wb.pictures.decades(panel.xaxis)
        wb.pictures.decades(panel.yaxis)
        panel.legend()
        panel.grid(True)
    return figure


def ended(arrays, name, x, y):
    """The last value of each line in words."""
    kinds = list(dict.fromkeys(arrays[name].tolist()))[:MOST]
    last = [float(arrays[y][arrays[name] == kind][-1]) for kind in kinds]
    told = ", ".join(f"{kind} {wb.pictures.power(v) if v > 0 else 0}" for kind, v in zip(kinds, last, strict=True))
    return f"{ {'gap': 'gap of', 'excess': 'excess of'}[y] } {told}"


NAMES = {"judged": sys.modules[__name__]}
