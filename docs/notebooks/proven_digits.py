# A marimo notebook: `pip install marimo`, then `marimo edit docs/notebooks/proven_digits.py`.
import marimo

app = marimo.App()


@app.cell
def _():
    import workbench as wb

    problem = wb.load_problem("digits")(n=200)
    best = wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-9)
    print(f"The optimum lies in [{best.lower:.9f}, {best.upper:.9f}], a relative gap of {best.gap:.1e}.")
    return best, problem, wb


@app.cell
def _(best, problem, wb):
    trace = wb.run(wb.BCFW(), wb.SoftMargin(lam=0.1), problem, passes=1500, rng=0)
    verdict = wb.crosscheck(trace, best)
    print(f"bcfw {verdict.verdict}: {verdict.reason}")
    assert verdict.verdict == "agrees"
    return


@app.cell
def _(best, problem, wb):
    found = wb.explain(best.certificate, most=3)
    print(f"{found.support} of {problem.n_samples} samples hold the optimum; those that pull the most:")
    for holder in found.samples:
        print(f"  sample {holder.sample}, {holder.truth}: against {holder.cuts[0].output}")
    return


if __name__ == "__main__":
    app.run()
