"""K is unnecessary: optima of objectives (1) and (10) at many (K, λ₂) lie on one curve each.

    F(Kw, Kb, v; λ₂, λ₁, K) = K F(w, b, v; Kλ₂, λ₁, 1)          (docs/mathematics.md §5, with the proof)

Every point is a certified optimum. The programs at (λ₂, K) and at (Kλ₂, 1) are both solved. Both are declared in units
of K, so a backend gets almost the same numbers; the proven intervals are computed from each one's own λ₂, λ₁ and K.
"""

import sys

import numpy as np

import workbench as wb

FORMS = {1: wb.SimplexCostLearning, 10: wb.NormalizedCostLearning}
LAM1 = 0.05


def measure(n: int = 60, scales: int = 4, lams: int = 5, accuracy: float = 1e-7) -> dict[str, np.ndarray]:
    """One row per cell: objective (1 or 10), K, lam2; the ends lower, upper with K, and lower_without, upper_without
    of the program at Kλ₂ without; apart, how far w_K/K is from w_1, and allowed, how far the gaps let it be.
    """
    problem = wb.load_problem("toy")(n=n)
    rows = []
    for number, kind in FORMS.items():
        for K in 10.0 ** np.linspace(-1, 2, scales):
            for lam2 in 10.0 ** np.linspace(-2, 0, lams):
                one, plain = (
                    wb.solve(kind(float(each), LAM1, float(scale)), problem, gap=accuracy)
                    for each, scale in ((lam2, K), (K * lam2, 1.0))
                )
                gaps = np.sqrt((one.upper - one.lower) / lam2) / K + np.sqrt((plain.upper - plain.lower) / (K * lam2))
                apart = np.linalg.norm(one.theta["w"] / K - plain.theta["w"])
                ends = one.lower, one.upper, plain.lower, plain.upper
                rows.append((number, K, lam2, *ends, apart, gaps))
    names = ("objective", "K", "lam2", "lower", "upper", "lower_without", "upper_without", "apart", "allowed")
    return dict(zip(names, np.array(rows).T, strict=True))


@wb.pictures.styled
def draw(arrays):
    K, lam2, ten = arrays["K"], arrays["lam2"], arrays["objective"] == 10
    meet = (arrays["lower"] <= K * arrays["upper_without"]) & (K * arrays["lower_without"] <= arrays["upper"])
    meet = meet[K != 1]  # at K = 1 both are one program
    figure, axes = wb.pictures.canvas(
        1,
        3,
        (7.4, 3.0),
        f"K only rescales λ₂: {meet.sum()} of {len(meet)} pairs of proven intervals meet",
        "Toy points, λ₁ = 0.05. Left: optima of (10) at each K. Middle: the same divided by K, against Kλ₂; lines are "
        "the optima without K. Right: ‖w_K/K − w₁‖ of both objectives, and the most that the proven gaps allow.",
    )
    for place, each in enumerate(np.unique(K)):
        style, own = wb.pictures.STYLES[place % len(wb.pictures.STYLES)], ten & (each == K)
        look = {"color": style.color, "marker": style.marker, "markersize": 4}
        axes[0, 0].plot(lam2[own], arrays["upper"][own], linestyle=style.dash, label=f"K = {each:g}", **look)
        for number in (1, 10):
            part = (arrays["objective"] == number) & (each == K)
            ring = look | {"markersize": 3 + 2.5 * place, "fillstyle": "none", "markeredgewidth": 1}
            axes[0, 1].plot(each * lam2[part], arrays["upper"][part] / each, linestyle="", **ring)
    for number, dash in ((1, "--"), (10, "-")):
        part = np.flatnonzero(arrays["objective"] == number)
        order = part[np.argsort((K * lam2)[part], kind="stable")]
        x, y = (K * lam2)[order], arrays["upper_without"][order]
        axes[0, 1].plot(x, y, dash, color=wb.pictures.SOFT, linewidth=1, zorder=0)
        axes[0, 1].annotate(f"({number})", (x[0], y[0]), (2, 6), textcoords="offset points", size=8)
    for number, marker in ((1, "x"), (10, "o")):
        part = arrays["objective"] == number
        axes[0, 2].scatter(K[part], arrays["apart"][part], s=12, marker=marker, linewidths=0.8,
                           color=wb.pictures.STYLES[0].color, label=f"({number})")  # fmt: skip
    most = [arrays["allowed"][each == K].max() for each in np.unique(K)]
    axes[0, 2].plot(np.unique(K), most, color=wb.pictures.STYLES[3].color, linestyle=":", label="allowed")
    for axis, words in zip(axes[0], ("F at each λ₂ and K", "F / K", "distance of weights"), strict=True):
        axis.set(title=words, xlabel="λ₂", xscale="log", yscale="log")
        axis.grid(True, axis="y")
    axes[0, 0].legend(loc="best")
    axes[0, 0].set_ylabel("optimum of F")
    axes[0, 1].set(xlabel="Kλ₂", yscale="linear")
    axes[0, 1].margins(0.08)
    axes[0, 1].set_ylim(0, None)
    axes[0, 2].set_xlabel("K")
    axes[0, 2].legend(loc="best")
    return figure


NAMES = {"k-scaling": sys.modules[__name__]}
