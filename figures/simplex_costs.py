"""What objective (1) does with costs on the simplex: v > 0 only where dual errors are fewest, and a mere tendency else.

At an optimum v minimises ⟨v, q⟩ over the simplex, q the errors of each class by the dual weights, so v_S > 0 exactly
demands q_S = min q (docs/mathematics.md §5). With |S|, the errors that predictions make, the source's property (7)
orders costs the other way round: as a tendency, not as an equivalence.
"""

import sys

import numpy as np

import workbench as wb


def measure(copies: int = 25, lam2: float = 5.0, accuracy: float = 1e-6) -> dict[str, np.ndarray]:
    """One row an ordered pair of labels, some of them rare or alike: cost v, dual errors q, training `errors`."""
    problem = wb.load_problem("synthetic-costs")(suite="plus-many-rare", copies=copies)
    form = wb.SimplexCostLearning(lam2=lam2, factoring="ordered")
    best = wb.solve(form, problem, gap=accuracy)
    proof, oracle, m = best.certificate, form.oracle(problem), len(best.theta["v"])
    slopes, _ = oracle.rows(proof.samples, proof.witnesses)
    mass = np.bincount(proof.samples, proof.weights, problem.n_samples)[proof.samples]
    q = (slopes.T @ (proof.weights / mass))[-m:] / form.K
    said = oracle.decode(best.theta_flat, np.arange(problem.n_samples))
    return {"v": best.theta["v"], "q": q, "errors": np.array(wb.baseline_counts(problem, "ordered", said))}


@wb.pictures.styled
def draw(arrays):
    from scipy.stats import spearmanr

    v, q, errors = arrays["v"], arrays["q"], arrays["errors"]
    paid, least = v > 1e-6, q.min()
    off = float(np.abs(q[paid] - least).max())
    rank = spearmanr(v, errors)[0] if len(set(errors.tolist())) > 1 else np.nan
    against = f"rank correlation with errors made {rank:.2f}" if rank == rank else "no prediction errs"
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.0),
        f"Objective (1) pays for {int(paid.sum())} of {len(v)} pairs, those of fewest dual errors; {against}",
        "Synthetic labels, three rare, two pairs alike; a dot is an ordered pair. Left: every cost above 0 has q "
        f"within {off:.1g} of min q. Right: the same costs against the errors of predictions, as in property (7).",
    )
    left, right = axes[0]
    left.axvline(least, color=wb.pictures.SOFT, linewidth=0.9, label=f"min q = {least:.3g}")
    for axis, x, style in ((left, q, wb.pictures.STYLES[0]), (right, errors, wb.pictures.STYLES[1])):
        axis.scatter(x, v, s=14, alpha=0.7, linewidths=0, color=style.color, marker=style.marker)
        axis.grid(True, axis="y")
    left.set_xlim(0.0, 1.08 * q.max())
    left.set(xlabel="dual errors q of the pair", ylabel="cost v of the pair")
    right.set(xlabel="training errors |S| of the pair")
    left.legend(loc="center right")
    return figure


NAMES = {"simplex-costs": sys.modules[__name__]}
