"""What formulations share (§4): settings, prices, regularizer, cuts, conjugate and starting point.

F(θ) = r(θ) + Σ_i p_i h_i(θ),    r*(s) = max_θ ⟨s, θ⟩ − r(θ)
"""

import math
from fractions import Fraction

from .dyads import Dyads
from .files import Unknown, is_number, need
from .networks import Flow, Graph, Structured, Tree
from .reader import Reader
from .structures import Chain, Linear, Matching, Motif, Multiclass, Multilabel, Views, value

INF = math.inf
NAMES = {
    "soft-margin": "lam rescaling declare",
    "hard-margin": "lam",
    "perceptron": "lam",
    "weighted-risk": "lam loss",
    "completed-ssvm": "C states kept",
    "fixed-cost": "lam2 lam1 K factoring v parts left_out",
    "simplex-cost-learning": "lam2 lam1 K factoring",
    "normalized-cost-learning": "lam2 lam1 K factoring counts baseline",
    "crf": "lam",
    "self-paced": "C K",
    "nuclear-dyadic": "lam dimensions loss",
}
INTERCEPTS = "soft-margin, version 2"  # its name in here
NAMES[INTERCEPTS] = "lam rescaling declare intercept"
STRUCTURES = {
    "multiclass": Multiclass,
    "chain": Chain,
    "linear": Linear,
    "multilabel": Multilabel,
    "matching": Matching,
    "motif": Motif,
    "tree": Tree,
    "flow": Flow,
    "graph": Graph,
    "structured": Structured,
    "dyads": Dyads,
    "views": Views,
}
HIDING = ("motif", "views")  # structures with hidden states
COSTS = ("fixed-cost", "simplex-cost-learning", "normalized-cost-learning")
INPUTS = ("input", "input-smallest", "input-count", "input-true")
WORDS = {
    "rescaling": ("margin", "slack"),
    "declare": ("cuts", "compact"),
    "loss": ("hinge", "squared", "logistic"),
    "factoring": ("ordered", "unordered", "true", "predicted", "constant", *INPUTS),
    "counts": ("none", "total", "logical", "logical-max", "expected", "baseline"),
}


def is_whole(number):
    return isinstance(number, int) and not isinstance(number, bool)


def nearest(number):
    """fl64, refused where it overflows."""
    try:
        return Fraction(float(number))
    except OverflowError:
        need(False, "a rounded number is too great for a float64")


def numbers(values, length, words):
    """A list of `length` finite numbers ≥ 0 as Fractions."""
    need(isinstance(values, list) and len(values) == length, f"{words} is no list of {length}")
    need(all(is_number(item) and item >= 0 for item in values), f"{words} has a number out of range")
    return [Fraction(item) for item in values]


def check_settings(name, settings):
    """The settings, numbers as Fractions; lists are left as they are."""
    need(set(settings) == set(NAMES[name].split()), f"{name} has the settings {NAMES[name]}")
    found = dict(settings)
    for key, item in settings.items():
        if key in WORDS:
            need(isinstance(item, str) and item in WORDS[key], f"{key} is none of {WORDS[key]}")
        elif key in ("lam", "lam1", "lam2", "C", "K"):
            lowest = 0 if key == "lam1" else 1e-100
            need(is_number(item) and lowest <= item <= 1e100, f"{key} is no number from {lowest} to 1e100")
            found[key] = Fraction(item)
        elif key == "dimensions":
            need(is_whole(item) and 1 <= item <= 1000, "dimensions is no whole number from 1 to 1000")
    need((name, found.get("loss")) != ("nuclear-dyadic", "logistic"), "nuclear-dyadic has no logistic loss")
    return found


def square(vector):
    return sum((x * x for x in vector), Fraction(0))


class Program:
    """F of one problem; `hard`: prices are ∞. This class is every formulation with r = λ/2‖θ‖²."""

    kind, hard = "margin", False

    def __init__(self, name, settings, arrays, output):
        self.name, self.settings = name, settings
        self.states = settings.get("states")
        states = self.check_states(output)
        read = Reader(arrays)
        more = (states, name == "self-paced") if output in HIDING else ()
        self.data = STRUCTURES[output](read, *more)
        read.end()
        self.n, self.size = self.data.n, self.data.dim
        self.lam = settings.get("lam", Fraction(1))
        self.check_pair(output)
        self.prices = self.price()

    def check_states(self, output):
        if self.states is None:
            return None
        need(output in HIDING, "states are for motif and views only")
        need(
            isinstance(self.states, list) and all(is_whole(h) and abs(h) < 1 << 53 for h in self.states),
            "states are no whole numbers",
        )
        return self.states

    def check_pair(self, output):
        need(self.name != "weighted-risk" or output == "linear", "weighted-risk is for linear only")
        need(self.name != "nuclear-dyadic" or output == "dyads", "nuclear-dyadic is for dyads only")
        labels = self.name in (*COSTS, INTERCEPTS)
        need(
            not labels or output in ("multiclass", "dyads", "chain"), f"{self.name} is for multiclass, dyads and chain"
        )
        need(self.name == "soft-margin" or output != "graph", "graph is for soft-margin only")
        if output == "graph" and self.data.oracle not in ("exact", "enclosed"):
            raise Unknown(f"a {self.data.oracle} oracle")
        if self.settings.get("rescaling") != "slack":
            return
        need(
            output in ("multiclass", "dyads", "linear", "chain", "structured", "multilabel"),
            f"slack is not defined for {output}",
        )
        self.kind = "slack"
        if output == "chain":
            cost = self.data.cost
            need(all(c.denominator == 1 for row in cost for c in row), "slack wants whole costs")
            most = (sum(max(cost[label]) for _, label in places) for places in self.data.places)
            need(all(total <= 10_000 for total in most), "slack wants costs of at most 10,000 a sample")

    def price(self):
        weights, settings = self.data.weights, self.settings
        if self.name in ("hard-margin", "perceptron"):
            self.hard = True
            self.kind = "zero-one" if self.name == "perceptron" else "margin"
            return [INF if w else 0 for w in weights]
        total = sum(weights)
        if self.name == "completed-ssvm":
            kept = settings["kept"]
            kept = [Fraction(1)] * self.n if kept is None else numbers(kept, self.n, "kept")
            need(all(item in (0, 1) for item in kept), "kept has numbers that are neither 0 nor 1")
            weights = [w * item for w, item in zip(weights, kept, strict=True)]
            need(any(weights), "no sample is kept")
            total = nearest(total / settings["C"])
            need(total > 0, "Σw/C is rounded to 0")
        return [w / total for w in weights]

    def cut(self, i, z):
        """The slope a_i(z) as a dict place → number, and the offset o_i(z)."""
        data = self.data
        loss, delta = data.loss(i, z), data.delta(i, z)
        if self.kind == "slack":
            return {place: loss * number for place, number in delta.items()}, loss
        return delta, value(self.kind, Fraction(0), loss, z != data.truth(i))

    def height(self, i, theta):
        return self.data.height(i, theta, self.kind)

    def r(self, theta):
        return self.lam / 2 * square(theta)

    def conjugate(self, s, upper):
        return square(max(x, 0) if j in self.signed else x for j, x in enumerate(s)) / (2 * self.lam)

    def project(self, theta):
        return [max(x, Fraction(0)) if j in self.signed else x for j, x in enumerate(theta)]

    @property
    def signed(self):
        """Places of θ that must be ≥ 0."""
        return getattr(self.data, "signed", ())

    def start(self):
        return [Fraction(0)] * self.size

    def objective(self, theta):
        """F(θ) for finite prices, θ in r's domain."""
        heights = (p * self.height(i, theta) for i, p in enumerate(self.prices) if p)
        return self.r(theta) + sum(heights, Fraction(0))

    @property
    def quadratic(self):
        """Whether r is λ/2‖θ‖² on the whole space."""
        return not self.signed
