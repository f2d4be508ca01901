"""Formulations (§4): settings, prices, regularizer, cuts, conjugate and starting point.

F(θ) = r(θ) + Σ_i p_i h_i(θ),    r*(s) = max_θ ⟨s, θ⟩ − r(θ)
"""

import math
from fractions import Fraction

import numpy as np

from .files import Unknown, is_number, need
from .networks import Flow, Graph, Structured, Tree
from .reader import Reader
from .structures import Chain, Dyads, Linear, Matching, Motif, Multiclass, Multilabel, Sequences, dot, value

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
}
COSTS = ("fixed-cost", "simplex-cost-learning", "normalized-cost-learning")
WORDS = {
    "rescaling": ("margin", "slack"),
    "declare": ("cuts", "compact"),
    "loss": ("hinge", "squared", "logistic"),
    "factoring": ("ordered", "unordered", "true", "predicted", "constant", "input"),
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
        self.data = STRUCTURES[output](read, states) if output == "motif" else STRUCTURES[output](read)
        read.end()
        self.n, self.size = self.data.n, self.data.dim
        self.lam = settings.get("lam", Fraction(1))
        self.check_pair(output)
        self.prices = self.price()

    def check_states(self, output):
        if self.states is None:
            return None
        need(output == "motif", "states are for motif only")
        need(
            isinstance(self.states, list) and all(is_whole(h) and abs(h) < 1 << 53 for h in self.states),
            "states are no whole numbers",
        )
        return self.states

    def check_pair(self, output):
        need(self.name != "weighted-risk" or output == "linear", "weighted-risk is for linear only")
        labels = self.name in (*COSTS, INTERCEPTS)
        need(not labels or output in ("multiclass", "chain"), f"{self.name} is for multiclass and chain")
        need(
            self.name != "perceptron" or output not in ("tree", "flow", "graph"),
            "perceptron has no such runner-up",
        )
        need(self.name == "soft-margin" or output != "graph", "graph is for soft-margin only")
        if output == "graph" and self.data.oracle not in ("exact", "enclosed"):
            raise Unknown(f"a {self.data.oracle} oracle")
        if self.settings.get("rescaling") != "slack":
            return
        need(
            output in ("multiclass", "linear", "chain", "structured", "multilabel"),
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


class CostProgram(Program):
    """θ = (w, b, v), or (w, b) for fixed-cost; r = λ₂‖w‖² + λ₁‖w‖₁ + r_v(v)."""

    @property
    def quadratic(self):
        return False

    def __init__(self, name, settings, arrays, output):
        super().__init__(name, settings, arrays, output)
        data: Sequences = self.data
        self.k, self.d, self.K = data.k, data.dim, settings["K"]
        k = self.k
        sizes = {
            "ordered": k * (k - 1),
            "unordered": k * (k - 1) // 2,
            "true": k,
            "predicted": k,
            "constant": 1,
            "input": data.p,
        }
        self.m = sizes[settings["factoring"]]
        self.fixed = name == "fixed-cost"
        self.size = self.d + k + (0 if self.fixed else self.m)
        self.classes = [[self.error_classes(*place) for place in places] for places in data.places]
        held = {label for w, places in zip(data.weights, data.places, strict=True) if w for _, label in places}
        self.reachable = {
            classes[t][y]
            for w, places, classes in zip(data.weights, data.places, self.classes, strict=True)
            if w
            for t, (_, label) in enumerate(places)
            for y in held - {label}
        }
        if self.fixed:
            self.read_fixed()
        elif name == "simplex-cost-learning":
            need(self.reachable, "no class of errors is reachable")
        else:
            self.counts = self.count()

    def error_classes(self, row, label):
        """The class of each error y′ at a place, by y′."""
        k, factoring = self.k, self.settings["factoring"]
        if factoring == "input":
            column = max(range(self.data.p), key=lambda j: (row.get(j, 0), -j))
            return [column] * k
        pairs = [(a, b) for a in range(k) for b in range(k) if (a != b if factoring == "ordered" else a < b)]
        place = {pair: S for S, pair in enumerate(pairs)}
        pick = {
            "ordered": lambda y: place.get((label, y)),
            "unordered": lambda y: place.get((min(label, y), max(label, y))),
            "true": lambda y: label,
            "predicted": lambda y: y,
            "constant": lambda y: 0,
        }[factoring]
        return [pick(y) for y in range(k)]

    def price(self):
        return list(self.data.weights)

    def read_fixed(self):
        v, parts, left = (self.settings[key] for key in ("v", "parts", "left_out"))
        self.v = [Fraction(1)] * self.m if v is None else numbers(v, self.m, "v")
        need(is_whole(parts) and is_whole(left) and parts < 1 << 53, "parts or left_out is no whole number")
        need(parts == left == 0 or (parts > 1 and 0 <= left < parts), "parts and left_out do not fit")
        if parts:
            part = np.random.default_rng(parts).permutation(np.array([i % parts for i in range(self.n)]))
            self.prices = [0 if part[i] == left else p for i, p in enumerate(self.prices)]
        need(any(self.prices), "no sample has a price")

    def count(self):
        """n_S, one per class."""
        way, baseline = self.settings["counts"], self.settings["baseline"]
        if way == "baseline":
            given = numbers(baseline, self.m, "baseline")
            return [given[S] if S in self.reachable else Fraction(0) for S in range(self.m)]
        need(baseline is None, "baseline is for counts baseline only")
        data, found = self.data, [Fraction(0)] * self.m
        c = [Fraction(0)] * self.k
        for w, places in zip(data.weights, data.places, strict=True):
            for _, label in places:
                c[label] += w
        total = sum(c)
        truths = [set() for _ in range(self.m)]
        for w, places, classes in zip(data.weights, data.places, self.classes, strict=True):
            for (_, label), kinds in zip(places, classes, strict=True):
                for y in set(range(self.k)) - {label}:
                    truths[kinds[y]].add(label)
                    found[kinds[y]] += w * c[y] / total
        for S in range(self.m):
            mass = [c[y] for y in truths[S] if c[y] > 0]
            if way != "expected":
                found[S] = {"none": 1, "total": total, "logical": sum(mass), "logical-max": max(mass, default=0)}[way]
            found[S] = nearest(Fraction(found[S])) if S in self.reachable else Fraction(0)
        return found

    def errors(self, i, z):
        """c_i(z) as a dict class → number."""
        found = {}
        for (_, label), kinds, y in zip(self.data.places[i], self.classes[i], z, strict=False):
            if y != label:
                found[kinds[y]] = found.get(kinds[y], 0) + 1
        return found

    def cut(self, i, z):
        slope = self.data.delta(i, z)
        for (_, label), y in zip(self.data.places[i], z, strict=False):
            if y != label:
                slope[self.d + y] = slope.get(self.d + y, 0) + 1
                slope[self.d + label] = slope.get(self.d + label, 0) - 1
        errors = self.errors(i, z)
        if self.fixed:
            return slope, self.K * dot(self.v, errors)
        for S, number in errors.items():
            slope[self.d + self.k + S] = self.K * number
        return slope, Fraction(0)

    def height(self, i, theta):
        b = theta[self.d : self.d + self.k]
        v = self.v if self.fixed else theta[self.d + self.k :]
        places, classes = self.data.places[i], self.classes[i]

        def extra(t, y):
            label = places[t][1]
            return b[y] - b[label] + (self.K * v[classes[t][y]] if y != label else 0)

        return self.data.peaks(i, theta[: self.d], extra)[0]

    def r(self, theta):
        w, v = theta[: self.d], theta[self.d + self.k :]
        found = self.settings["lam2"] * square(w) + self.settings["lam1"] * sum(map(abs, w))
        if self.name == "normalized-cost-learning":
            found += self.K / 2 * sum(n * (1 - x) ** 2 for n, x in zip(self.counts, v, strict=True))
        return found

    def project(self, theta):
        if self.fixed:
            return theta
        head, v = theta[: self.d + self.k], theta[self.d + self.k :]
        if self.name == "normalized-cost-learning":
            return head + [max(x, Fraction(0)) if n else Fraction(0) for x, n in zip(v, self.counts, strict=True)]
        v = [max(x, Fraction(0)) if S in self.reachable else Fraction(0) for S, x in enumerate(v)]
        total = sum(v)
        return head + ([x / total for x in v] if total else self.start()[self.d + self.k :])

    def start(self):
        zero = [Fraction(0)] * (self.d + self.k)
        if self.fixed:
            return zero
        if self.name == "normalized-cost-learning":
            return zero + [Fraction(int(n > 0)) for n in self.counts]
        return zero + [Fraction(int(S in self.reachable), len(self.reachable)) for S in range(self.m)]

    def reach(self, upper):
        """B, which bounds |b| at some optimum (§4); `upper` is F(θ)."""
        data, prices = self.data, self.prices
        most = max(self.v) if self.fixed else Fraction(1)
        places = sum(p * len(rows) for p, rows in zip(prices, data.places, strict=True))
        other = self.K / 2 * sum(self.counts) if self.name == "normalized-cost-learning" else self.K * most * places
        free = free_labels(data, prices, self.settings["lam2"], min(upper, other))
        return free + self.K * max(map(len, data.places)) * most

    def conjugate(self, s, upper):
        w, b, v = s[: self.d], s[self.d : self.d + self.k], s[self.d + self.k :]
        found = sum(max(abs(x) - self.settings["lam1"], 0) ** 2 for x in w) / (4 * self.settings["lam2"])
        if any(b):
            found += self.reach(upper) * sum(map(abs, b))
        if self.name == "simplex-cost-learning":
            return found + max(v[S] for S in self.reachable)
        if self.name == "normalized-cost-learning":
            for n, x in zip(self.counts, v, strict=True):
                if n:
                    found += self.K * n / 2 * (max(1 + x / (self.K * n), 0) ** 2 - 1)
        return found


class InterceptProgram(Program):
    """θ = (w, b), b free; r = λ/2‖w‖², and cuts that count labels besides Δ_i(z)."""

    def __init__(self, name, settings, arrays, output):
        need(settings["intercept"] is True, "intercept is not true")
        need((settings["rescaling"], settings["declare"]) == ("margin", "cuts"), "intercepts take margins and cuts")
        super().__init__(name, settings, arrays, output)
        self.k, self.d = self.data.k, self.data.dim
        self.size = self.d + self.k

    @property
    def quadratic(self):
        return False

    def cut(self, i, z):
        slope = self.data.delta(i, z)
        for (_, label), y in zip(self.data.places[i], z, strict=False):
            slope[self.d + y] = slope.get(self.d + y, 0) + 1
            slope[self.d + label] = slope.get(self.d + label, 0) - 1
        return slope, self.data.loss(i, z)

    def height(self, i, theta):
        data, b = self.data, theta[self.d :]
        labels, scale = [label for _, label in data.places[i]], data.scale(i)
        added = [[data.cost[label][y] / scale + b[y] - b[label] for y in range(self.k)] for label in labels]
        return data.peaks(i, theta[: self.d], lambda t, y: added[t][y])[0]

    def r(self, theta):
        return self.lam / 2 * square(theta[: self.d])

    def conjugate(self, s, upper):
        found = square(s[: self.d]) / (2 * self.lam)
        return found + self.reach(upper) * sum(map(abs, s[self.d :])) if any(s[self.d :]) else found

    def reach(self, upper):
        """B for U = min(F(θ), M)."""
        data = self.data
        each = [[label for _, label in places] for places in data.places]
        M = max(sum(max(data.cost[label]) for label in row) / data.scale(i) for i, row in enumerate(each))
        return free_labels(data, self.prices, self.lam / 2, min(upper, M)) + M


def free_labels(data, prices, lam2, U):
    """U/P + 4φρ (§4)."""
    mass = [
        sum(p for p, rows in zip(prices, data.places, strict=True) if any(label == y for _, label in rows))
        for y in range(data.k)
    ]
    phi = max(
        sum(abs(x) for row, _ in rows for x in row.values()) + sum(abs(x) for gap in gaps for x in gap)
        for rows, gaps in zip(data.places, data.gaps, strict=True)
    )
    square_root = U / lam2 * 2**256
    rho = math.isqrt(math.ceil(square_root))
    rho = Fraction(rho + (rho * rho < square_root), 2**128)
    return U / min(x for x in mass if x > 0) + 4 * phi * rho


def proof_of(name, settings):
    """The kind of proof that belongs to a formulation."""
    if name == "self-paced":
        return "tree"
    smooth = name == "crf" or (name == "weighted-risk" and settings["loss"] != "hinge")
    return "tangent" if smooth else "cuts"


def program(name, settings, arrays, output, proof=None, version=1):
    """The Program of a checked header; Unknown for names of §3 and §4 that this checker does not know."""
    if name not in NAMES or name == INTERCEPTS:
        raise Unknown(f"the formulation {name}")
    if output not in STRUCTURES:
        raise Unknown(f"the output structure {output}")
    name = INTERCEPTS if version == 2 else name
    kind = InterceptProgram if name == INTERCEPTS else CostProgram if name in COSTS else Program
    settings = check_settings(name, settings)
    need(proof in (None, proof_of(name, settings)), f"the proof of {name} is not {proof}")
    return kind(name, settings, arrays, output)
