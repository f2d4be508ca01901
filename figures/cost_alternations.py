"""How costs that follow difficulty move from round to round: the alternations of the source's section 2.

Objective (1) with costs v held fixed is solved and certified; then v steps to where the difficulty D of the solution
asks for, by one of three rules: cosine (least cosine of v and D), dot (least ⟨v, D⟩) and inverted (1 − v ∝ D). No joint
objective stands behind a rule, so an alternation may settle or run in a circle.
"""

import sys

import numpy as np

import workbench as wb

PANELS = {"cosine": "a", "dot": "b", "inverted": "c"}


def measure(copies: int = 25, rounds: int = 12, accuracy: float = 1e-4) -> dict[str, np.ndarray]:
    """v_a, v_b, v_c (rounds, classes) for the three rules, unordered pairs of labels; −1 after an end.

    rule, status : what moves v, and how that ends;  error : the share of samples that the last program gets wrong
    """
    problem = wb.load_problem("synthetic-costs")(suite="plus-rare", copies=copies)
    histories, ends, errors = [], [], []
    for rule in PANELS:
        form = wb.KappaDifficulty(step_rule=rule, K=10.0)
        found = wb.solve(form, problem, max_rounds=rounds, gap=accuracy)
        histories.append(np.array([entry["v"] for entry in found.history]))
        ends.append(found.status)
        errors.append(found.train_error)
    told = {"rule": np.array(list(PANELS)), "status": np.array(ends), "error": np.array(errors)}
    for name, history in zip(PANELS.values(), histories, strict=True):
        table = np.full((rounds, history.shape[1]), -1.0)
        table[: len(history)] = history
        told[f"v_{name}"] = table
    return told


@wb.pictures.styled
def draw(arrays):
    told = {"stationary": "settles", "cycle": "runs in a circle", "limit": "has not ended", "stalled": "stalls"}
    words = [f"{panel} {told[status]}" for panel, status in zip(arrays["rule"], arrays["status"], strict=True)]
    figure, axes = wb.pictures.canvas(
        1,
        len(words),
        (7.2, 3.0),
        f"Costs that follow difficulty: {'; '.join(words)}",
        "κ-difficulty, synthetic labels, one of them rare; a line is an unordered pair, the four that get most in "
        "colour; v sums to 1. Each round solves objective (1) at these costs, certified, and moves v by the rule.",
    )
    for axis, name, panel, error in zip(axes[0], PANELS.values(), arrays["rule"], arrays["error"], strict=True):
        v = arrays[f"v_{name}"]
        held = v[(v >= 0).all(axis=1)]
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
        axis.set_title(f"{panel}: error {100 * error:.1f} %")
        axis.set(xlabel="round", ylim=(-0.03 * held.max(), 1.06 * held.max()))
        axis.set_xticks(np.arange(1, len(held) + 1))
        axis.grid(True, axis="y")
    axes[0][0].set_ylabel("cost v of a pair")
    return figure


NAMES = {"cost-alternations": sys.modules[__name__]}
