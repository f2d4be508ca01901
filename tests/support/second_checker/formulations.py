"""The formulations (§4) that are more than a `Program`: costs, intercepts, pairs; and `program`, that of a header."""

import math
from fractions import Fraction

import numpy as np

from .files import Unknown, need
from .programs import (
    COSTS,
    INF,
    INTERCEPTS,
    NAMES,
    STRUCTURES,
    Program,
    check_settings,
    is_whole,
    nearest,
    numbers,
    square,
)
from .structures import Sequences, dot

__all__ = ["INF", "STRUCTURES", "Program", "program", "square"]


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
            "input-smallest": data.p,
            "input-count": data.p.bit_length() + 1,
            "input-true": data.p * k,
        }
        self.m = sizes[settings["factoring"]]
        self.fixed = name == "fixed-cost"
        self.size = self.d + k + (0 if self.fixed else self.m)
        need("theta" not in arrays or arrays["theta"].shape == (self.size,), "theta has another length")
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
        if factoring in ("input", "input-true"):
            column = max(range(self.data.p), key=lambda j: (row.get(j, 0), -j))
            return [column if factoring == "input" else column * k + label] * k
        if factoring == "input-smallest":
            return [min(range(self.data.p), key=lambda j: (row.get(j, 0), j))] * k
        if factoring == "input-count":
            return [sum(x != 0 for x in row.values()).bit_length()] * k
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


class DyadicProgram(Program):
    """θ = (A, B, W) of pairs, row by row: A[f][c][j] stands at the place (f·L + c)·k + j, then B likewise, then W."""

    def __init__(self, name, settings, arrays, output):
        super().__init__(name, settings, arrays, output)
        self.k, self.L = settings["dimensions"], 1 if self.data.k == 2 else self.data.k
        self.split = self.L * self.k * self.data.columns["left"]
        self.end = self.split + self.L * self.k * self.data.columns["right"]
        self.size = self.end + self.data.p * self.L

    def target(self, i, c):
        """±1: + for the second of two classes, else where c is the label."""
        label = self.data.places[i][0][1]
        return 1 if label == (1 if self.L == 1 else c) else -1

    def predict(self, theta, i, c):
        """⟨A_cᵀl_i + 1, B_cᵀr_i + 1⟩ − k + ⟨w_c, x_i⟩."""
        found = Fraction(-self.k)
        for j in range(self.k):
            pair = ((0, self.data.sides["left"][i]), (self.split, self.data.sides["right"][i]))
            a, b = (1 + sum(x * theta[start + (f * self.L + c) * self.k + j] for f, x in row.items())
                    for start, row in pair)  # fmt: skip
            found += a * b
        return found + sum(x * theta[self.end + f * self.L + c] for f, x in self.data.places[i][0][0].items())

    def loss(self, p, y):
        return max(Fraction(0), 1 - y * p) if self.settings["loss"] == "hinge" else (p - y) ** 2 / 2

    def height(self, i, theta):
        """Σ_c ℓ(p_ic, ±1)."""
        return sum((self.loss(self.predict(theta, i, c), self.target(i, c)) for c in range(self.L)), Fraction(0))


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
    if name in ("self-paced", "nuclear-dyadic"):
        return "tree" if name == "self-paced" else "slopes"
    smooth = name == "crf" or (name == "weighted-risk" and settings["loss"] != "hinge")
    return "tangent" if smooth else "cuts"


def program(name, settings, arrays, output, proof=None, version=1):
    """The Program of a checked header; Unknown for names of §3 and §4 that this checker does not know."""
    if name not in NAMES or name == INTERCEPTS:
        raise Unknown(f"the formulation {name}")
    if output not in STRUCTURES:
        raise Unknown(f"the output structure {output}")
    name = INTERCEPTS if version == 2 else name
    special = {INTERCEPTS: InterceptProgram, "nuclear-dyadic": DyadicProgram} | dict.fromkeys(COSTS, CostProgram)
    settings = check_settings(name, settings)
    need(proof in (None, proof_of(name, settings)), f"the proof of {name} is not {proof}")
    return special.get(name, Program)(name, settings, arrays, output)
