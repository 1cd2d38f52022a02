"""A fitted model as an ONNX graph, for runtimes and languages that know nothing of this package.

The density of rows is written for each family as its formula, in float64. What follows is the same
for all: labels, probabilities, and the log density of the next point.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import log, pi
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from scstream import __version__
from scstream.families import Diagonal, Family, Gaussian, Multinomial, Poisson, Spherical
from scstream.families.contract import Array
from scstream.families.scores import JoinedScore, Score
from scstream.families.subspace import Subspace
from scstream.families.triangular import Triangular
from scstream.pipeline.assess import learner_of
from scstream.support.extras import need_package

if TYPE_CHECKING:
    from onnx import ModelProto

    from scstream.model import ScStream

_OPSET, _IR_VERSION = 18, 9
_LOG_2PI = log(2.0 * pi)
# Coefficients of Stirling's series; beyond 8 the terms that follow add less than 3e-13.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def to_onnx(model: ScStream) -> ModelProto:
    """Return a fitted model as an ONNX graph; see `ScStream.to_onnx`."""
    onnx = need_package("onnx", "onnx", "the export of a model needs onnx")
    check_is_fitted(model)
    learner = learner_of(model)
    assert learner is not None
    write = _FORMULAS.get(type(learner.family))
    if write is None:
        known = ", ".join(repr(family.name) for family in _FORMULAS)
        raise ValueError(
            f"A model of the family {str(learner.family)[:300]} cannot be written as an ONNX "
            f"graph; those of {known} can."
        )
    score, level = learner.next_point()
    graph, d, k = Graph(onnx), model.n_features_in_, learner.state.k
    scores, base = write(graph, Value(graph, "X"), learner.family, _parts(score))
    _read_off(graph, scores, base + level, learner.state.ids, outliers=learner.outliers is not None)
    names: Sequence[Any] = getattr(model, "feature_names_in_", range(d))
    said = {
        "family": learner.family.name,
        "columns": json.dumps([str(name) for name in names]),
        "ids": json.dumps(learner.state.ids.tolist()),
    }
    return graph.finished({"X": d}, {"label": 0, "probabilities": k, "score_samples": 0}, said)


def _read_off(graph: Graph, scores: Value, base: Any, ids: Any, *, outliers: bool) -> None:
    """Write labels, probabilities and log densities, given scores (n, c) and the log base (n,).

    Column k of the scores is a cluster yet to be born, which is not a label. The outlier component
    behind it is.
    """
    k = len(ids)
    labels = scores.columns([*range(k), *([k + 1] if outliers else [])])
    highest = graph("ReduceMax", scores, [1])
    total = graph("ReduceSum", graph("Exp", scores - highest), [1])
    density = graph("Squeeze", graph("Log", total) + highest, [1]) + base
    named = graph("Gather", np.append(ids, -1), graph("ArgMax", labels, axis=1, keepdims=0))
    shares = graph("Softmax", labels, axis=1)
    graph("Where", graph("IsNaN", density), -1, named, name="label")
    graph("Gather", shares, list(range(k)), axis=1, name="probabilities")
    graph("Identity", density, name="score_samples")


class Graph:
    """Collects the nodes and the constants of a graph."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def __call__(self, kind: str, *inputs: Any, name: str = "", **attributes: Any) -> Value:
        """Add a node of some values and constants, and return its value."""
        name = name or f"{kind.lower()}_{len(self._nodes)}"
        taken = [self._named(value) for value in inputs]
        self._nodes.append(self._onnx.helper.make_node(kind, taken, [name], **attributes))
        return Value(self, name)

    def _named(self, value: Any) -> str:
        if isinstance(value, Value):
            return value.name
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def sum(self, value: Value, axis: int) -> Value:
        """Return sums along an axis, which is left out."""
        return self("ReduceSum", value, [axis], keepdims=0)

    def finished(
        self, inputs: dict[str, int], outputs: dict[str, int], said: dict[str, str]
    ) -> ModelProto:
        """Return the checked graph, given the columns of its inputs and outputs, 0 for vectors.

        ``said`` are remarks for its readers.
        """
        helper, kind = self._onnx.helper, self._onnx.TensorProto

        def known(values: dict[str, int]) -> list[Any]:
            kinds = [kind.INT64 if name == "label" else kind.DOUBLE for name in values]
            shapes = [["N", d] if d else ["N"] for d in values.values()]
            return list(map(helper.make_tensor_value_info, values, kinds, shapes))

        graph = helper.make_graph(
            self._nodes, "clusters", known(inputs), known(outputs), self._constants
        )
        model: ModelProto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="scstream",
            producer_version=__version__,
        )
        helper.set_model_props(model, said)
        self._onnx.checker.check_model(model, full_check=True)
        return model


class Value:
    """A value in a graph: arithmetic with other values, numbers and arrays adds nodes."""

    __array_ufunc__ = None  # an array on the left leaves the operation to this class

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def _with(self, kind: str, first: Any, second: Any) -> Value:
        both = (x if isinstance(x, Value) else np.float64(x) for x in (first, second))
        return self.graph(kind, *both)

    def __add__(self, other: Any) -> Value:
        return self._with("Add", self, other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Value:
        return self._with("Mul", self, other)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Value:
        return self._with("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self._with("Sub", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self._with("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._with("Div", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self._with("MatMul", self, other)

    def columns(self, places: Any) -> Value:
        """Return some columns of a matrix; for a single place a vector."""
        return self.graph("Gather", self, places, axis=1)


# -- the families' formulas -----------------------------------------------------------------------

_Scores: TypeAlias = tuple[Value, Any]  # (n, c) under each component, and the log base measure (n,)


def _parts(score: Score) -> list[Any]:
    """Return the scores that a joined one is made of."""
    if isinstance(score, JoinedScore):
        return [leaf for part in score.parts for leaf in _parts(part)]
    return [score]


def _joined(parts: Sequence[Any], *names: str) -> list[Any]:
    """Return attributes of the parts (k, ...) below one another."""
    return [np.concatenate([getattr(part, name) for part in parts]) for name in names]


def _gaussian(graph: Graph, X: Value, family: Gaussian, parts: Sequence[Any]) -> _Scores:
    """Write Student-t densities: ``level - power log(1 + |W z - b|^2)``."""
    shift, scale = family.frame
    base: Any = -0.5 * _LOG_2PI * len(scale) - np.log(scale).sum()
    if family.space is not None:
        X, rest = _narrowed(graph, X, family.space)
        base = rest + base
    by = Triangular.of_factors(*_joined(parts, "factors", "const", "power"))
    k, d = by.b.shape
    turned = ((X - shift) / scale) @ by.W.transpose(2, 0, 1).reshape(d, k * d)
    off = graph("Reshape", turned, [0, k, d]) - by.b
    return by.level - by.power * graph("Log", graph.sum(off * off, 2) + by.c), base


def _narrowed(graph: Graph, X: Value, space: Subspace) -> tuple[Value, Value]:
    """Write rows of many columns as coordinates, and the log density of what these leave out."""
    w, q = space.lift.shape
    length = np.sqrt((space.lift**2).sum(axis=0))
    noise = max(space.usual, space.noise)
    Y = (X - space.centre) / space.unit
    along = Y @ (space.lift / length)
    left = graph("Max", graph.sum(Y * Y, 1) - graph.sum(along * along, 1), 0.0)
    constant = 0.5 * (w - q) * (_LOG_2PI + np.log(noise)) + np.log(space.unit).sum()
    return along / length, -0.5 / noise * left - (constant + np.log(length).sum())


def _observed(graph: Graph, X: Value) -> tuple[Value, Value, Value]:
    """Write which entries are there, as truth values and as numbers, and rows with 0 for others."""
    there = graph("Not", graph("IsNaN", X))
    return there, graph("Cast", there, to=11), graph("Where", there, X, 0.0)


def _distances(
    graph: Graph, X: Value, family: Diagonal, eta: Array, slope: Array, h: Array
) -> tuple[Value, Value, Value, Value]:
    """Write what is common to densities of independent columns.

    These are the distances ``h (z - mean)^2`` (n, c, d), the slope being ``-2 h mean``; which
    entries are there (n, 1, d); the sums (n, c) of log weight and constants; and the log base.
    """
    shift, scale = family.frame
    there, seen, known = _observed(graph, X)
    off = graph("Unsqueeze", (known - shift) / scale, [1]) + 0.5 * slope / h
    base = (seen @ (-0.5 * _LOG_2PI - np.log(scale))[:, None]).columns(0)
    level = seen @ eta[:, 1 : 1 + h.shape[1]].T + eta[:, 0]
    return h * (off * off), graph("Unsqueeze", there, [1]), level, base


def _diagonal(graph: Graph, X: Value, family: Diagonal, parts: Sequence[Any]) -> _Scores:
    """Write products of Student-t densities."""
    eta, b, c, power = _joined(parts, "eta", "b", "c", "power")
    far, there, level, base = _distances(graph, X, family, eta, b, c)
    fall = graph("Where", there, power * graph("Log", far + 1.0), 0.0)
    return level - graph.sum(fall, 2), base


def _spherical(graph: Graph, X: Value, family: Diagonal, parts: Sequence[Any]) -> _Scores:
    """Write Student-t densities of the entries that are there, of one variance."""
    eta, quad, nu = _joined(parts, "eta", "quad", "nu")
    far, there, level, base = _distances(
        graph, X, family, eta, *np.split(quad[:, 1:], 3, axis=1)[1:]
    )
    distance = graph.sum(graph("Where", there, far, 0.0), 2)
    half = 0.5 * graph.sum(graph("Cast", there, to=11), 2)
    level = level + log_rise(graph, 0.5 * nu, half)
    return level - (half + 0.5 * nu) * graph("Log", distance + 1.0), base


def _multinomial(graph: Graph, X: Value, family: Family, parts: Sequence[Any]) -> _Scores:
    """Write Dirichlet-multinomial densities."""
    sums, log_weight = _joined(parts, "sums", "log_weight")
    shapes = family.prior[1:] + sums[:, 1:]
    total = graph("ReduceSum", X, [1])
    rises, log_factorials = _rises(graph, X, shapes)
    scores = rises - log_rise(graph, shapes.sum(axis=1), total) + log_weight
    return scores, graph("Squeeze", log_rise(graph, 1.0, total), [1]) - log_factorials


def _poisson(graph: Graph, X: Value, family: Family, parts: Sequence[Any]) -> _Scores:
    """Write negative binomial densities of the counts that are there."""
    eta, shapes = _joined(parts, "eta", "shape")
    d = shapes.shape[1]
    _, seen, known = _observed(graph, X)
    rises, log_factorials = _rises(graph, known, shapes)
    linear = seen @ eta[:, 1 : 1 + d].T + known @ eta[:, 1 + d :].T + eta[:, 0]
    return linear + rises, -1.0 * log_factorials


def _rises(graph: Graph, counts: Value, shapes: Array) -> tuple[Value, Value]:
    """Write the sums (n, c) over columns of ``log(gamma(shape + count) / gamma(shape))``.

    The log factorials (n,) are the same with shapes of 1. Only counts above 0 are visited: in texts
    most are 0.
    """
    at = graph("NonZero", graph("Cast", counts, to=9))
    row, column = (graph("Gather", at, place, axis=0) for place in (0, 1))
    count = graph("Unsqueeze", graph("GatherND", counts, graph("Transpose", at)), [1])
    every = np.concatenate([shapes, np.ones((1, shapes.shape[1]))]).T
    each = log_rise(graph, graph("Gather", every, column, axis=0), count)
    nothing = counts @ np.zeros(every.shape)
    out = graph("ScatterND", nothing, graph("Unsqueeze", row, [1]), each, reduction="add")
    return out.columns(list(range(len(shapes)))), out.columns(len(shapes))


def log_rise(graph: Graph, a: Any, c: Value) -> Value:
    """Write ``log(gamma(a + c) / gamma(a))`` for a > 0 and c >= 0: ONNX has no gamma function.

    Stirling's series at ``y = a + 8`` and ``y + c``, and the eight factors below each. The series
    are subtracted term by term, so that the result is accurate where c is small against a.
    """
    y, end = a + 8.0, a + c
    u = c / y
    w = u + 1.0
    log1p = graph("Where", graph("Equal", w, 1.0), u, u * graph("Log", w) / (w - 1.0))
    series: Value = c * graph("Log", end + 8.0) + (y - 0.5) * log1p - c
    rest: Value = _stirling_rest(end + 8.0) - _stirling_rest(y)
    return series + rest - graph("Log", _eight_factors(end) / _eight_factors(a))


def _stirling_rest(y: Any) -> Any:
    """Return what Stirling's series adds beyond its logarithms."""
    square, out = y * y, _STIRLING[-1]
    for coefficient in reversed(_STIRLING[:-1]):
        out = coefficient + out / square
    return out / y


def _eight_factors(a: Any) -> Any:
    """Return ``a (a + 1) ... (a + 7)``."""
    q = a * (a + 7.0)
    return q * (q + 6.0) * (q + 10.0) * (q + 12.0)


_FORMULAS: dict[type[Family], Callable[..., _Scores]] = {
    Gaussian: _gaussian,
    Diagonal: _diagonal,
    Spherical: _spherical,
    Multinomial: _multinomial,
    Poisson: _poisson,
}
