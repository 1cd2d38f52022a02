"""A whole model as a checkpoint's content, and back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream import validation as check
from scstream.checkpoint import envelope, tables
from scstream.checkpoint.errors import CheckpointError
from scstream.checkpoint.groups import pack_grouping, unpack_grouping
from scstream.checkpoint.randomness import pack_random_state, unpack_random_state
from scstream.checkpoint.values import Node, Packer
from scstream.engines.tensors import to_host
from scstream.families import BY_NAME
from scstream.records import HISTORY
from scstream.sampler.rules import RULES, Rules
from scstream.support.times import is_length, length

if TYPE_CHECKING:
    from scstream.model import ScStream

# Parameters that are plain values. The kernel, the callback and the seed are dealt with apart.
_PLAIN = (
    "family", "alpha", "half_life", "epsilon", "sweeps", "max_sweeps", "max_clusters", "splits",
    "merges", "outlier_weight", "n_jobs", "verbose", "group_level",
)  # fmt: skip
_APART = {"kernel", "rules", "on_event", "random_state", "engine", "device"}
_MOST_COLUMNS = 2**31


class LostKernel:
    """Stands for the kernel of a loaded model, until the user gives it again.

    The model predicts without it. Learning needs it.
    """

    def __call__(self, age: float) -> float:
        """Raise: what the kernel was is not known."""
        raise ValueError(
            "The model was saved with a kernel, a function, which no file can hold. Give it again "
            "before the model learns on: ScStream.load(path, kernel=f), or "
            "model.set_params(kernel=f)."
        )

    def __repr__(self) -> str:
        return "LostKernel()"


def save(model: ScStream, path: str | os.PathLike[str], extra: dict[str, Any] | None) -> None:
    """Write a model to a file."""
    params = model.get_params(deep=False)
    strange = sorted(set(params) - set(_PLAIN) - _APART)
    if strange:
        raise ValueError(
            f"{type(model).__name__} has parameters that a checkpoint does not know: "
            f"{', '.join(strange)}."
        )
    check.check_parameters(params)
    packer = Packer()
    content: dict[str, Any] = {
        "parameters": {name: packer.value(_plain(params[name]), name) for name in _PLAIN},
        "kernel": params["kernel"] is not None,
        "rules": (params["rules"] or RULES).to_saved(),
        "random_state": pack_random_state(params["random_state"], packer),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "fitted": _pack_fitted(model, packer) if model.n_batches_ else None,
        "extra": checked_extra(extra),
    }
    envelope.write(path, content, packer.arrays)


def _plain(value: Any) -> Any:
    """Return a length of time as text, anything else as it is."""
    return value if isinstance(value, str) or not is_length(value) else f"{length(value)!r}s"


def _pack_fitted(model: ScStream, packer: Packer) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    return {
        "learner": tables.pack_learner(model._learner, packer),
        "history": tables.pack_history(model._history, packer),
        "groups": pack_grouping(model._groups_kept(), packer, rows=model.group_level is not None),
        "labels": packer.array(_here(model.labels_)),
        "sublabels": packer.array(_here(model.sublabels_)),
        "n_features": int(model.n_features_in_),
        "dates": bool(model.dates_),
        **({} if model._seen is None else {"seen": packer.array(model._seen)}),
        "feature_names": None if names is None else [str(name) for name in names],
    }


def _here(labels: Any) -> Any:
    """Return labels that are with a cluster's workers, or on a device, as an array."""
    return to_host(labels.compute() if hasattr(labels, "compute") else labels)


def checked_extra(extra: Any) -> dict[str, Any]:
    """Return what the user wants to save with the model, if it is plain JSON."""
    if extra is None:
        return {}
    if not isinstance(extra, dict) or not _is_plain(extra):
        raise ValueError(
            "extra must be a dict of plain JSON: text as keys; None, truth values, finite numbers, "
            f"text, lists and such dicts as values. Got {str(extra)[:200]}."
        )
    out: dict[str, Any] = json.loads(json.dumps(extra))  # a copy, and proof that it can be read
    return out


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return value is None or isinstance(value, str | int)


def load(kind: type[ScStream], path: str | os.PathLike[str], kernel: Any) -> tuple[Any, Any]:
    """Return a model of the given class, and the extra, from a file."""
    try:
        content, arrays = envelope.read(path)
        return _unpack(kind, Node(content, arrays, "the model"), kernel)
    except (OSError, MemoryError):
        raise
    except _KernelError as error:
        raise ValueError(str(error)) from None
    except Exception as error:  # whatever a file provokes further down, the file is to blame
        found = error
        if not isinstance(error, CheckpointError):
            reason = str(error).rstrip(".") or type(error).__name__
            found = CheckpointError(f"Not a valid checkpoint: {reason}.")
        found.add_note(f"The file is {os.fspath(path)!r}.")
        raise found from None if found is error else error


class _KernelError(Exception):
    """The caller gives a kernel to a model that has none: his mistake, not the file's."""


def _unpack(kind: type[ScStream], node: Node, kernel: Any) -> tuple[ScStream, dict[str, Any]]:
    with_kernel = node.flag("kernel")
    if kernel is not None and not with_kernel:
        raise _KernelError(
            "The saved model has no kernel. Load it without one; set_params changes parameters."
        )
    given = node.node("parameters")
    params = {name: given.value(name) for name in _PLAIN}
    params["kernel"] = (kernel or LostKernel()) if with_kernel else None
    params["random_state"] = unpack_random_state(node, "random_state")
    changed = node.node("rules").tree
    params["rules"] = Rules.from_saved(changed) if changed else None
    model = kind(**params)
    check.check_parameters(model.get_params(deep=False))
    output = node.get("output")
    if output is not None:
        if output not in ("default", "pandas", "polars"):
            raise node.fail("output", "not a known kind of table")
        model.set_output(transform=output)
    fitted = node.maybe("fitted")
    if fitted is not None:
        _unpack_fitted(model, fitted, kernel or LostKernel())
    extra = node.node("extra").tree
    return model, extra


def _unpack_fitted(model: ScStream, node: Node, kernel: Any) -> None:
    d = node.integer("n_features", 1, _MOST_COLUMNS)
    names = None if node.get("feature_names") is None else node.texts("feature_names")
    if names is not None and len(names) != d:
        raise node.fail("feature_names", f"not the names of {d} columns")
    learner = tables.unpack_learner(node.node("learner"), d, kernel)
    history = tables.unpack_history(node.node("history"), HISTORY)
    labels = node.array("labels", np.int64, None)
    sublabels = node.array("sublabels", np.int64, len(labels))
    known = (labels >= -1) & (labels < learner.state.next_id)
    if not np.all(known) or np.any((sublabels < 0) | (sublabels > 1)):
        raise node.fail("labels", "not a list of labels")
    if type(learner.family) is not _kind_of(model.family, learner.family):
        raise node.fail("learner", "of a different family than the model's parameter")
    model._learner, model._history = learner, history
    width = tables.row_width(learner.family, d)
    model._grouping = unpack_grouping(node.node("groups"), width, learner, model._rules)
    model.labels_, model.sublabels_ = labels, sublabels
    model.n_features_in_ = d
    model.dates_ = node.flag("dates")
    if "seen" in node.tree:
        model._seen = _seen(node, d)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)


def _seen(node: Node, d: int) -> Any:
    """Return the least and the largest number (2, d) of each column, NaN where there is none."""
    seen = node.at(node.get("seen"), "seen")
    if seen.shape != (2, d) or seen.dtype != float or np.any(seen[0] > seen[1]):
        raise node.fail("seen", f"not the ranges of {d} columns")
    return seen


def _kind_of(family: Any, learned: Any) -> type:
    """Return the class that a model's parameter calls for."""
    if family == check.AUTO:
        return type(learned)
    return BY_NAME[family] if isinstance(family, str) else type(family)
