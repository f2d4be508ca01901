"""The proven lower bound of dyadic models against the number k of latent dimensions, and what models attain.

Simulated raters and tasks with two hidden sides, two classes. For every k, slopes prove a lower bound on all models in
k dimensions (docs/mathematics.md §7), and the best model found is an upper one. Where both meet, the model is a
proven global optimum of a program that is not convex. Crosses are models that importance-aware updates learned.
"""

import sys

import numpy as np

import workbench as wb


def measure(
    tasks: int = 40, raters: int = 12, ranks: int = 6, passes: int = 200, accuracy: float = 1e-3
) -> dict[str, np.ndarray]:
    """One row per λ and k: `lower`, `upper` proven, `learned` the risk after `passes` passes."""
    problem = wb.load_problem("simulated-dyads")(tasks=tasks, raters=raters, rank=2)
    learner = wb.registry("learner").get("dyadic")()
    rows = []
    for lam in (0.1, 0.03, 0.01):
        for k in range(1, ranks + 1):
            form = wb.NuclearDyadic(lam, k)
            found = wb.solve(form, problem, gap=accuracy)
            *_, (_, theta) = learner.fit(problem, form, passes, 0)
            learned = wb.Bounds(form, problem).upper(theta)
            rows.append((lam, k, found.lower, found.upper, learned))
    return dict(zip(("lam", "dimensions", "lower", "upper", "learned"), np.array(rows).T, strict=True))


@wb.pictures.styled
def draw(arrays):
    lams = np.unique(arrays["lam"])[::-1]
    gaps = 1 - arrays["lower"] / arrays["upper"]
    open_shares = [f"{100 * gaps[arrays['lam'] == lam].max():.1g}" for lam in lams]
    left = ", ".join(f"{float(share):g}" for share in open_shares)
    words = f"{left} % at λ = {', '.join(f'{lam:g}' for lam in lams)}"
    figure, axes = wb.pictures.canvas(
        1,
        len(lams),
        (7.2, 3.0),
        f"The nuclear bound leaves open {words}",
        "Regularised hinge risk of dyadic models with k latent dimensions; simulated pairs with two hidden sides. The "
        "band reaches from the proven lower bound to the best model found; crosses are learned by importance-aware "
        "updates.",
    )
    one, other = wb.pictures.STYLES[0], wb.pictures.STYLES[3]
    for axis, lam in zip(axes[0], lams, strict=True):
        k, lower, upper, learned = (
            arrays[name][arrays["lam"] == lam] for name in ("dimensions", "lower", "upper", "learned")
        )
        axis.fill_between(k, lower, upper, color=one.color, alpha=0.18, linewidth=0)
        axis.plot(k, upper, color=one.color, marker=one.marker, markersize=4, label="best model found")
        axis.plot(k, lower, color=one.color, linestyle=":", marker=".", markersize=4, label="proven lower bound")
        axis.scatter(k, learned, marker="x", s=22, linewidths=1, color=other.color, label="learned")
        axis.set(title=f"λ = {lam:g}", xlabel="latent dimensions k")
        axis.set_xticks(k)
        axis.grid(True, axis="y")
    axes[0, 0].set_ylabel("regularised risk")
    axes[0, 0].legend(loc="best")
    return figure


NAMES = {"nuclear-rank": sys.modules[__name__]}
