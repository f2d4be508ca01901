"""What can be seen of users' functions without a maximum: that they are functions, and leave their arguments alone."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from workbench.outputs._structured.functions import entries_of, shown
from workbench.outputs._structured.texts import encoded, key_of

STEP = 1e-5  # of finite differences, relative
NEAR = 1e-4  # relative error at which a derivative is none
MOST = 5000  # candidates of a sample that are looked at


def examined(problem: Any, sample: int, rng: np.random.Generator) -> tuple[str, int, str] | None:
    """A fault's name, the sample and a sentence, or None."""
    given, x, y = problem.functions.given, problem.xs[sample], problem.objects[sample]
    w = np.where(np.arange(problem.n_features) < problem.known, rng.normal(size=problem.n_features), 0.0)
    calls = {"features": (x, y), "loss": (y, y), "argmax": (problem.lent(w), x, y), "candidates": (x,)}
    calls |= {"slack_argmax": (problem.lent(w), x, y), "marginals": (problem.lent(w), x)}
    for name in given:
        before = state(x), state(y)
        listed = some if name == "candidates" else None
        answers = [problem.functions.call(name, sample, *calls[name], then=listed) for _ in range(2)]
        for what, was, now in zip(("input", "true output"), before, (state(x), state(y)), strict=True):
            if was != now:
                return "impure", sample, f"{name} changes the {what} of sample {sample}; let it work on a copy."
        if name in ("loss", "features", "candidates") and len({state(pinned(problem, name, a)) for a in answers}) > 1:
            said = f"{name} at sample {sample} returns {shown(answers[0])} and then {shown(answers[1])}"
            return "random", sample, f"{said} for the same arguments; make it depend on these alone."
    return lists_truth(problem, sample) or differentiated(problem, sample, w)


def some(candidates: Any) -> list[Any]:
    """The first candidates."""
    return list(islice(candidates, MOST + 1))


def pinned(problem: Any, name: str, answer: Any) -> Any:
    """An answer in a form that can be compared."""
    if name != "features":
        return answer
    at, values = entries_of(answer, problem.vocabulary, problem.dim, "")
    return at.tobytes(), values.tobytes()


def state(thing: Any) -> Any:
    """What changes when an object does, as far as can be seen."""
    key = key_of(thing)
    if key is not None:
        return key
    try:
        return str(encoded(dict(vars(thing))))
    except Exception:  # an object that cannot be looked into
        return None


def lists_truth(problem: Any, sample: int) -> tuple[str, int, str] | None:
    """Whether the candidates hold the true output."""
    if problem.functions.candidates is None or (truth := key_of(problem.objects[sample])) is None:
        return None
    listed = problem.functions.call("candidates", sample, problem.xs[sample], then=some)
    if len(listed) > MOST or any(key_of(each) == truth for each in listed):
        return None
    true = problem.objects[sample]
    if any(problem.table.holds(sample, *problem.described(sample, true, each)) for each in listed):
        return None  # a list where the truth is a tuple, say
    return "candidates", sample, f"The candidates of sample {sample} lack its true output; add it there."


def differentiated(problem: Any, sample: int, w: Any) -> tuple[str, int, str] | None:
    """Whether the expected features are the derivative of log Z, and log Z is not below the best score known."""
    if problem.functions.marginals is None:
        return None
    direction = np.random.default_rng(0).choice([-1.0, 1.0], len(w))

    def asked(theta: Any) -> tuple[float, float]:
        answer = problem.functions.call("marginals", sample, problem.lent(theta), problem.xs[sample])
        at, values = entries_of(answer[1], problem.vocabulary, problem.dim, f"of marginals at sample {sample}")
        return float(answer[0]), float(values @ direction[at])

    here, slope = asked(w)
    ends = [asked(w + sign * STEP * direction)[0] for sign in (1, -1)]
    measured = (ends[0] - ends[1]) / (2 * STEP)
    if abs(measured - slope) > NEAR * max(1.0, abs(slope), abs(measured)):
        told = f"The expected features of marginals at sample {sample} give the slope {slope:.6g} in some direction"
        return "marginals", sample, f"{told}, but log Z has {measured:.6g}; one of them is wrong."
    columns, values = problem.table.row(sample)
    if here < (best := float(values @ w[columns])) - NEAR * max(1.0, abs(best)):
        told = f"log Z of marginals at sample {sample} is {here:.6g}, below the score {best:.6g} of the true output"
        return "marginals", sample, f"{told}; it must sum over all outputs."
    return None
