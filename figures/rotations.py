"""Digits with a hidden rotation: the images as they come, and turned back as the learned model sees them.

A latent structural SVM is told the digit of every image and never the angle. Of several starts by random weights the
end with the lowest objective is shown, beside easy samples first (self-paced learning by slack).
"""

import sys

import numpy as np

import workbench as wb

SHOWN = 8
FORMS = {"CCCP": wb.LatentSSVM, "self-paced": wb.SelfPacedLatent}


def measure(n: int = 60, angles: int = 5, starts: int = 5, gap: float = 1e-4) -> dict[str, np.ndarray]:
    """given, seen_a, seen_b : (64, 8) pixels of the first samples as they come, and of the views that both ways take;
    way, error (on other images), upright, near: shares of views that are upright, or at most one angle away
    from it; all of them may be askew by the same turn.
    """
    problem, other = (wb.load_problem("rotated-digits")(n=n, angles=angles, split=each) for each in ("train", "test"))
    pixels = problem.X.toarray()[:, :64]
    first = problem.offsets[: min(SHOWN, n)]
    told = {"way": np.array(list(FORMS)), "given": pixels[first + angles // 2].T}
    ends = []
    for key, form in zip("ab", (kind(starts=starts) for kind in FORMS.values()), strict=True):
        w = wb.solve(form, problem, gap=gap).theta["w"]
        views = problem.impute(w)
        guessed = other.argmax(w, np.arange(other.n_samples), augment=False)[:, 0]
        away = [abs(views - problem.planted - shift) for shift in range(-angles + 1, angles)]
        shares = max(((each == 0).mean(), (each <= 1).mean()) for each in away)
        ends.append(((guessed != other.labels).mean(), *shares))
        told[f"seen_{key}"] = pixels[first + views[: len(first)]].T
    names = ("error", "upright", "near")
    return told | dict(zip(names, np.array(ends).T, strict=True))


@wb.pictures.styled
def draw(arrays):
    rows = {"as they come": arrays["given"]}
    for place, (key, way) in enumerate(zip("ab", arrays["way"], strict=True)):
        rows[f"{way}\nerror {100 * arrays['error'][place]:.0f} %"] = arrays[f"seen_{key}"]
    best = int(np.argmax(arrays["upright"]))
    figure, axes = wb.pictures.canvas(
        len(rows),
        len(arrays["given"].T),
        (7.2, 3.3),
        f"Turned back untold: {100 * arrays['upright'][best]:.0f} % exactly, "
        f"{100 * arrays['near'][best]:.0f} % to the next angle, by {arrays['way'][best]}",
        "Digits 2 and 7, turned by angles that are withheld. Rows: the first images, and the views that the learned "
        "models take as true; errors are on other images. All angles may be off by the same turn.",
    )
    for line, (name, pixels) in zip(axes, rows.items(), strict=True):
        for axis, image in zip(line, pixels.T, strict=True):
            axis.pcolormesh(image.reshape(8, 8)[::-1], cmap="Greys", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[], aspect="equal")
            axis.set_frame_on(False)
        line[0].set_ylabel(name)
    for number, axis in enumerate(axes[-1]):
        axis.set_xlabel(f"image {number}")
    return figure


NAMES = {"rotations": sys.modules[__name__]}
