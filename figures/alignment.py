"""Word alignment before and after learning: what links are read off sentence pairs that were held out.

One column a sentence pair, English words down, French words across. Before: every weight is 1. After: the
soft margin's optimum on two of three sentence pairs; those shown are among the third. Where the Hansards
are not at hand, made-up sentences stand in, and the title says so.
"""

import sys

import numpy as np

import workbench as wb

SURE, POSSIBLE, WRONG = "#8fa0c4", "#dfe4ef", "#c8591a"
SHORT, LONG = 4, 9
REAL, MADE = "Hansards", "made-up sentences"


def measure(
    n: int | None = None, lam: float = 0.001, price: float = 10.0, gap: float = 1e-4, shown: int = 3
) -> dict[str, np.ndarray]:
    """One row per cell (English j, French k) of the pairs shown, and the words, one row each.

    pair, j, k : the cell;  gold : 2 sure, 1 possible, 0 neither;  before, after : whether linked
    side_pair, side, word : the pair of a word, its language (0 English, 1 French), the word
    mistakes (2,) : wrong and missing links of all held-out pairs, before and after;  source : what the pairs are
    """
    try:
        pairs, problem, source = wb.datasets.hansards(), wb.load_problem("hansards")(n=n, false_negative=price), REAL
    except wb.datasets.MissingData:
        n, source = n or 60, MADE
        pairs = wb.datasets.made_bitext(n)
        problem = wb.load_problem("synthetic-bitext")(n=n, false_negative=price)
    everyone = np.arange(problem.n_samples)
    held = everyone % 3 == 2
    problem.weights = np.where(held, 0.0, 1.0)
    weights = np.ones(problem.n_features), wb.solve(wb.SoftMargin(lam=lam), problem, gap=gap).theta["w"]
    gold = [marked(pairs, i, problem.heights[i], problem.widths[i]) for i in everyone]
    found = [
        [np.arange(problem.widths[i]) == mates[: problem.heights[i], None] for i, mates in enumerate(outputs)]
        for outputs in (problem.argmax(w, everyone, augment=False) for w in weights)
    ]
    mistakes = np.array([[mistaken(links, g) for links, g in zip(each, gold, strict=True)] for each in found])
    chosen = instructive(pairs, np.flatnonzero(held), mistakes)[:shown]
    cells = [(i, j, k) for i in chosen for j, k in np.ndindex(gold[i].shape)]
    words = [(i, side, word) for i in chosen for side, of in enumerate(pairs[:2]) for word in of[i]]
    arrays: dict[str, np.ndarray] = dict(zip(("pair", "j", "k"), np.array(cells).T, strict=True))
    for name, tables in (("gold", gold), ("before", found[0]), ("after", found[1])):
        arrays[name] = np.concatenate([tables[i].ravel() for i in chosen]).astype(int)
    arrays |= {"side_pair": np.array([i for i, _, _ in words]), "side": np.array([side for _, side, _ in words])}
    arrays |= {"word": np.array([word for _, _, word in words]), "mistakes": mistakes[:, held].sum(axis=1)}
    return arrays | {"source": np.array([source])}


def marked(pairs, i, rows, columns):
    """2 at sure links, 1 at possible ones, 0 elsewhere, (J, K)."""
    gold = np.zeros((rows, columns), int)
    for mark, links in ((1, pairs.possible[i]), (2, pairs.sure[i])):
        gold[links[:, 0], links[:, 1]] = mark
    return gold


def mistaken(links, gold):
    """Links that are not even possible, and sure ones that are missing."""
    return int((links & (gold == 0)).sum() + (~links & (gold == 2)).sum())


def instructive(pairs, candidates, mistakes):
    """Pairs of 4 to 9 words first, those that learning mends most first; of pairs with the same words the first."""
    lengths = np.array([[len(pairs[side][i]) for side in (0, 1)] for i in candidates])
    readable = ((lengths >= SHORT) & (lengths <= LONG)).all(axis=1)
    gained = (mistakes[0] - mistakes[1])[candidates]
    order = candidates[np.lexsort((-gained, ~readable))]
    fresh: dict = {}
    for i in order.tolist():
        fresh.setdefault(tuple(word.lower() for word in pairs.english[i]), i)
    return list(fresh.values())


@wb.pictures.styled
def draw(arrays):
    chosen = list(dict.fromkeys(arrays["pair"].tolist()))
    texts = {i: [sentence(arrays, i, side) for side in (0, 1)] for i in chosen}
    tallest, across = (max(len(text[side]) for text in texts.values()) for side in (0, 1))
    before, after = arrays["mistakes"]
    made = "" if str(arrays["source"][0]) == REAL else "MADE-UP SENTENCES, the Hansards are not at hand. "
    figure, axes = wb.pictures.canvas(
        2,
        len(chosen),
        (7.2, 0.34 * max(tallest, across) + 1.1),
        f"{made}Learning cuts the mistakes in sentence pairs that were held out from {before} to {after}",
        "Dark cells: sure links of the annotators; pale cells: possible ones. Dots: links read off, at most one a row "
        "and a column; crosses: read off, but not even possible; rings: sure, but missed. Mistakes are crosses and "
        "rings. Shown: short pairs held out for which learning mends most.",
        gridspec_kw={"width_ratios": [len(texts[i][1]) for i in chosen]},
    )
    for column, i in zip(axes.T, chosen, strict=True):
        own = {key: arrays[key][arrays["pair"] == i] for key in ("j", "k", "gold", "before", "after")}
        for axis, name in zip(column, ("before", "after"), strict=True):
            draw_grid(axis, own, own[name], texts[i])
        column[0].set_xticklabels([])
        column[1].set_xlabel("French")
    for axis, name in zip(axes[:, 0], ("every weight 1", "learned"), strict=True):
        axis.set_ylabel(f"{name}\nEnglish")
    figure.align_xlabels(axes[1])
    return figure


def sentence(arrays, i, side):
    """The words of one side of pair i."""
    return arrays["word"][(arrays["side_pair"] == i) & (arrays["side"] == side)]


def draw_grid(axis, own, linked, words):
    """One table: cells by what the annotators say, marks by what was read."""
    from matplotlib.patches import Rectangle

    for j, k, gold in zip(own["j"], own["k"], own["gold"], strict=True):
        face = ("white", POSSIBLE, SURE)[gold]
        axis.add_patch(Rectangle((k - 0.5, j - 0.5), 1, 1, facecolor=face, edgecolor="#d5d5d5", linewidth=0.5))
    right, wrong = (linked == 1) & (own["gold"] > 0), (linked == 1) & (own["gold"] == 0)
    missed = (linked == 0) & (own["gold"] == 2)
    axis.scatter(own["k"][right], own["j"][right], s=22, color=wb.pictures.INK, zorder=3)
    axis.scatter(own["k"][wrong], own["j"][wrong], s=26, color=WRONG, marker="x", linewidths=1.6, zorder=3)
    axis.scatter(
        own["k"][missed], own["j"][missed], s=30, facecolors="none", edgecolors=WRONG, linewidths=1.2, zorder=3
    )
    count = int(wrong.sum() + missed.sum())
    axis.set_title(f"{count or 'no'} mistake{'s' * (count != 1)}")
    english, french = words
    axis.set_xlim(-0.5, max(len(french), 1) - 0.5)
    axis.set_ylim(max(len(english), 1) - 0.5, -0.5)
    axis.set_xticks(np.arange(len(french)), french, rotation=55, ha="right", rotation_mode="anchor")
    axis.set_yticks(np.arange(len(english)), english)
    axis.set_aspect("equal")
    axis.tick_params(length=0, pad=2)
    for spine in axis.spines.values():
        spine.set_visible(False)


NAMES = {"alignment": sys.modules[__name__]}
