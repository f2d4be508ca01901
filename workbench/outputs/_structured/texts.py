"""Outputs as texts that rebuild them, and as keys that tell two outputs apart.

A text is JSON: numbers, strings, True, False and None stand for themselves, everything else is [kind, …]:

    ["list", …]  ["tuple", …]  ["set", …]  ["frozenset", …]  ["dict", [key, value], …]
    ["array", dtype, shape, values]  ["number", dtype, value]
    ["graph", class, [[node, attributes], …], [[u, v, attributes], …]]          networkx

Objects of other kinds have no text. Such an output is known by its features and its loss alone.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from workbench.errors import BadInput

PLAIN = (int, str, bool, float, type(None))
GROUPS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
GRAPHS = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")


class NoText(Exception):
    """An object of a kind that has no text."""


def written(output: Any) -> str:
    """The text of an output; `NoText` if it has none."""
    return json.dumps(encoded(output), separators=(",", ":"), allow_nan=False)


def read(text: str) -> Any:
    """The output of a text; `BadInput` for a text that `written` does not write."""
    try:
        return decoded(json.loads(text))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise BadInput(f"the text {text[:40]!r} is no output") from None


def encoded(x: Any) -> Any:
    if type(x) in PLAIN and x == x and x not in (float("inf"), -float("inf")):
        return x
    if type(x) in (list, tuple):
        return [type(x).__name__, *map(encoded, x)]
    if type(x) in (set, frozenset):
        return [type(x).__name__, *sorted(map(encoded, x), key=json.dumps)]
    if type(x) is dict:
        return ["dict", *sorted(([encoded(k), encoded(v)] for k, v in x.items()), key=json.dumps)]
    if isinstance(x, np.ndarray) and x.dtype.kind in "biufU":
        return ["array", x.dtype.str, list(x.shape), x.ravel().tolist()]
    if isinstance(x, np.generic) and x.dtype.kind in "biufU":
        return ["number", x.dtype.str, x.item()]
    if type(x).__module__.startswith("networkx.") and type(x).__name__ in GRAPHS:
        return encoded_graph(x)
    raise NoText


def encoded_graph(graph: Any) -> Any:
    nodes = sorted(([encoded(u), encoded(dict(data))] for u, data in graph.nodes(data=True)), key=json.dumps)
    edges = [[encoded(u), encoded(v), encoded(dict(data))] for u, v, data in graph.edges(data=True)]
    if not graph.is_directed():
        edges = [[*sorted(edge[:2], key=json.dumps), edge[2]] for edge in edges]
    return ["graph", type(graph).__name__, nodes, sorted(edges, key=json.dumps)]


def decoded(x: Any) -> Any:
    if not isinstance(x, list):
        return x
    kind, *parts = x
    if kind in GROUPS:
        return GROUPS[kind](map(decoded, parts))
    if kind == "dict":
        return {decoded(key): decoded(value) for key, value in parts}
    if kind == "array":
        return np.array(parts[2], parts[0]).reshape(parts[1])
    if kind == "number":
        return np.dtype(parts[0]).type(parts[1])
    if kind == "graph" and parts[0] in GRAPHS:
        import networkx

        graph = getattr(networkx, parts[0])()
        graph.add_nodes_from((decoded(u), decoded(data)) for u, data in parts[1])
        graph.add_edges_from((decoded(u), decoded(v), decoded(data)) for u, v, data in parts[2])
        return graph
    raise ValueError(f"there is no kind of output called {kind!r}")


def key_of(output: Any) -> Any:
    """What is equal for equal outputs, and hashable; None for objects that are equal only to themselves."""
    if isinstance(output, np.ndarray) and output.dtype.kind != "O":
        return output.dtype.str, output.shape, output.tobytes()
    output = output.item() if isinstance(output, np.generic) else output
    if by_value(output):
        try:
            hash(output)
            return type(output), output
        except TypeError:  # a tuple with a list in it, say
            pass
    try:
        return written(output)
    except (NoText, TypeError, ValueError):
        return None


def by_value(output: Any) -> bool:
    """Whether an object's hash is of its value; that of tensors, and of most objects, is of identity."""
    if isinstance(output, tuple | frozenset):
        return all(map(by_value, output))
    kind = type(output)
    tensor = hasattr(kind, "__array__") and not isinstance(output, np.generic)
    return kind.__hash__ not in (None, object.__hash__) and not tensor and not kind.__module__.startswith("networkx.")
