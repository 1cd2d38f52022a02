"""A whole model as a checkpoint's content, and back."""

from __future__ import annotations

import copy
import json
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream import validation as check
from scstream.checkpoint import envelope
from scstream.checkpoint.envelope import Arrays
from scstream.checkpoint.errors import CheckpointError, require
from scstream.checkpoint.forms import array, ids, many, maybe, plain, whole
from scstream.checkpoint.groups import entries, grouping
from scstream.checkpoint.learned import LostKernel, history, learner
from scstream.checkpoint.values import Packer, value_of
from scstream.engines.tensors import to_host
from scstream.families import BY_NAME
from scstream.sampler.rules import RULES, Rules
from scstream.support.frozen import changed
from scstream.support.times import is_length, length

if TYPE_CHECKING:
    from scstream.model import ScStream

_SAVED = (
    "family", "alpha", "half_life", "epsilon", "sweeps", "max_sweeps", "max_clusters", "splits",
    "merges", "outlier_weight", "random_state", "n_jobs", "verbose", "group_level",
)  # fmt: skip
_SINGLE = float(np.finfo(np.float32).max)
_APART = {"kernel", "rules", "on_event", "engine", "device"}


def _fitted(model: ScStream) -> dict[str, Any]:
    """Return what a model has learned, by name."""
    names, state = getattr(model, "feature_names_in_", None), model._learner.state
    if not all(np.all(np.isfinite(sums)) for sums in (state.past, state.now.current)):
        raise ValueError(
            "The model cannot be saved: its clusters' statistics are not finite. Some number in "
            "the data was too large; scale the data and start a new model."
        )
    last = model.__dict__.get("_last")
    return {
        **({} if last is None else {"last_batch": last[1]}),
        "learner": model._learner,
        "history": list(model._history),
        "groups": entries(model._groups_kept(), with_rows=model.group_level is not None),
        "labels": _here(model.labels_),
        "sublabels": _here(model.sublabels_),
        "n_features": model.n_features_in_,
        "dates": model.dates_,
        "seen": model._seen,
        "feature_names": None if names is None else [str(name) for name in names],
    }


def _here(labels: Any) -> Any:
    """Return labels that are with a cluster's workers, or on a device, as an array."""
    return to_host(labels.compute() if hasattr(labels, "compute") else labels)


def save(model: ScStream, path: str | os.PathLike[str], extra: dict[str, Any] | None) -> None:
    """Write a model to a file."""
    envelope.write(path, *_contents(model, extra))


def to_bytes(model: ScStream) -> bytes:
    """Return what a model goes on with: no labels of the last batch, of the records the last.

    Of the last batch's statistics, which merging asks for, single precision will do.
    """
    brief = copy.copy(model)
    if model.n_batches_:
        brief._last = model._learner, model._last_batch.astype(np.float32)
        nothing = np.zeros(0, dtype=np.int64)
        brief._learner = changed(model._learner, state=model._learner.state.all_past())
        brief._history = deque([model._history[-1]])
        brief.labels_ = brief.sublabels_ = nothing
    return envelope.compressed(*_contents(brief, None))


def _contents(model: ScStream, extra: dict[str, Any] | None) -> tuple[dict[str, Any], Arrays]:
    """Return a model as a checkpoint's content and arrays."""
    params = model.get_params(deep=False)
    strange = sorted(set(params) - set(_SAVED) - _APART)
    if strange:
        raise ValueError(
            f"{type(model).__name__} has parameters that a checkpoint does not know: "
            f"{', '.join(strange)}."
        )
    check.check_parameters(params)
    packer = Packer()
    content: dict[str, Any] = {
        "parameters": {name: packer.value(_plain(params[name]), name) for name in _SAVED},
        "kernel": params["kernel"] is not None,
        "rules": (params["rules"] or RULES).to_saved(),
        "output": getattr(model, "_sklearn_output_config", {}).get("transform"),
        "fitted": packer.value(_fitted(model) if model.n_batches_ else None, "The model"),
        "extra": _checked_extra(extra or {}),
    }
    return content, packer.arrays


def _plain(value: Any) -> Any:
    """Return a length of time as text, anything else as it is."""
    return value if isinstance(value, str) or not is_length(value) else f"{length(value)!r}s"


def _checked_extra(extra: Any) -> dict[str, Any]:
    """Return what the user wants to save with the model, if it is plain JSON."""
    try:
        out: dict[str, Any] = json.loads(json.dumps(extra, allow_nan=False))
        plain = isinstance(extra, dict) and out == extra
    except (TypeError, ValueError):
        plain = False
    if not plain:
        raise ValueError(
            "extra must be a dict of plain JSON: text as keys; None, truth values, finite numbers, "
            f"text, lists and such dicts as values. Got {str(extra)[:200]}."
        )
    return out


def load(kind: type[ScStream], path: str | os.PathLike[str], kernel: Any) -> tuple[Any, Any]:
    """Return a model of the given class, and the extra, from a file."""
    try:
        return _loaded(kind, lambda: envelope.read(path), kernel)
    except CheckpointError as error:
        error.add_note(f"The file is {os.fspath(path)!r}.")
        raise


def from_bytes(kind: type[ScStream], data: bytes, kernel: Any) -> ScStream:
    """Return a model of the given class that `to_bytes` wrote."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"A model is read from bytes; got {type(data).__name__}.")
    model: ScStream = _loaded(kind, lambda: envelope.decompressed(bytes(data)), kernel)[0]
    return model


def _loaded(
    kind: type[ScStream], read: Callable[[], tuple[dict[str, Any], Arrays]], kernel: Any
) -> tuple[Any, Any]:
    """Return the model and the extra of what is read, or raise `CheckpointError`."""
    try:
        content, arrays = read()
        model = _model(kind, content, arrays, kernel)
        extra = plain(dict)(content["extra"], {}, "extra")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever a file provokes further down, the file is to blame
        found = error
        if not isinstance(error, CheckpointError):
            found = CheckpointError(f"Not a valid checkpoint: {type(error).__name__}: {error}")
        raise found from None if found is error else error
    if kernel is not None and model.kernel is None:
        raise ValueError(
            "The saved model has no kernel. Load it without one; set_params changes parameters."
        )
    return model, extra


def _model(kind: type[ScStream], content: dict[str, Any], arrays: Any, kernel: Any) -> ScStream:
    given, rules, output = (content[name] for name in ("parameters", "rules", "output"))
    params = {name: value_of(given[name], arrays) for name in _SAVED}
    if plain(bool)(content["kernel"], {}, "kernel"):
        params["kernel"] = kernel or LostKernel()
    params["rules"] = Rules.from_saved(rules) if rules else None
    model = kind(**params)
    check.check_parameters(model.get_params(deep=False))
    if output is not None:
        require(output in ("default", "pandas", "polars"), "output is not a known kind of table")
        model.set_output(transform=output)
    if content["fitted"]:
        _restore(model, value_of(content["fitted"], arrays))
    return model


def _restore(model: ScStream, saved: dict[str, Any]) -> None:
    """Give a model what it had learned."""
    d = whole(1, 2**31)(saved["n_features"], {}, "n_features")
    sizes = {"D": d}
    own = learner(saved["learner"], sizes, "learner")
    expected = _kind_of(model.family, own.family)
    require(type(own.family) is expected, "learner is of another family than the parameter")
    labels = ids("n", low=-1)(saved["labels"], sizes, "labels")
    sublabels = ids("n")(saved["sublabels"], sizes, "sublabels")
    known = np.all(labels < own.state.next_id) and np.all(sublabels <= 1)
    require(known, "labels are not those of clusters")
    names = maybe(many(plain(str)))(saved["feature_names"], sizes, "feature_names")
    if names is not None:
        require(len(names) == d, f"feature_names are not the names of {d} columns")
        model.feature_names_in_ = np.array(names, dtype=object)
    seen = maybe(array(np.float64, 2, "D"))(saved["seen"], sizes, "seen")
    require(seen is None or not np.any(seen[0] > seen[1]), "seen is not ranges of columns")
    model._learner, model._history, model._seen = (
        own,
        history(saved["history"], sizes, "history"),
        seen,
    )
    last = maybe(array(np.float32, "K", 2, "P", low=-_SINGLE, high=_SINGLE))
    if (found := last(saved.get("last_batch"), sizes, "last_batch")) is not None:
        model._last = own, found.astype(np.float64)
    model._grouping = grouping(saved["groups"], sizes, own)
    model.labels_, model.sublabels_ = labels, sublabels
    model.n_features_in_, model.dates_ = d, plain(bool)(saved["dates"], sizes, "dates")


def _kind_of(family: Any, learned: Any) -> type:
    """Return the class that a model's parameter calls for."""
    if family == check.AUTO:
        return type(learned)
    return BY_NAME[family] if isinstance(family, str) else type(family)
