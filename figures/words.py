"""Handwritten words read by a chain, and what it has learned about neighbouring letters.

    words         each word's letters; what the weights read, argmax_y ⟨w, φ(x, y)⟩, and the margin
                  violator, argmax_y ℓ(y) + ⟨w, φ(x, y)⟩, early (one pass of Frank–Wolfe) and at the optimum
    transitions   A (26, 26) at the optimum: how much the pair "a then b" adds to a labelling's score

Where the OCR data are not at hand, both show generated chains of 26 labels, and their titles say so.
"""

from functools import cache
from string import ascii_lowercase
from types import SimpleNamespace

import numpy as np

import workbench as wb

BOX, HOT, COLD = "#f0b48f", wb.pictures.STYLES[0].color, "#c8591a"
LETTERS = np.array(list(ascii_lowercase))
ROWS, LINES = ("early: read", "violator", "optimum: read", "violator"), (-0.6, -1.6, -2.85, -3.85)
WRITTEN, MADE = "handwritten words", "generated chains"


@cache
def trained(n, lam, gap):
    """(what the words are, problem, early weights, optimal weights)."""
    try:
        source, problem = f"{n} {WRITTEN}", wb.load_problem("ocr")(n=n)
    except wb.datasets.MissingData:
        source, problem = f"{n} {MADE}", wb.load_problem("synthetic-chain")(n=n, labels=26, length=9)
    form = wb.SoftMargin(lam=lam)
    early = wb.run(wb.BCFW(), form, problem, passes=1).thetas[-1]
    return source, problem, early, wb.solve(form, problem, gap=gap).theta["w"]


def warning(source):
    """What a title begins with if no hand has written what it shows."""
    return "" if source.endswith(WRITTEN) else "GENERATED DATA, the handwriting is not at hand. "


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def measure_words(n: int = 100, lam: float = 0.01, gap: float = 1e-4, shown: int = 4) -> dict[str, np.ndarray]:
    """One row per letter of the words shown, and hinges (words, 2): early and at the optimum.

    word (N,) number of its word;  truth, early, early_violator, final, final_violator (N,) letters
    pixels (N, p) the letter's picture, or its features;  source : what the words are
    """
    source, problem, *weights = trained(n, lam, gap)
    everyone = np.arange(problem.n_samples)
    rivals = [problem.argmax(w, everyone) for w in weights]
    read = [problem.argmax(w, everyone, augment=False) for w in weights]
    moved = [problem.features(everyone, rival) - problem.truth_features for rival in rivals]
    hinge = [problem.loss(everyone, rival) + rows @ w for rival, rows, w in zip(rivals, moved, weights, strict=True)]
    chosen = np.sort(instructive(problem, hinge[0])[:shown])
    letters, offsets = problem.letters.toarray(), problem.offsets
    rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in chosen])
    own = (chosen[:, None], slice(None))
    kept = problem.within(problem.lengths[chosen])
    names = ("truth", "early", "early_violator", "final", "final_violator")
    outputs = (problem.truth, read[0], rivals[0], read[1], rivals[1])
    arrays = {"word": np.repeat(chosen, problem.lengths[chosen])}
    arrays |= {name: LETTERS[each[own][:, 0][kept]] for name, each in zip(names, outputs, strict=True)}
    arrays |= {"pixels": letters[rows, : 128 if source.endswith(WRITTEN) else problem.n_inputs - 1]}
    return arrays | {"hinge": np.stack(hinge, axis=1)[chosen], "source": np.array([source])}


def instructive(problem, hinge):
    """The samples by falling hinge, readable ones (5 to 10 letters) first, and of the same word the first."""
    readable = (problem.lengths >= 5) & (problem.lengths <= 10)
    order = np.lexsort((-hinge, ~readable))
    _, first = np.unique(problem.truth[order], axis=0, return_index=True)
    return order[np.sort(first)]


@wb.pictures.styled
def draw_words(arrays):
    """Handwritten words: what a chain reads early and at the optimum, and which labelling each word asks to cut off."""
    words = list(dict.fromkeys(arrays["word"].tolist()))
    rows = ("early", "early_violator", "final", "final_violator")
    wrong = {name: int((arrays[name] != arrays["truth"]).sum()) for name in rows}
    before, after = arrays["hinge"].mean(axis=0)
    count, source = len(arrays["truth"]), str(arrays["source"][0])
    width = max(int((arrays["word"] == word).sum()) for word in words)
    figure, axes = wb.pictures.canvas(
        (len(words) + 1) // 2,
        2,
        (7.2, 1.78 * ((len(words) + 1) // 2)),
        f"{warning(source)}After one pass {wrong['early']} of these {count} letters are read wrongly, at the optimum "
        f"{wrong['final']}; the violators’ mean hinge falls from {spelled(before)} to {spelled(after)}",
        f"Training data: {source}. Read: the labelling of highest score. Violator: that of highest score plus loss, "
        "the cut that the word asks for; h is its hinge, loss less margin, 0 when the truth wins by the loss. Boxed "
        "letters differ from the truth.",
        sharex=True,
    )
    for axis, word, hinges in zip(axes.ravel(), words, arrays["hinge"], strict=False):
        own = {key: arrays[key][arrays["word"] == word] for key in ("truth", "pixels", *rows)}
        draw_word(axis, own, hinges, rows, width)
        axis.set_yticks([1.05, *LINES], ["features" if warning(source) else "letters", *ROWS])
        axis.set_ylabel(f"word {word + 1}")
        axis.set_title(f"“{''.join(own['truth'])}”")
    for axis in axes.ravel()[len(words) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("position in the word")
    return figure


def spelled(hinge):
    """A hinge to two digits."""
    return f"{hinge:.2g}" if hinge >= 0.0005 else "nearly 0"


def draw_word(axis, own, hinges, rows, width):
    """Pictures of the letters on top, then a line of text for each labelling."""
    from matplotlib.patches import Rectangle

    tall = 2.1
    for t, pixels in enumerate(own["pixels"]):
        picture = pixels.reshape(16, 8) if len(pixels) == 128 else pixels[:, None]
        axis.imshow(picture, cmap="Greys", extent=(t + 0.6, t + 1.4, 0, tall), aspect="auto", interpolation="nearest")
        frame = {"facecolor": "none", "edgecolor": "#b0b0b0", "linewidth": 0.5}
        axis.add_patch(Rectangle((t + 0.6, 0), 0.8, tall, **frame))
        for line, name in enumerate(rows):
            y, differs = LINES[line], own[name][t] != own["truth"][t]
            if differs:
                look = {"facecolor": BOX, "edgecolor": wb.pictures.INK, "linewidth": 0.6}
                axis.add_patch(Rectangle((t + 0.72, y - 0.44), 0.56, 0.88, **look))
            look = {"weight": "bold", "color": wb.pictures.INK} if differs else {"color": wb.pictures.SOFT}
            axis.text(t + 1, y, own[name][t], ha="center", va="center_baseline", size=8, **look)
    for hinge, line in zip(hinges, (1, 3), strict=True):
        text = f"h = {spelled(hinge)}"
        axis.text(width + 0.75, LINES[line], text.replace("= nearly", "≈"), va="center", size=7)
    axis.set(xlim=(0.45, width + 1.9), ylim=(-4.5, tall + 0.1))
    axis.set_xticks(np.arange(1, width + 1))
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)


# ── transitions ───────────────────────────────────────────────────────────────────────────────────


def measure_transitions(n: int = 100, lam: float = 0.01, gap: float = 1e-4) -> dict[str, np.ndarray]:
    """weight (26, 26) from previous (row) to next label, and how often each pair occurs in the data."""
    source, problem, _, w = trained(n, lam, gap)
    later = np.ones(len(problem.labels), bool)
    later[problem.offsets[:-1]] = False
    later = np.flatnonzero(later)
    count = np.zeros((26, 26), int)
    np.add.at(count, (problem.labels[later - 1], problem.labels[later]), 1)
    return {"letter": LETTERS, "weight": problem.split(w)[1], "count": count, "source": np.array([source])}


@wb.pictures.styled
def draw_transitions(arrays):
    """What a chain has learned about neighbouring letters: the weight of each pair in handwritten words."""
    from matplotlib.colors import LinearSegmentedColormap

    weight, count, letters, source = arrays["weight"], arrays["count"], arrays["letter"], str(arrays["source"][0])
    size = float(np.abs(weight).max()) or 1.0
    order = np.argsort(-weight, axis=None)
    pair = ["".join(letters[list(np.unravel_index(k, weight.shape))]) for k in (*order[:3], *order[-3:][::-1])]
    seen = 100 * np.mean(count.ravel()[order[:50]] > 0)
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 6.0),
        f"{warning(source)}The chain favours {', '.join(pair[:3])} and avoids {', '.join(pair[3:])}; "
        f"{seen:.0f} % of its 50 favourite pairs occur in the words it learned from",
        f"Learned on {source}. Each cell: what a letter (row) and its successor (column) add to the "
        "score. Blue favours, orange avoids. Dots: pairs that occur in the data (area: how often); blank rows and "
        "columns belong to letters that do not. Dashes, for readers in grey: weights below a tenth of the lowest.",
        gridspec_kw={"width_ratios": [26, 0.9]},
    )
    axis, scale = axes[0]
    blend = LinearSegmentedColormap.from_list("avoids-favours", [COLD, BOX, "white", "#8fa0c4", HOT])
    edges = np.arange(27)
    mesh = axis.pcolormesh(edges, edges, weight, cmap=blend, vmin=-size, vmax=size, edgecolors="#ececec", linewidth=0.3)
    row, column = np.nonzero(count)
    dark = weight[row, column] > 0.45 * size
    axis.scatter(
        column + 0.5,
        row + 0.5,
        s=2 + 24 * count[row, column] / max(1, count.max()),
        c=np.where(dark, "white", wb.pictures.INK),
        linewidths=0,
    )
    row, column = np.nonzero((weight < 0.1 * min(weight.min(), 0)) & (count == 0))
    axis.scatter(column + 0.5, row + 0.5, marker="_", s=9, color="#7a2f06", linewidths=0.7)
    axis.set(xlabel="next letter", ylabel="letter", aspect="equal", xlim=(0, 26), ylim=(26, 0))
    for ticks in (axis.set_xticks, axis.set_yticks):
        ticks(edges[:-1] + 0.5, letters)
    axis.tick_params(length=0)
    figure.colorbar(mesh, cax=scale)
    scale.set_xlabel("weight")
    for each in (*axis.spines.values(), scale.spines["outline"]):
        each.set_visible(False)
    return figure


NAMES = {
    "words": SimpleNamespace(measure=measure_words, draw=draw_words),
    "transitions": SimpleNamespace(measure=measure_transitions, draw=draw_transitions),
}
