"""What the cutting-plane master holds, and what of it matters, round by round.

Rows that the master holds when it solves, and those among them that get weight (the active ones),
for digits with soft margins under three groupings of the samples: every sample a row of its own
each round (n-slack), groups of samples, one row for all (one-slack). The optimum is the same.
"""

import sys

import numpy as np

import workbench as wb


def measure(n: int = 300, lam: float = 0.1, gap: float = 1e-9) -> dict[str, np.ndarray]:
    """One row per method and round: method, round, rows held, rows active."""
    problem, form = wb.load_problem("digits")(n=n), wb.SoftMargin(lam=lam)
    columns = {name: [] for name in ("method", "round", "held", "active")}
    for method, groups in {"n-slack": "all", f"{max(1, n // 10)} groups": max(1, n // 10), "one-slack": "one"}.items():
        for each in wb.solve(form, problem, gap=gap, groups=groups).history:
            row = (method, each["round"], each["cuts"], each["active"])
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return {name: np.array(values) for name, values in columns.items()} | {"about": np.array(["Digits, soft margin"])}


def of_runs(records):
    """The same arrays from the histories of `solve` by cuts, four runs at most; None without one."""
    runs = []
    for number, record in enumerate(records, 1):
        rounds = [each for each in record.get("history", []) if each.get("cuts") and "active" in each]
        name = f"{number}: {record.get('problem')}"
        runs += [[(name, each["round"], each["cuts"], each["active"]) for each in rounds]] if rounds else []
    if not runs:
        return None
    columns = zip(*(row for run in runs[:4] for row in run), strict=True)
    found = dict(zip(("method", "round", "held", "active"), map(np.array, columns), strict=True))
    return found | {"about": np.array(["Runs of one's own"])}


@wb.pictures.styled
def draw(arrays):
    from matplotlib.ticker import MaxNLocator

    methods = list(dict.fromkeys(arrays["method"].tolist()))
    parts = {
        name: {key: arrays[key][arrays["method"] == name] for key in ("round", "held", "active")} for name in methods
    }
    first, last = parts[methods[0]], parts[methods[-1]]
    figure, axes = wb.pictures.canvas(
        1,
        len(methods),
        (7.2, 2.5),
        headline(methods, first, last),
        f"{arrays['about'][0]}. Light: rows that the master holds; a row leaves after two idle rounds. "
        "Dark: rows with weight, all that the optimum and its certificate need. Titles count both at the end.",
        sharey=True,
    )
    dark, pale = wb.pictures.STYLES[0].color, "#c9d3e4"
    for panel, (name, part) in zip(axes[0], parts.items(), strict=True):
        edges = np.append(part["round"], part["round"][-1] + 1) - 0.5
        for key, color in (("held", pale), ("active", dark)):
            panel.stairs(part[key], edges, fill=True, color=color, linewidth=0)
            panel.stairs(part[key], edges, color=dark, linewidth=0.8)
        panel.set_title(f"{name}: {part['active'][-1]} of {part['held'][-1]} rows active")
        panel.set(xlabel="round", xlim=(0.5, part["round"][-1] + 0.5))
        panel.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=min(2, len(part["round"]))))
        panel.grid(True, axis="y")
    axes[0, 0].set_ylabel("rows in the master")
    axes[0, 0].set_ylim(0)
    middle = len(first["round"]) // 2
    told = [("active", first["active"][middle] / 2, "white")]
    if first["held"][middle] > 1.1 * first["active"][middle]:  # else there is no room for a word between
        told.append(("held", (first["held"][middle] + first["active"][middle]) / 2, dark))
    for text, height, color in told:
        axes[0, 0].text(first["round"][middle], height, text, color=color, weight="bold", ha="center", va="center")
    return figure


def headline(methods, first, last):
    count = first["round"][-1]
    ends = f"{count} round{'s end' if count > 1 else ' ends'} with {first['held'][-1]} rows ({methods[0]})"
    if len(methods) == 1:
        return ends
    also = f"{last['round'][-1]} with {last['held'][-1]} ({methods[-1]})"
    return f"Few rounds with many rows or many rounds with few: {ends}, {also}"


NAMES = {"cuts-per-round": sys.modules[__name__]}
