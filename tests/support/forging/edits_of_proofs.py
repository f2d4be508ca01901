"""Edits of the proof and of the claim: weights, witnesses, θ, ends, fractions, trees."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from forging.forgery import ODD_NUMBERS, ODD_VALUES, Forgery, Unfit, edit, pick, place


def keep(forgery: Forgery, rows: Any) -> None:
    """The cuts `rows` only, in this order; a line of the fractions goes with each."""
    if "fractions" in forgery.arrays:
        lines = forgery.arrays["fractions"].tobytes().split(b"\n")
        forgery.arrays["fractions"] = np.frombuffer(b"\n".join(lines[row] for row in rows), np.uint8)
    for name in ("samples", "witnesses", "weights"):
        forgery.arrays[name] = forgery.arrays[name][np.asarray(rows, int)]


def cuts_of(forgery: Forgery) -> int:
    """How many cuts there are, at least one."""
    if not len(forgery.arrays["samples"]):
        raise Unfit
    return len(forgery.arrays["samples"])


# ── weights, cuts ─────────────────────────────────────────────────────────────────────────────────


@edit
def weight_moved(rng: Any, f: Forgery) -> None:
    M, weights = cuts_of(f), f.arrays["weights"]
    here, there = rng.integers(M, size=2)
    amount = weights[here] * rng.choice([0.01, 0.5, 1.0])
    weights[here] -= amount
    weights[there] += amount


@edit
def weights_scaled(rng: Any, f: Forgery) -> None:
    cuts_of(f)
    with np.errstate(over="ignore"):
        f.arrays["weights"] *= rng.choice([2.0, 0.5, 1.1, 1e-300, 1e300, 1e10])


@edit
def weights_of_a_sample_scaled(rng: Any, f: Forgery) -> None:
    cuts_of(f)
    chosen = f.arrays["samples"] == pick(rng, f.arrays["samples"])
    f.arrays["weights"][chosen] *= rng.choice([2.0, 0.5, 10.0, 0.0, 1e-9])


@edit
def cut_dropped(rng: Any, f: Forgery) -> None:
    M = cuts_of(f)
    keep(f, np.delete(np.arange(M), rng.integers(M)))


@edit
def cut_doubled(rng: Any, f: Forgery) -> None:
    M = cuts_of(f)
    keep(f, [*range(M), int(rng.integers(M))])
    if rng.random() < 0.5:
        f.arrays["weights"] = f.arrays["weights"] / 2


@edit
def cuts_in_another_order(rng: Any, f: Forgery) -> None:
    keep(f, rng.permutation(cuts_of(f)))


@edit
def weight_an_ulp_away(rng: Any, f: Forgery) -> None:
    weights, at = place(rng, f, "weights")
    weights[at] = np.nextafter(weights[at], rng.choice([-np.inf, np.inf]))


@edit
def weight_odd(rng: Any, f: Forgery) -> None:
    weights, at = place(rng, f, "weights")
    weights[at] = rng.choice(ODD_NUMBERS)


@edit
def weight_on_a_priceless_sample(rng: Any, f: Forgery) -> None:
    idle = np.flatnonzero(f.arrays["data_weights"] == 0)
    sample, weights = pick(rng, idle), f.arrays["weights"]
    row = pick(rng, range(cuts_of(f)))
    keep(f, [*range(len(weights)), row])
    f.arrays["samples"][-1] = sample
    f.arrays["weights"][-1] = rng.choice([0.0, 1e-12, 1.0, weights.max(), 5e-324])
    same = np.flatnonzero(f.arrays["samples"][:-1] == sample)
    if same.size:
        f.arrays["witnesses"][-1] = f.arrays["witnesses"][same[0]]


# ── witnesses, samples, θ ─────────────────────────────────────────────────────────────────────────


@edit
def witness_out_of_range(rng: Any, f: Forgery) -> None:
    witnesses, at = place(rng, f, "witnesses")
    witnesses[at] = rng.choice([-1, -2, 10**7, 2**62, -(2**63), 2**63 - 1, witnesses.max() + 1, 255])


@edit
def witness_another_output(rng: Any, f: Forgery) -> None:
    witnesses, at = place(rng, f, "witnesses")
    witnesses[at] = rng.integers(-1, witnesses.max(initial=1) + 1)


@edit
def witness_of_another_sample(rng: Any, f: Forgery) -> None:
    here, there = rng.integers(cuts_of(f), size=2)
    f.arrays["witnesses"][here] = f.arrays["witnesses"][there]


@edit
def witness_doubled_inside(rng: Any, f: Forgery) -> None:
    if f.arrays["witnesses"].shape[1] < 2:
        raise Unfit
    row = f.arrays["witnesses"][rng.integers(cuts_of(f))]
    row[-1] = row[0]


@edit
def sample_of_a_cut_changed(rng: Any, f: Forgery) -> None:
    samples, at = place(rng, f, "samples")
    n = len(f.arrays["data_weights"])
    samples[at] = rng.choice([rng.integers(n), n, -1, 2**40, (samples[at] + 1) % n])


@edit
def theta_moved(rng: Any, f: Forgery) -> None:
    theta = f.arrays["theta"]
    theta += rng.normal(size=theta.shape) * rng.choice([1e-12, 1e-6, 1e-2, 1.0, 100.0])


@edit
def theta_scaled(rng: Any, f: Forgery) -> None:
    f.arrays["theta"] *= rng.choice([0.0, -1.0, 1 + 1e-9, 0.5, 1e150])


@edit
def theta_odd(rng: Any, f: Forgery) -> None:
    theta, at = place(rng, f, "theta")
    theta[at] = rng.choice(ODD_NUMBERS)


@edit
def theta_of_another(rng: Any, f: Forgery) -> None:
    f.arrays["theta"] = pick(rng, f.others).arrays["theta"].copy()


@edit
def numbers_of_mixed_sizes(rng: Any, f: Forgery) -> None:
    """Numbers of very different sizes, for arithmetic that takes sums apart or rounds somewhere."""
    array = f.arrays[pick(rng, {"theta", "weights", "data_data", "data_cost", "data_targets"} & set(f.arrays))]
    array *= 2.0 ** rng.integers(-40, 20, array.shape)
    f.sign()


# ── the claim ─────────────────────────────────────────────────────────────────────────────────────


@edit
def claim_moved(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    f.header[key] += rng.choice([1e-12, -1e-12, 1e-3, -1e-3, 1.0, -1.0]) * max(abs(f.header[key]), 1e-9)


@edit
def claim_an_ulp_away(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    for _ in range(int(rng.integers(1, 4))):
        f.header[key] = float(np.nextafter(f.header[key], rng.choice([-np.inf, np.inf])))


@edit
def claim_odd(rng: Any, f: Forgery) -> None:
    f.header[pick(rng, ("lower", "upper", "gap"))] = pick(rng, ODD_NUMBERS + ODD_VALUES + (10**400, -(10**400)))


@edit
def claim_infinite_on_a_side(rng: Any, f: Forgery) -> None:
    key, end = pick(rng, (("lower", -np.inf), ("upper", np.inf)))
    f.header[key] = float(end)
    f.header["gap"] = pick(rng, (f.header["gap"], float("inf"), 0.0))


@edit
def ends_exchanged(rng: Any, f: Forgery) -> None:
    f.header["lower"], f.header["upper"] = f.header["upper"], f.header["lower"]


@edit
def optimum_claimed(rng: Any, f: Forgery) -> None:
    exact = f.header.get("optimum", str(Fraction(f.header["lower"])))
    above, below = Fraction(exact).as_integer_ratio()
    ways = ("1/3", "0/1", exact, f"{above * 7}/{below * 7}", f"{above + 1}/{below}", f" {exact}", f"{exact}\n")
    ways += (f"-{exact}", "1/0", "0x10", "1_0", "٣", "9" * 5000, "1e3", "1.5", 3, None, "+1", f"{above}/00{below}")
    f.header["optimum"] = pick(rng, ways)


@edit
def fractions_edited(rng: Any, f: Forgery) -> None:
    if "fractions" not in f.arrays:
        raise Unfit
    lines = f.arrays["fractions"].tobytes().split(b"\n")
    at = int(rng.integers(len(lines)))
    above, below = lines[at].split(b"/")
    more = b"%x" % abs(int(above, 16) + 1)
    ways = (more + b"/" + below, b"-" + lines[at], above + b"/0", above, b"", lines[at].upper(), b"0x" + lines[at])
    ways += (lines[at] + b"\n1/1", b"+" + lines[at], b" " + lines[at], b"0/1", above + b"/-" + below, b"0" + lines[at])
    ways += (b"1" * 10**6 + b"/" + b"3" * 10**6, above + b"0" * 10**5 + b"/" + below + b"0" * 10**5)
    lines[at] = pick(rng, ways)
    f.arrays["fractions"] = np.frombuffer(b"\n".join(lines), np.uint8)


@edit
def fractions_moved(rng: Any, f: Forgery) -> None:
    if "fractions" not in f.arrays:
        raise Unfit
    lines = [Fraction(*(int(x, 16) for x in line.split(b"/"))) for line in f.arrays["fractions"].tobytes().split(b"\n")]
    here, there = rng.integers(len(lines), size=2)
    amount = lines[here] / int(rng.choice([1, 2, 1000, -2]))
    lines[here] -= amount
    lines[there] += amount
    f.arrays["fractions"] = np.frombuffer(b"\n".join(b"%x/%x" % each.as_integer_ratio() for each in lines), np.uint8)


@edit
def fractions_invented(rng: Any, f: Forgery) -> None:
    M = cuts_of(f)
    number = pick(rng, (b"0/1", b"1/1", b"1/%x" % M, b"1/3", b"-1/1"))
    f.arrays["fractions"] = np.frombuffer(b"\n".join([number] * M), np.uint8)


@edit
def fractions_dropped(rng: Any, f: Forgery) -> None:
    if f.arrays.pop("fractions", None) is None:
        raise Unfit


# ── trees ─────────────────────────────────────────────────────────────────────────────────────────


def tree_of(f: Forgery) -> int:
    if "tree_parents" not in f.arrays:
        raise Unfit
    return len(f.arrays["tree_parents"])


def trimmed(f: Forgery, nodes: Any) -> None:
    """The nodes given only; λ goes with each, parents keep their numbers where they still exist."""
    a = f.arrays
    rows = [slice(a["tree_indptr"][v], a["tree_indptr"][v + 1]) for v in nodes]
    for name in ("tree_data", "tree_indices"):
        a[name] = np.concatenate([a[name][:0], *(a[name][row] for row in rows)])
    a["tree_indptr"] = np.cumsum([0, *(row.stop - row.start for row in rows)]).astype(np.int64)
    for name in ("tree_parents", "tree_branches", "tree_cutoffs"):
        a[name] = a[name][np.asarray(nodes, int)]


@edit
def tree_cut(rng: Any, f: Forgery) -> None:
    trimmed(f, list(range(int(rng.integers(1, tree_of(f) + 1)))))


@edit
def tree_node_dropped(rng: Any, f: Forgery) -> None:
    m = tree_of(f)
    gone = int(rng.integers(m))
    trimmed(f, [v for v in range(m) if v != gone])
    parents = f.arrays["tree_parents"]
    if rng.random() < 0.7:
        parents[parents > gone] -= 1


@edit
def tree_parent_changed(rng: Any, f: Forgery) -> None:
    parents, at = place(rng, f, "tree_parents")
    parents[at] = rng.choice([0, at[0], at[0] - 1, -1, 10**6, at[0] // 2])


@edit
def tree_branch_changed(rng: Any, f: Forgery) -> None:
    branches, at = place(rng, f, "tree_branches")
    branches[at] = rng.choice([-1, 0, 1, branches[at] ^ 1, -2, 10**6, branches[at] + 2])


@edit
def tree_cutoff_changed(rng: Any, f: Forgery) -> None:
    cutoffs, at = place(rng, f, "tree_cutoffs")
    cutoffs[at] = rng.choice([*ODD_NUMBERS, cutoffs[at] / 2, cutoffs[at] * 2])


@edit
def tree_multiplier_changed(rng: Any, f: Forgery) -> None:
    data, at = place(rng, f, "tree_data")
    with np.errstate(over="ignore"):
        data[at] = rng.choice([data[at] * 2, data[at] / 2, 0.0, -data[at], 1e200, np.nan, np.inf, data[at] + 1e-3])


@edit
def tree_multiplier_moved(rng: Any, f: Forgery) -> None:
    indices, at = place(rng, f, "tree_indices")
    indices[at] = rng.choice([0, 1, indices[at] + 1, -1, 10**9])


@edit
def tree_rows_changed(rng: Any, f: Forgery) -> None:
    array, at = place(rng, f, pick(rng, ("tree_indptr", "tree_cuts")))
    array[at] += rng.choice([-1, 1, 2])


@edit
def tree_grown(rng: Any, f: Forgery) -> None:
    m = tree_of(f)
    trimmed(f, [*range(m), int(rng.integers(m))])
    f.arrays["tree_parents"][-1] = rng.integers(m)
    f.arrays["tree_branches"][-1] = rng.integers(-1, 2 * np.count_nonzero(f.arrays["data_weights"]))


@edit
def tree_node_doubled(rng: Any, f: Forgery) -> None:
    m = tree_of(f)
    trimmed(f, [*range(m), int(rng.integers(m))])


@edit
def tree_branches_exchanged(rng: Any, f: Forgery) -> None:
    tree_of(f)
    branches, (here,) = place(rng, f, "tree_branches")
    there = int(rng.integers(len(branches)))
    branches[[here, there]] = branches[[there, here]]


@edit
def tree_state_changed(rng: Any, f: Forgery) -> None:
    """The next state, the one before, or none that there is."""
    tree_of(f)
    branches, at = place(rng, f, "tree_branches")
    branches[at] = rng.choice([branches[at] + 2, branches[at] - 2, branches[at] + 1, 2 * branches.max() + 2, 2**62])


@edit
def tree_children_of_a_node_dropped(rng: Any, f: Forgery) -> None:
    """A node's children become those of its parent, so that the states of one sample cover the other."""
    m = tree_of(f)
    v, parents = int(rng.integers(m)), f.arrays["tree_parents"]
    parents[1:][parents[1:] == v] = parents[v]


# ── hidden states ─────────────────────────────────────────────────────────────────────────────────


@edit
def position_hidden_or_shown(rng: Any, f: Forgery) -> None:
    positions, at = place(rng, f, "data_positions")
    positions[at] = rng.choice([-1, 0, positions[at] + 1, *f.arrays["data_spans"][at[0]]])
    f.sign()


@edit
def span_changed(rng: Any, f: Forgery) -> None:
    spans, at = place(rng, f, "data_spans")
    spans[at] += rng.choice([-1, 1])
    f.sign()
