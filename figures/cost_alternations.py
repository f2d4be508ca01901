"""How costs that follow difficulty move from round to round: the alternations of the source's section 2.

Objective (1) with costs v held fixed is solved and certified; then v steps to where the difficulty D of the solution
asks for, by one of three rules: cosine (least cosine of v and D), dot (least ⟨v, D⟩) and inverted (1 − v ∝ D). D is
κ-difficulty (above) or non-generalisability on a held-out fifth (below). No joint objective stands behind a rule, so an
alternation may settle or run in a circle.
"""

import sys

import numpy as np

import workbench as wb

PANELS = {"cosine": "a", "dot": "b", "inverted": "c"}
MEASURES = {"kappa": "κ", "non-generalisability": "non-generalisability"}


def measure(copies: int = 25, rounds: int = 12, accuracy: float = 1e-4) -> dict[str, np.ndarray]:
    """v_a, v_b, v_c, … (rounds, classes), one for each pair of a measure and a rule, unordered pairs of labels; −1
    after an end.

    difficulty, rule, status : what moves v, and how that ends;  error : the share that the last program gets wrong
    """
    problem = wb.load_problem("synthetic-costs")(suite="plus-rare", copies=copies)
    told, rows = {}, []
    for measured in MEASURES:
        for rule in PANELS:
            form = wb.KappaDifficulty(difficulty=measured, step_rule=rule, K=10.0)
            found = wb.solve(form, problem, max_rounds=rounds, gap=accuracy)
            history = np.array([entry["v"] for entry in found.history])
            table = np.full((rounds, history.shape[1]), -1.0)
            table[: len(history)] = history
            told[f"v_{'abcdef'[len(rows)]}"] = table
            rows.append((measured, rule, found.status, found.train_error))
    columns = zip(*rows, strict=True)
    return dict(zip(("difficulty", "rule", "status", "error"), map(np.array, columns), strict=True)) | told


@wb.pictures.styled
def draw(arrays):
    ends = {"stationary": "at rest", "cycle": "in a circle", "limit": "not at all by then", "stalled": "stalled"}
    counts = [(int((arrays["status"] == status).sum()), words) for status, words in ends.items()]
    figure, axes = wb.pictures.canvas(
        len(MEASURES),
        len(PANELS),
        (7.2, 4.6),
        f"Costs that follow difficulty end {', '.join(f'{words} ({count})' for count, words in counts if count)}",
        "Synthetic labels, one of them rare; a line is an unordered pair, the four that get most in colour; v sums to "
        "1. Each round solves objective (1) at these costs, certified, and moves v by the rule.",
    )
    panels = zip(axes.ravel(), arrays["difficulty"], arrays["rule"], arrays["error"], strict=True)
    for place, (axis, measured, rule, error) in enumerate(panels):
        v = arrays[f"v_{'abcdef'[place]}"]
        lines(axis, v[(v >= 0).all(axis=1)])
        axis.set_title(f"{rule}: error {100 * error:.1f} %")
        if rule == arrays["rule"][0]:
            axis.set_ylabel(f"v by {MEASURES[measured]}")
    for axis in axes[-1]:
        axis.set_xlabel("round")
    return figure


def lines(axis, held):
    """v (rounds, classes), the four classes that get most in colour."""
    for place, j in enumerate(np.argsort(-held.max(axis=0), kind="stable")[::-1]):
        strong = len(held.T) - 1 - place
        style = wb.pictures.STYLES[strong % 4]
        bold = {
            "color": style.color,
            "linestyle": style.dash,
            "linewidth": 1.5,
            "marker": style.marker,
            "markersize": 3,
        }
        look = bold if strong < 4 else {"color": wb.pictures.SOFT, "linewidth": 0.6, "alpha": 0.6}
        axis.plot(np.arange(1, len(held) + 1), held[:, j], **look)
    low = held.min() if held.min() > held.max() / 2 else 0.0
    axis.set_ylim(low - 0.03 * held.max(), 1.06 * held.max())
    axis.set_xticks(np.arange(1, len(held) + 1))
    axis.grid(True, axis="y")


NAMES = {"cost-alternations": sys.modules[__name__]}
