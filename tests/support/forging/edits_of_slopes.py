"""Edits of proofs by slopes, and of what only `nuclear-dyadic` states."""

from __future__ import annotations

from typing import Any

import numpy as np

from forging.forgery import ODD_NUMBERS, Forgery, Unfit, edit, pick, place, sign


def slopes_of(f: Forgery) -> np.ndarray:
    if "slopes" not in f.arrays:
        raise Unfit
    return f.arrays["slopes"]


def dense(f: Forgery, side: str) -> np.ndarray:
    """The rows of a side."""
    data, indices, indptr = (f.arrays[f"data_{side}_{part}"] for part in ("data", "indices", "indptr"))
    found = np.zeros((len(indptr) - 1, int(f.arrays[f"data_{side}_columns"])))
    found[np.repeat(np.arange(len(found)), np.diff(indptr)), indices] = data
    return found


def greatest_norm(f: Forgery) -> float:
    """max over the classes of ‖S‖₂, S = Σ p_i g_i l_i r_iᵀ."""
    slopes, prices = slopes_of(f), f.arrays["data_weights"] / f.arrays["data_weights"].sum()
    left, right = dense(f, "left"), dense(f, "right")
    return max(float(np.linalg.norm(left.T @ ((prices * g)[:, None] * right), 2)) for g in slopes.T)


@edit
def slope_moved(rng: Any, f: Forgery) -> None:
    slopes_of(f)
    slopes, at = place(rng, f, "slopes")
    slopes[at] += rng.normal() * rng.choice([1e-15, 1e-9, 1e-3, 0.3])


@edit
def slope_an_ulp_away(rng: Any, f: Forgery) -> None:
    slopes_of(f)
    slopes, at = place(rng, f, "slopes")
    slopes[at] = np.nextafter(slopes[at], rng.choice([-np.inf, np.inf]))


@edit
def slope_at_an_end(rng: Any, f: Forgery) -> None:
    """An end of the domain of ℓ*, or an ulp beyond."""
    slopes_of(f)
    slopes, at = place(rng, f, "slopes")
    end = rng.choice([-1.0, -0.0, 0.0, 1.0])
    slopes[at] = rng.choice([end, np.nextafter(end, 9.0), np.nextafter(end, -9.0)])


@edit
def slope_odd(rng: Any, f: Forgery) -> None:
    slopes_of(f)
    slopes, at = place(rng, f, "slopes")
    slopes[at] = rng.choice(ODD_NUMBERS)


@edit
def slopes_scaled(rng: Any, f: Forgery) -> None:
    slopes = slopes_of(f)
    slopes *= rng.choice([0.0, 0.5, 1 - 2**-53, 1 + 2**-52, 1.1, 2.0, -1.0, 1e3, 1e-300, 1e150])


@edit
def slopes_exchanged(rng: Any, f: Forgery) -> None:
    """Between two pairs, between two classes, or all in the opposite order."""
    slopes = slopes_of(f)
    n, classes = slopes.shape
    axis = int(rng.integers(3))
    if axis == 2 or (axis == 1 and classes < 2):
        slopes[:] = slopes[::-1].copy()
        return
    here, there = rng.choice((n, classes)[axis], 2, replace=False)
    rows = np.moveaxis(slopes, axis, 0)
    rows[[here, there]] = rows[[there, here]]


@edit
def slopes_at_the_spectral_bound(rng: Any, f: Forgery) -> None:
    """λ = ‖S‖₂, a little more or a little less."""
    norm = greatest_norm(f)
    lam = norm * (1 + rng.choice([-1e-3, -1e-12, -1e-15, 0.0, 1e-15, 1e-12, 1e-9, 1e-5, 1e-3]))
    if not 1e-100 <= lam <= 1e100:
        raise Unfit
    f.header["formulation"]["settings"]["lam"] = lam


@edit
def slopes_beyond_the_spectral_bound(rng: Any, f: Forgery) -> None:
    """All slopes as long as ‖S‖₂ = λ, or longer."""
    norm, lam = greatest_norm(f), float(f.header["formulation"]["settings"]["lam"])
    if norm == 0:
        raise Unfit
    f.arrays["slopes"] *= lam / norm * rng.choice([1 - 1e-9, 1.0, 1 + 1e-15, 1 + 1e-9, 1.5, 10.0])


@edit
def dimensions_changed(rng: Any, f: Forgery) -> None:
    slopes_of(f)
    f.header["formulation"]["settings"]["dimensions"] = pick(rng, (1, 2, 3, 5, 1000, 1001, 0, -1, 2.0, True, "1", None))


@edit
def theta_of_other_dimensions(rng: Any, f: Forgery) -> None:
    """k changed, and θ along with it: zeros more, or as many numbers as fit."""
    slopes = slopes_of(f)
    k, sides = int(rng.integers(1, 5)), sum(int(f.arrays[f"data_{side}_columns"]) for side in ("left", "right"))
    size = slopes.shape[1] * (k * sides + int(f.arrays["data_n_inputs"]))
    f.header["formulation"]["settings"]["dimensions"] = k
    f.arrays["theta"] = np.resize(f.arrays["theta"], size) * rng.choice([0.0, 1.0])


@edit
def sides_exchanged(rng: Any, f: Forgery) -> None:
    """Left for right, of the data only."""
    slopes_of(f)
    for part in ("data", "indices", "indptr", "columns", "names"):
        left, right = f"data_left_{part}", f"data_right_{part}"
        if left in f.arrays and right in f.arrays:
            f.arrays[left], f.arrays[right] = f.arrays[right], f.arrays[left]
    sign(rng, f)


@edit
def side_scaled(rng: Any, f: Forgery) -> None:
    slopes_of(f)
    f.arrays[f"data_{pick(rng, ('left', 'right'))}_data"] *= rng.choice([-1.0, 0.0, 2.0, 1e3, 1e9, 1e-9])
    sign(rng, f)
