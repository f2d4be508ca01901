"""pytorch-crf: the CRF layer for PyTorch, on emissions W x that are linear, by full-batch L-BFGS in float64.

    theirs   log-likelihood of a sequence of labels under emissions, transitions, and scores of first and last labels
    ours     μ/2 ‖w‖² + Σ_i p_i h_i(w) with w = [W, A]; the scores of first and last labels are held at 0

The layer knows neither a penalty nor weights: both are terms of the loss that is minimised here. `budget` is the number
of L-BFGS iterations, from w = 0; nothing is random.
"""

from __future__ import annotations

import numpy as np

from workbench.learners._peers import likelihood, needs
from workbench.learners.python_crfsuite import shape

LEAST = 1e-12  # change of the loss, and gradient, at which L-BFGS ends before the budget


@needs("torchcrf", "pytorch-crf")
def fit(problem, formulation, budget, rng):
    """torchcrf.CRF over linear emissions, by torch.optim.LBFGS."""
    import torch
    from torchcrf import CRF

    risk = likelihood(formulation, problem, "pytorch-crf")
    (k, p), held = shape(problem), risk.samples
    x, y, mask = padded(problem, held)
    x, y, mask = torch.tensor(x), torch.tensor(y), torch.tensor(mask)
    prices, layer = torch.tensor(risk.prices[held]), CRF(k, batch_first=True).double()
    W = torch.zeros((k, p), dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        for each in (layer.start_transitions, layer.end_transitions, layer.transitions):
            each.zero_()
    ends = {"tolerance_grad": LEAST, "tolerance_change": LEAST**2, "line_search_fn": "strong_wolfe"}
    method = torch.optim.LBFGS([W, layer.transitions], max_iter=budget, max_eval=3 * budget, history_size=20, **ends)

    def loss():
        method.zero_grad()
        likely = layer(x @ W.T, y, mask=mask, reduction="none")
        value = risk.mu / 2 * ((W**2).sum() + (layer.transitions**2).sum()) - prices @ likely
        value.backward()
        return value

    method.step(loss)
    return np.concatenate([W.detach().numpy().ravel(), layer.transitions.detach().numpy().ravel()])


def padded(problem, held):
    """Inputs (n, T, p), labels (n, T) and the mask (n, T) of these sequences, 0 behind their ends."""
    runs = [problem.places(np.array([i]))[1] for i in held]
    longest = max(map(len, runs))
    x, y = np.zeros((len(runs), longest, problem.inputs.shape[1])), np.zeros((len(runs), longest), np.int64)
    mask = np.arange(longest) < np.array([len(run) for run in runs])[:, None]
    for i, run in enumerate(runs):
        x[i, : len(run)], y[i, : len(run)] = problem.inputs[run].toarray(), problem.labels[run]
    return x, y, mask


NAMES = {"pytorch-crf": fit}
