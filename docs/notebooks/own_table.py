# A marimo notebook: `pip install marimo`, then `marimo edit docs/notebooks/own_table.py`.
import marimo

app = marimo.App()


@app.cell
def _():
    import numpy as np

    import workbench as wb

    rng = np.random.default_rng(0)
    kinds = np.array(["setosa", "versicolor", "virginica"])
    labels = rng.integers(0, 3, 120)
    X = np.column_stack([labels + rng.normal(0, 0.4, 120), 2 * labels + rng.normal(0, 0.6, 120)])
    problem = wb.Multiclass(X, kinds[labels])
    return problem, wb


@app.cell
def _(problem, wb):
    path = wb.path(wb.SoftMargin(), problem, greatest=10.0, least=1e-3, epsilon=1e-2)
    lams = [1.0, 0.1, 0.01, 0.001]
    for row in wb.validated(wb.SoftMargin(), problem, lams, folds=3):
        point = path.at(row["lam"])
        print(f"lam {row['lam']:g}: optimum in [{point.lower:.5f}, {point.upper:.5f}], held out {row['loss']:.3f}")
    assert path.gap <= 1e-2
    return


@app.cell
def _(problem, wb):
    import tempfile

    best = wb.solve(wb.SoftMargin(lam=0.01, intercept=True), problem)
    with tempfile.TemporaryDirectory() as folder:
        answer = wb.verify(best.certificate.save(f"{folder}/own"), data=problem)
    print("proven:", answer["proven"], f"train error {best.train_error:.3f}")
    assert answer["proven"]
    return


if __name__ == "__main__":
    app.run()
