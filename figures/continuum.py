"""From modelling to discriminating: who errs least with how many samples, on the same features and data.

A panel a problem: letters of words by chains, the same letters one by one, digits, newswire stories. Lines: joint
likelihood by counts, conditional likelihood, margin, perceptron; every one of the middle two a certified optimum.
"""

import sys

import numpy as np

import workbench as wb

METHODS = {"generative": "joint likelihood", "crf": "conditional", "margin": "margin", "perceptron": "mistakes"}
TITLES = {"words": "words (chains)", "letters": "their letters alone", "digits": "digits", "stories": "stories (R8)"}


def measure(
    n: int = 400, folds: int = 3, gap: float = 1e-3, only: str = "words,letters,digits,stories"
) -> dict[str, np.ndarray]:
    """One row per problem and number of samples, n at most (`cutbench bench continuum` has them all).

    problem, size;  generated : 1 for made-up data
    generative, crf, margin, perceptron : mean errors;  …_interval : half of Student's interval
    """
    *_, record = wb.registry("benchmark").get("continuum")(folds=folds, most=n, gap=gap, only=only)
    table = record["table"]
    return {key: np.array([line[key] for line in table]) for key in table[0] if key not in ("winner", "beyond_doubt")}


@wb.pictures.styled
def draw(arrays):
    names = list(dict.fromkeys(arrays["problem"].tolist()))
    few, many = (sum(leads(arrays, name, at) for name in names) for at in (0, -1))
    columns = min(len(names), 2)
    figure, axes = wb.pictures.canvas(
        -(-len(names) // columns),
        columns,
        (7.2, 2.4 * -(-len(names) // columns) + 0.7),
        f"Joint likelihood leads on {few} of {len(names)} data sets with few samples, on {many} with many",
        "Share of wrong labels on data held out; bars: Student's interval at 95 % over folds. Same features, same "
        "data; λ, prior and passes by inner cross-validation.",
    )
    for axis, name in zip(axes.ravel(), names, strict=False):
        mine = arrays["problem"] == name
        for (method, words), style in zip(METHODS.items(), wb.pictures.STYLES, strict=False):
            sizes, errors, spread = (arrays[key][mine] for key in ("size", method, f"{method}_interval"))
            axis.errorbar(sizes, errors, yerr=spread, label=words, elinewidth=0.8, capsize=2, **style.line())
        made = " — MADE-UP DATA" if (arrays["generated"][mine] > 0).any() else ""
        axis.set(xscale="log", title=TITLES[name] + made)
        axis.set_ylim(0, 1.15 * max(arrays[method][mine].max() for method in METHODS))
        axis.minorticks_off()
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.set_ylabel("wrong labels")
        axis.set_xlabel("words learned from" if name == "words" else "samples learned from")
    axes[0, 0].legend()
    for axis in axes.ravel()[len(names) :]:
        axis.set_visible(False)
    return figure


def leads(arrays, name, at):
    """Whether joint likelihood errs least on a problem, at its smallest or largest size."""
    errors = {method: arrays[method][arrays["problem"] == name][at] for method in METHODS}
    return min(errors, key=lambda method: errors[method]) == "generative"


NAMES = {"continuum": sys.modules[__name__]}
