"""The one loop for smooth formulations: L-BFGS, then Newton steps where L-BFGS gains no more accuracy.

    minimise F(θ) = μ/2 ‖θ‖² + Σ_i p_i h_i(θ)      until  ‖∇F(θ)‖²/(2μ) ≤ gap, relative to F's size

The bounds of proofs/bounds.py compute that gap, rounding included; reaching the gap is the only reason to end
`optimal`. Both bounds come from one θ, that of least gap so far, so a certificate holds θ alone.

*L-BFGS* (Liu & Nocedal 1989; SciPy's L-BFGS-B, whose line search compares values of F), in z with θ = θ₀ + C z where
the terms know a good C (objectives/conditioning.py). Near the optimum
F(θ) − F* falls below the rounding of F, u·F, while the gradient still has correct digits: there L-BFGS ends.
*Newton* continues with gradients alone: directions from conjugate gradients on the Hessian, products with it
by central differences of ∇F, steps halved until ‖∇F‖ falls. −∇²F⁻¹∇F descends on ½‖∇F‖² wherever F is
strongly convex, its derivative there being −‖∇F‖² (Nocedal & Wright 2006, §11.2 and Algorithm 7.1).

Certifying θ takes about as long as F and ∇F. So θ is certified where floats promise the gap; and every few rounds, and
at the end, the θ that promises the shortest interval.

A checkpoint (recording.py) holds the best θ and the rounds so far; the method that was at work goes on from that θ.
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import Conditioned, Floats
from workbench.proofs.smooth import SmoothBounds
from workbench.solving.progress import Clock, Progress, Stopwatch
from workbench.solving.recording import Checkpoints
from workbench.solving.request import Request
from workbench.system.journal import Entry, Journal

MOST_PAIRS = 80  # that L-BFGS keeps: on handwritten words a third fewer rounds to 1e-6 than with 20
LEAST_PAIRS = 20
ROOM = 2**26  # bytes of pairs above the least number
PATIENCE = 100  # rounds of L-BFGS in which the proven interval must halve
STRIDE = 10  # rounds after which a θ is certified that promises more than is proven
HALVINGS = 20
PRODUCTS = 400  # Hessian products for one direction, at most
ACCURACY = 0.01  # of a direction: its residual relative to the gradient
SPACING = np.finfo(float).eps ** (1 / 3)  # of central differences, relative


def descend(
    bounds: SmoothBounds, request: Request, journal: Journal | None = None, start: Floats | None = None
) -> Progress:
    """Run both methods until the gap or a limit of the request is reached, or neither makes progress (`stalled`).

    start : the first θ; by default the minimiser of r
    """
    run = Descent(bounds, request, journal)
    if run.checkpoints.last:
        run.restore(run.checkpoints.last)
    else:
        run.round(bounds.start if start is None else start)
    for method in (run.quasi_newton, run.newton)["newton" in run.state.masters :]:
        if not (run.ended or run.blurred):
            with run.clock.ends_with_memory():
                method()
            if run.clock.exhausted:
                run.ended, run.state.said = "limit", run.clock.exhausted
    run.checkpoint()
    run.state.status = run.ended or "stalled"
    return run.state


class Descent:
    """The state of one run and its two methods; a round is one accepted step."""

    def __init__(self, bounds: SmoothBounds, request: Request, journal: Journal | None):
        self.bounds, self.gap, self.observe = bounds, request.gap, request.observe
        self.clock, self.oracle, self.ended = Clock(request.time_limit, request.max_rounds), Stopwatch(), ""
        self.blurred = False  # whether rounding is most of the gap, so that no method can shrink the gap much
        self.closest: tuple[float, Floats] = np.inf, bounds.start  # the least length promised and not proven, and its θ
        self.state = Progress(bounds.start, bounds.start, masters=["lbfgs"])
        self.checkpoints = Checkpoints(journal, "descent")

    def checkpoint(self) -> None:
        self.settle()
        self.checkpoints.keep(
            self.state.kept(self.clock) | {"oracle_seconds": self.oracle.seconds}, theta=self.state.theta
        )

    def restore(self, last: Entry) -> None:
        """Go on from a checkpoint; its θ is certified anew."""
        self.state.take_up(dict(last.numbers), self.clock)
        self.oracle.seconds = last.numbers["oracle_seconds"]
        if self.certify(last.arrays()["theta"]) <= self.gap:
            self.ended = "optimal"

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """F(θ) and ∇F(θ), timed."""
        with self.oracle:
            return self.bounds.value_and_gradient(theta)

    def gradient(self, theta: Floats) -> Floats:
        return self.value_and_gradient(theta)[1]

    def round(self, theta: Floats) -> None:
        """Certify θ where floats promise enough, record the round, and end the run at the gap or a limit."""
        state, seconds, number = self.state, self.clock.seconds, len(self.state.history) + 1
        value, slope = self.bounds.value_and_gradient(theta)
        length = float(slope @ slope) / (2 * self.bounds.curvature)
        if length < self.closest[0]:
            self.closest = length, theta.copy()
        enough = self.bounds.relative(value, value - length) <= self.gap
        if enough:
            self.certify(theta)
        elif number % STRIDE == 1:
            self.settle()
        proven = self.bounds.gap(state.upper, state.lower)
        times = seconds, self.oracle.seconds, seconds - self.oracle.seconds
        state.record(state.entry(number, proven, 0, 0, times), self.observe)
        if proven <= self.gap:
            self.ended = "optimal"
        elif self.clock.over(number):
            self.ended = "limit"
        if self.checkpoints.due:
            self.checkpoint()

    def certify(self, theta: Floats) -> float:
        """The proven gap after the bounds at θ are known; θ is kept if no θ before had closer bounds."""
        state, self.closest = self.state, (np.inf, theta)
        value, norm = self.bounds.enclosed(theta)
        lower, upper = self.bounds.ends(value, norm)
        if upper - lower < state.upper - state.lower:
            state.theta, state.upper, state.lower = theta.copy(), upper, lower
            self.blurred = bool(value.hi - value.lo > 0.9 * (upper - lower))
        return self.bounds.gap(state.upper, state.lower)

    def settle(self) -> None:
        """Certify the θ that promises the shortest interval, if shorter than the proven one."""
        if self.closest[0] < self.state.upper - self.state.lower:
            self.certify(self.closest[1])

    def quasi_newton(self) -> None:
        """L-BFGS from the best θ so far, in coordinates of the terms' own where they know any."""
        from scipy.optimize import minimize

        bounds, origin = self.bounds, self.state.theta
        weights = bounds.prices.weights[bounds.samples] / bounds.prices.total
        terms, change = bounds.oracle, None
        if isinstance(terms, Conditioned):
            change = terms.conditioner(bounds.samples, weights, bounds.curvature)

        def place(z: Floats) -> Floats:
            return origin + (z if change is None else change(z))

        def objective(z: Floats) -> tuple[float, Floats]:
            value, slope = self.value_and_gradient(place(z))
            return value, slope if change is None else change(slope)

        def after(z: Floats) -> None:
            self.round(place(z))
            if self.ended or self.idle or self.blurred:
                raise StopIteration

        pairs = int(np.clip(ROOM // (16 * len(self.state.theta)), LEAST_PAIRS, MOST_PAIRS))
        never = {"maxcor": pairs, "ftol": 0.0, "gtol": 0.0, "maxiter": 2**31 - 1, "maxfun": 2**31 - 1}
        minimize(objective, np.zeros_like(origin), jac=True, method="L-BFGS-B", callback=after, options=never)

        self.settle()

    @property
    def idle(self) -> bool:
        """Whether the proven interval has not halved in the last PATIENCE rounds."""
        gaps = [record["upper"] - record["lower"] for record in self.state.history[-PATIENCE - 1 :]]
        return len(gaps) > PATIENCE and gaps[-1] > gaps[0] / 2

    def newton(self) -> None:
        """Newton steps from the best θ so far, until the gradient's norm falls no more."""
        theta = self.state.theta
        slope = self.gradient(theta)
        if "newton" not in self.state.masters:
            self.state.masters.append("newton")
        while not (self.ended or self.blurred):
            direction, length = self.direction(theta, slope), 1.0
            for _ in range(HALVINGS):
                ahead = theta + length * direction
                slope_ahead = self.gradient(ahead)
                if np.linalg.norm(slope_ahead) < (1 - 1e-4 * length) * np.linalg.norm(slope):
                    break
                length /= 2
            else:
                return
            theta, slope = ahead, slope_ahead
            self.round(theta)
            self.settle()

    def direction(self, theta: Floats, slope: Floats) -> Floats:
        """−∇²F(θ)⁻¹ slope to ACCURACY, by conjugate gradients."""
        step, residual = np.zeros_like(theta), -slope
        along, square = residual, residual @ residual
        enough = (ACCURACY**2) * square
        for _ in range(PRODUCTS):
            bent = self.hessian_times(theta, along)
            curvature = along @ bent
            if not curvature > 0:  # F is convex, so this is rounding
                return step
            length = square / curvature
            step, residual = step + length * along, residual - length * bent
            before, square = square, residual @ residual
            if not square > enough:
                return step
            along = residual + square / before * along
        return step

    def hessian_times(self, theta: Floats, along: Floats) -> Floats:
        """∇²F(θ) · along."""
        spacing = SPACING * (1 + np.linalg.norm(theta)) / np.linalg.norm(along)
        change = self.gradient(theta + spacing * along) - self.gradient(theta - spacing * along)
        return change / (2 * spacing)
