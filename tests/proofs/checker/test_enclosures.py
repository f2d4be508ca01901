"""Enclosures of exp, log and log-sums: they hold the true value, are narrow, and allow what their proofs demand, which
shows where few bits are carried (plain functions).
"""

from __future__ import annotations

from contextlib import contextmanager
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
from chance.against import about, refusal, said
from chance.certificates import certificates

from workbench.proofs.checker import balls
from workbench.proofs.checker.balls import exp, log, log_two, logs
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Imprecise
from workbench.proofs.checker.formulations.smooth import listed_sums
from workbench.proofs.checker.kinds.tangent import Tangent, ends_at
from workbench.proofs.checker.learning import structure_of
from workbench.proofs.checker.outputs import _forests
from workbench.proofs.checker.outputs._sums import Ball, gradient_of
from workbench.proofs.checker.whole import Whole, objects

FINE = Context(prec=150, Emax=10**9, Emin=-(10**9))
LAST = Decimal(10) ** -140  # what FINE itself may round away in a few operations


@contextmanager
def carrying(bits):
    """So many bits are carried besides those that are returned."""
    kept = balls.GUARD
    try:
        balls.GUARD = bits
        yield
    finally:
        balls.GUARD = kept


def decimal(number):
    return FINE.divide(Decimal(number.numerator), Decimal(number.denominator))


def true_exp(number):
    return FINE.exp(decimal(number))


def times(number, bits):
    return FINE.multiply(number, FINE.power(Decimal(2), bits))


# ── exp and log ───────────────────────────────────────────────────────────────────────────────────


def test_ln_2_is_rounded_down_by_less_than_two():
    for Q in (1, 10, 100, 300):
        true = times(FINE.ln(Decimal(2)), Q)
        assert log_two(Q) <= true < log_two(Q) + 2, Q
        assert log_two(Q) >= int(true) - 1


def test_exp_allows_for_the_error_of_its_proof():
    """|error| ≤ 3N + 15 + 10|k| at 2^−P, N terms and x = k ln 2 + r, before a factor 2^k, without further bits."""
    for P in (60, 200):
        for p, q in ((0, 1), (-1, 3), (-2, 3), (-1, 10**6), (-69, 100), (-7, 10), (-3, 2), (-20, 1), (-31, 1)):
            x, two = Fraction(p, q), log_two(P)
            with carrying(0):
                lo, hi = (int(each[0]) for each in exp(objects([p]), q, P))
            true = times(true_exp(x), P)
            assert lo <= true <= hi, x
            k = (x.numerator * 2**P // x.denominator) // two
            r, term, terms = x.numerator * 2**P // x.denominator - k * two, 2**P, []
            while term:
                terms.append(term)
                term = term * r // (len(terms) << P)
            error = 3 * len(terms) + 15 + 10 * abs(k)
            assert (lo, hi) == ((sum(terms) - error) >> -k, ((sum(terms) + error) >> -k) + 1), x


def test_exp_is_narrow_and_far_out_below_one_unit():
    P = 40
    for p, q in ((0, 1), (-1, 7), (-5, 1), (-27, 1), (-40, 1), (-41, 1), (-43, 1), (-(10**9), 1), (-(10**40), 3)):
        lo, hi = (int(each[0]) for each in exp(objects([p]), q, P))
        assert lo <= times(true_exp(max(Fraction(p, q), Fraction(-(10**4)))), P) <= hi
        assert lo >= 0
        assert hi - lo <= 2
        if p <= -40 * q:
            assert (lo, hi) == (0, 1)
    lo, hi = exp(objects([0, -(10**9), -1, -(10**12)]), 1, P)
    assert lo.tolist()[1::2] == [0, 0]
    assert hi.tolist()[1::2] == [1, 1]
    assert lo[0] == 2**P - 1
    assert hi[0] == 2**P + 1
    assert [each.tolist() for each in exp(objects([-100, -200]), 1, P)] == [[0, 0], [1, 1]]


def test_log_allows_for_the_error_of_its_proof():
    """|error| ≤ 2(3N + 10) + 8 + 2b for N terms and b bits, without further bits."""
    for P in (50, 200):
        for number in (1, 2, 3, 5, 7, 1000, 2**49, 2**50 + 1, 2**50 - 1, 2**300 + 1, (1 << 90) - 1, 10**70):
            with carrying(0):
                lo, hi = log(number, P)
            assert lo <= times(FINE.ln(Decimal(number)), P) <= hi, number
            b = number.bit_length()
            f = number * 2**P // 2**b
            y = (2**P - f) * 2**P // (2**P + f)
            square, power, count = y * y >> P, y, 0
            while power:
                power, count = power * square >> P, count + 1
            assert hi - lo == 2 * (2 * (3 * count + 10) + 8 + 2 * b) + 1, number


def test_logs_of_what_lies_between_two_numbers():
    P = 80
    for low, high, Q in ((3, 5, 0), (3, 5, 1), (7 << 30, 9 << 30, 31), (1, 1, 0), (1 << 40, 1 << 41, 80)):
        lo, hi = (each[0] for each in logs(objects([low]), objects([high]), P, Q))
        ends = [
            FINE.subtract(FINE.ln(Decimal(each)), FINE.multiply(Decimal(Q), FINE.ln(Decimal(2))))
            for each in (low, high)
        ]
        for end, at in ((lo, ends[0]), (hi, ends[1])):
            assert abs(FINE.subtract(Decimal(int(end)), times(at, P))) <= 2 * Q + 3
        assert lo <= times(ends[0], P)
        assert hi >= times(ends[1], P)
    lo, hi = logs(objects([1, 2, 3]), objects([1, 4, 3]), P, 0)
    assert len(lo) == len(hi) == 3
    with carrying(0):  # of Q times ln 2 each end takes the end that makes it wider
        lo, hi = (int(each[0]) for each in logs(objects([3]), objects([3]), P, 9))
        assert lo == log(3, P)[0] - 9 * log(2, P)[1]
        assert hi == log(3, P)[1] - 9 * log(2, P)[0]


def ends_of(ball):
    return tuple(np.asarray(each).tolist() for each in (ball.lo, ball.hi))


def test_balls_are_rounded_outward():
    ball = Ball(objects([5, 8, 1023]), objects([6, 8, 1025]))
    moved, move = ball.shifted(8)
    assert (move, moved.lo.tolist(), moved.hi.tolist()) == (3, [0, 1, 127], [1, 1, 129])
    assert ball.shifted(11)[1] == ball.shifted(12)[1] == ball.shifted(30)[1] == 0
    assert ball.shifted(10)[1] == 1
    other = ball.over(3, 4)
    assert (other.lo.tolist(), other.hi.tolist()) == ([1, 2, 255], [2, 3, 342])
    assert (ball.scaled(3).lo[0], ball.scaled(3).hi[0]) == (15, 18)
    assert ball.sum() == (1036, 1039)
    one, two = Ball(objects([2, 3]), objects([5, 7])), Ball(objects([11, 13]), objects([17, 19]))
    assert ends_of(one[1:]) == ([3], [7])
    assert ends_of(one.times(two)) == ([22, 39], [85, 133])
    assert ends_of(one.product(two)) == (61, 218)
    assert ends_of(Ball(one.lo[None], one.hi[None]).dense(Ball(two.lo[:, None], two.hi[:, None]))) == ([[61]], [[218]])
    assert ends_of(Ball(objects([0, 3]), objects([1, 4]))[:2]) == ([0, 3], [1, 4])
    assert Ball(objects([0, 3]), objects([1, 4])).sum() == (3, 5)
    assert len(one) == 2
    square = Ball(objects(range(4)).reshape(2, 2), objects(range(5, 9)).reshape(2, 2))
    assert ends_of(square.turned()) == ([[0, 2], [1, 3]], [[5, 7], [6, 8]])
    held = Ball.empty(3)
    held.put(slice(1, 3), one)
    assert ends_of(held) == ([0, 2, 3], [0, 5, 7])
    assert held.lo.dtype == object
    try:
        Ball(objects([0, 0]), objects([1, 1])).sum()
    except Imprecise:
        return
    raise AssertionError


# ── log-sums ──────────────────────────────────────────────────────────────────────────────────────


@cache
def likelihoods():
    return [case for case in certificates() if case.name.startswith("crf of")]


def structures(cases=None):
    for case in about(likelihoods()) if cases is None else cases:
        yield structure_of(Structure.find(case.header["problem"]["output"], 1), case.arrays), case.name


def true_sums(structure, w, samples, masses):
    """h_i and Σ mass_i ∇h_i, every output being looked at."""
    heights, gradient = [], [Decimal(0)] * structure.dim
    for i, mass in zip(samples.tolist(), masses, strict=True):
        outputs = structure.outputs(i)
        own = np.full(len(outputs), i)
        weights = [true_exp(gain) for gain in structure.gains(w, own, outputs).fractions()]
        total = sum(weights)
        heights.append(FINE.ln(total))
        dense = structure.dense(own, outputs)
        for weight, row in zip(weights, dense.values, strict=True):
            share = FINE.divide(FINE.multiply(weight, Decimal(mass)), total)
            for j in np.flatnonzero(row):
                entry = decimal(Fraction(int(row[j]), dense.unit))
                gradient[j] = FINE.add(gradient[j], FINE.multiply(share, entry))
    return heights, gradient


def checked_sums(sums, heights, gradient, P, wide):
    """The widths of h_i, the error of the gradient and the radius, in units of 2^−P."""
    widths = []
    for lo, hi, height in zip(sums.lo.fractions(), sums.hi.fractions(), heights, strict=True):
        assert decimal(lo) <= height <= decimal(hi), wide
        widths.append(float((hi - lo) * 2**P))
    error = sum(
        abs(FINE.subtract(decimal(each), true)) for each, true in zip(sums.gradient.fractions(), gradient, strict=True)
    )
    assert error <= decimal(sums.radius), wide
    return max(widths), float(times(error, P)), float(sums.radius * 2**P)


def test_log_sums_hold_what_listing_all_outputs_finds():
    with localcontext(FINE):
        for structure, name in structures():
            check_log_sums(structure, name, np.random.default_rng([3, *name.encode()]))


def check_log_sums(structure, name, rng):
    every = np.arange(structure.n)
    for P, spare in ((96, 64), (14, 64), (20, 0)):
        for scale, samples in ((1, every), (3, every[::-1][:2]), (0, every[1:2])):
            w = Whole(objects(int(x) * scale for x in rng.integers(-4, 5, structure.dim)), 4)
            masses = objects(rng.integers(1, 4, len(samples)).tolist())
            heights, gradient = true_sums(structure, w, samples, masses.tolist())
            with carrying(spare):
                if spare == 0 and structure.name in ("chain", "tree"):
                    continue  # their products need room for the allowance of exp
                found = structure.log_sums(w, samples, masses, P) or listed_sums(structure, w, samples, masses, P)
                none = structure.log_sums(w, samples, None, P) or listed_sums(structure, w, samples, None, P)
            width, _, radius = checked_sums(found, heights, gradient, P, (name, P))
            most = 40 * structure.width * structure.n + 20
            if spare:
                assert width <= most, name
                assert radius <= 60 * most * max(magnitudes(structure)), name
            assert none.lo.fractions() == found.lo.fractions()
            assert none.hi.fractions() == found.hi.fractions()
            assert none.radius == 0
            assert len(none.gradient) in (0, structure.dim)
            assert not none.gradient.values.any()


def test_the_radius_of_listed_outputs_is_that_of_its_proof():
    """Σ (width of q + 1) · bound on Σ|φ| · mass, since Δ has at most twice that norm and the middle half that error."""
    for structure, name in structures():
        if structure.name in ("chain", "tree"):
            continue
        rng, samples, P = np.random.default_rng(9), np.arange(structure.n), 11
        w = Whole(objects(rng.integers(-4, 5, structure.dim).tolist()), 8)
        masses, expected = objects(range(1, structure.n + 1)), Fraction(0)
        found = listed_sums(structure, w, samples, masses, P)
        for i, mass in zip(samples.tolist(), masses, strict=True):
            outputs = structure.outputs(i)
            gains = structure.gains(w, np.full(len(outputs), i), outputs)
            low, high = exp(gains.values - gains.values.max(), gains.unit, P)
            tops, ends = [-(-(int(each) << P) // int(low.sum())) for each in high], [int(each) << P for each in low]
            wide = sum(tops) - sum(each // int(high.sum()) for each in ends) + len(outputs)
            expected += wide * Fraction(int(structure.magnitudes()[i]), structure.unit) * int(mass)
        assert found.radius == expected / 2**P, name


def test_the_gradient_of_a_chain_is_of_the_middles_of_its_shares():
    """Entry by entry, and its radius: Σ mass · Σ|x| · (widths of q + K), and of each pair its width and one."""
    chains = [each for each, _ in structures(likelihoods()) if each.name == "chain" and each.path is None]
    assert chains
    for chain in chains:
        rng, P, masses, X = np.random.default_rng(9), 5, objects(range(1, chain.n + 1)), chain.X
        s = chain.scores(Whole(objects([0] * chain.dim), 1), np.arange(chain.n))
        k, start = chain.k, chain.k * X.columns
        q = [objects(rng.integers(0, most, s.unary.size).tolist()).reshape(-1, k) for most in (32, 8)]
        z = [objects(rng.integers(0, most, k * k).tolist()).reshape(k, k) for most in (1 << 15, 5000)]
        expected, error = [Fraction(0)] * chain.dim, Fraction(0)
        for i, mass in enumerate(masses.tolist()):
            for t in range(s.starts[i], s.starts[i + 1]):
                label, entries = s.labels[t], range(X.indptr[s.at[t]], X.indptr[s.at[t] + 1])
                for b in range(k):
                    middle = Fraction(int(2 * q[0][t, b] + q[1][t, b]) // 2, 2**P) - int(b == label)
                    for e in entries:
                        expected[b * X.columns + X.indices[e]] += middle * mass * Fraction(int(X.values[e]), X.unit)
                for e in entries:
                    error += Fraction(abs(int(X.values[e])) * mass, X.unit) * (int(q[1][t].sum()) + k)
                if t > s.starts[i]:
                    expected[start + s.labels[t - 1] * k + label] -= mass
        for place, (low, wide) in enumerate(zip(z[0].ravel().tolist(), z[1].ravel().tolist(), strict=True)):
            low, high = low // 4**P, -(-(low + wide) // 4**P)
            expected[start + place] += Fraction((low + high) // 2, 2**P)
            error += high - low + 1
        found, radius = gradient_of(chain.X, s, masses, P, *(Ball(low, low + wide) for low, wide in (q, z)))
        assert found.fractions() == expected
        assert radius == error / 2**P


def magnitudes(structure):
    return [1 + float(Fraction(int(each), structure.unit)) for each in structure.magnitudes()]


# ── tangents ──────────────────────────────────────────────────────────────────────────────────────


def forests():
    """Samples of trees with features of both signs, of fractions, and of nodes without edges, at scores by chance."""
    rng = np.random.default_rng(2)
    for case in certificates():
        if case.name == "crf of tree":
            for scale in (1, 64):
                new = case.copy("finer")
                new.arrays["data_pairs"], new.arrays["data_data"] = (
                    case.arrays[f"data_{key}"] / scale for key in ("pairs", "data")
                )
                forest = structure_of(Structure.find("tree", 1), new.arrays)
                for _ in range(2):
                    w = Whole(objects(rng.integers(-2, 3, forest.dim).tolist()), 2)
                    for i in range(forest.n):
                        scored, unit = forest.scored(w, i, augment=False)
                        yield forest, i, scored, unit


def test_shares_of_forests_hold_those_of_many_bits():
    for forest, _, scored, unit in forests():
        order, fine = forest.sorted(scored), 100
        many = _forests.Passes(scored, order, unit, fine).shares()
        for P in (14, 20):
            few = _forests.Passes(scored, order, unit, P).shares()
            for ours, theirs in zip((*few[0], *few[1]), (*many[0], *many[1]), strict=True):
                assert (ours.lo << (fine - P) <= theirs.hi).all()
                assert (ours.hi << (fine - P) >= theirs.lo).all()


def test_shares_of_forests_hold_those_of_all_messages_inside():
    """Of one kind of messages, each in an interval of three times itself: one at one end, the others at the other."""
    for forest, _, scored, unit in forests():
        passes = _forests.Passes(scored, forest.sorted(scored), unit, 60)
        messages = [passes.up[node] for node in range(len(passes.up))]
        stacked = Ball(*(np.stack([getattr(each, end) for each in messages]) for end in ("lo", "hi")))
        for name, sound in (("u", passes.u), ("E", passes.E), ("up", stacked)) if len(scored.edges) else ():
            setattr(passes, name, Ball(sound.lo, sound.hi * 3))
            wide = [each for part in passes.shares() for each in part]
            for at, least in np.ndindex(sound.lo[0].size, 2):
                times = np.full(sound.lo.shape, 3 if least else 1, object)
                times.reshape(len(times), -1)[:, at] = 1 if least else 3
                setattr(passes, name, Ball(sound.lo * times, sound.hi * times))
                inside = [each for part in passes.shares() for each in part]
                for ours, theirs in zip(wide, inside, strict=True):
                    assert (ours.lo <= theirs.hi).all(), (name, at, least)
                    assert (ours.hi >= theirs.lo).all(), (name, at, least)
            setattr(passes, name, sound)


def test_sums_of_forests_are_those_of_their_roots():
    for forest, _, scored, unit in forests():
        for P in (14, 30):
            passes = _forests.Passes(scored, forest.sorted(scored), unit, P)
            low = high = 0
            for root in passes.roots():
                lo, hi = (int(each.sum()) for each in (passes.up[root].lo, passes.up[root].hi))
                twos = [passes.shift[root] * each for each in balls.log(2, P)]
                low, high = low + balls.log(lo, P)[0] + min(twos), high + balls.log(hi, P)[1] + max(twos)
            assert passes.log_sum() == (low, high)


def test_the_radius_of_a_forests_gradient_is_that_of_its_proof():
    """A share in lo … hi stands as the whole number below its middle, which is off by less than hi − lo + 1."""
    for forest, i, scored, unit in forests():
        passes = _forests.Passes(scored, forest.sorted(scored), unit, 14)
        nodes, pairs = passes.shares()
        found, radius = _forests.gradient_of(forest, scored, i, passes, 14)
        center = [(each.lo + each.hi) // 2 for each in (*nodes, *pairs)]
        total, error = [Fraction(0)] * forest.dim, Fraction(0)
        dense = np.zeros((len(nodes), forest.p), object)
        first = forest.offsets[i]
        for v in range(len(nodes)):
            own = slice(*forest.X.indptr[first + v : first + v + 2])
            dense[v, forest.X.indices[own]] = forest.X.values[own] * (forest.unit // forest.X.unit)
            for b in range(forest.k):
                share = int(center[v][b]) - (int(scored.truth[v]) == b) * (1 << 14)
                error += int(nodes[v].hi[b] - nodes[v].lo[b] + 1) * sum(map(abs, dense[v]))
                for j in range(forest.p):
                    total[b * forest.p + j] += share * dense[v, j]
        for e, (u, v) in enumerate(scored.edges.tolist()):
            features = forest.pairs[forest.ends[i] + e] * (forest.unit // forest.count_unit)
            for a, b in np.ndindex(forest.k, forest.k):
                share = int(center[len(nodes) + e][a, b]) - ((scored.truth[u], scored.truth[v]) == (a, b)) * (1 << 14)
                error += int(pairs[e].hi[a, b] - pairs[e].lo[a, b] + 1) * sum(map(abs, features))
                for j, x in enumerate(features):
                    total[forest.k * forest.p + (a * forest.k + b) * forest.q + j] += share * x
        assert found.tolist() == total
        assert radius == error


def test_the_ends_of_a_tangent_are_its_formula():
    """value + Σ p lo − (‖g‖ + radius)²/(2λ), value + Σ p hi, and Σ p hi at the start; with few bits all three show."""
    for case in about(likelihoods()):
        _, program = Tangent.prepare(case.header, case.arrays)
        form = program.formulation
        for bits in (16, 24, 96):
            found, (sums, told) = ends_at(program, bits), form.sums(program.theta, bits)
            value, lam = form.regularizer.value(program.theta), form.regularizer.lam
            gradient = program.theta * lam + sums.gradient * (1 / (form.total * form.weights.unit))
            norm = FINE.sqrt(decimal(gradient.squares()))
            radius = decimal(sums.radius / (form.total * form.weights.unit))
            away = FINE.divide(FINE.power(FINE.add(norm, radius), 2), decimal(2 * lam))
            lower = FINE.subtract(decimal(value + form.risk(sums.lo)), away)
            assert decimal(found.lower) <= FINE.add(lower, LAST), case.name
            assert FINE.subtract(lower, decimal(found.lower)) <= times(1 + away, 2 - bits)
            assert found.upper == found.reached == value + form.risk(sums.hi)
            assert found.start == form.risk(form.sums(program.start(), bits)[0].hi)
            assert found.arithmetic == told == f"ball ({bits} bits)"


def apart(scale):
    """A chain of two letters whose first label has all of the score at first, and none of what follows."""
    base = next(case for case in likelihoods() if case.name == "crf of chain")
    case = base.copy("apart")
    case.arrays |= {"data_labels": np.array([0, 1]), "data_offsets": np.array([0, 2]), "data_weights": np.ones(1)}
    case.arrays |= {"data_classes": np.array([0, 1]), "data_cost": 1.0 - np.eye(2), "data_n_inputs": np.array(1)}
    case.arrays |= {"data_data": np.ones(1), "data_indices": np.zeros(1, np.int64), "data_indptr": np.array([0, 1, 1])}
    case.arrays |= {"theta": np.array([0.0, -scale, -scale, -scale, 0.0, 0.0])}
    case.arrays["witnesses"] = np.zeros((0, 2), np.int64)
    case.sign()
    return case


def test_scores_that_lie_far_apart_take_more_bits():
    for scale, bits in ((30.0, 96), (100.0, 192), (250.0, 448), (600.0, 1024)):
        verdict = said(apart(scale), lower=-float("inf"), upper=float("inf"), gap=float("inf"))
        assert verdict.proven
        assert verdict.ends.arithmetic == f"ball ({bits} bits)", scale
    assert refusal(said, apart(1e4)) == "its scores lie too far apart to enclose with 1024 bits"
