"""The files that the authors' Julia package was measured on."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.speed.jobs import ALL_NEW
from benchmarks.speed.tables import Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate, say
from scstream import Gaussian, Multinomial, ScStream


def anchors(options: Options) -> Result:
    """Time the files that the authors' Julia package was measured on."""
    path = options.anchors
    if path is None:
        raise FileNotFoundError("no anchors.json: name it with --anchors, or its folder by --data")
    held = json.loads(path.read_text())
    rows, figures = [], {}
    for name, anchor in held.items():
        if not isinstance(anchor, dict) or "file" not in anchor:
            continue
        say(f"  {name}")
        with np.load(path.parent / anchor["file"]) as data:
            X, y = data["X"], data["y"]
        big = "fed again" in str(anchor["batches"])
        run = _big_anchor if big else _anchor
        predict, update, ari, k = run(options, _anchored(anchor["settings"], X.shape[1]), X, y)
        theirs = anchor["predict_s"] + _least(anchor["update_s"])
        factor, asked = theirs / (predict + update), anchor["factor_to_reach"]
        figures[name] = {"predict": predict, "update": update, "ari": ari, "factor": factor}
        later = _over_all(anchor)
        if later is not None:
            figures[name]["over all"] = (anchor["predict_s"] + later) / (predict + update)
        rows.append(
            [name, ms(predict), ms(update), ms(anchor["predict_s"]),
             ms(_least(anchor["update_s"])), digits(factor), f"{asked:g}",
             holds(factor, asked, at_least=True),
             "" if later is None else f"{digits(figures[name]['over all'])} ({ms(later)})",
             f"{ari:.3f}, {k}", _their_ari(anchor["quality"])]
        )  # fmt: skip
    columns = ("file", "predict", "update", "Julia: predict", "Julia: update", "times as fast",
               "asked", "holds", "over all batches (Julia: update)", "ARI and K",
               "Julia: ARI")  # fmt: skip
    note = (
        "The Julia package slows down with its history on some files. Then the early batches, its "
        "faster ones, are judged; the ratio by its median over all batches, where that was "
        "measured, is in a column of its own. Ours is always the median over all batches. ARI is "
        "the mean over the predictions of all timed batches."
    )
    return Result([Table(columns, rows, note)], figures)


def _anchored(settings: Mapping[str, float], d: int) -> ScStream:
    """Return the model with the settings of an anchor; lambda is one over the half-life."""
    family: Gaussian | Multinomial
    if "dirichlet" in settings:
        family = Multinomial(concentration=settings["dirichlet"])
    else:
        family = Gaussian(
            mean=np.full(d, float(settings["m"])),
            mean_strength=settings["kappa"],
            cov=settings["Psi"],
            cov_strength=settings["nu"],
        )
    half_life = 1.0 / settings["lambda"]
    return ScStream(family, alpha=settings["alpha"], half_life=half_life, random_state=0)


def _anchor(
    options: Options, model: ScStream, X: np.ndarray, y: np.ndarray
) -> tuple[float, float, float, int]:
    """Return median seconds of predict and update, mean ARI, and the clusters at the end.

    Labels are scored when the stream is over: the scorer would leave caches cold for each batch.
    """
    starts = range(1000, len(X), 1000)[: options.turns(len(X))]
    model.partial_fit(X[:1000])
    times, found = [], []
    for start in starts:
        batch = X[start : start + 1000]
        begin = time.perf_counter()
        found.append(model.predict(batch))
        middle = time.perf_counter()
        model.partial_fit(batch)
        times.append((middle - begin, time.perf_counter() - middle))
    truth = (y[start : start + 1000] for start in starts)
    scores = [adjusted_rand_score(*pair) for pair in zip(truth, found, strict=True)]
    predict, update = np.median(times, axis=0)
    return float(predict), float(update), float(np.mean(scores)), model.n_clusters_


def _big_anchor(
    options: Options, model: ScStream, X: np.ndarray, y: np.ndarray
) -> tuple[float, float, float, int]:
    """Return the same for one large batch that is fed again and again."""
    if options.quick:
        X, y = X[:40_000], y[:40_000]
    model.set_params(rules=ALL_NEW).partial_fit(X[:20_480]).partial_fit(X)
    took = alternate(
        {
            "predict": Job(lambda turn: model.predict(X)),
            "update": Job(lambda turn: model.partial_fit(X)),
        },
        options.turns(7),
    )
    ari = float(adjusted_rand_score(y, model.predict(X)))
    return took["predict"], took["update"], ari, model.n_clusters_


def _least(seconds: float | Mapping[str, float]) -> float:
    return min(seconds.values()) if isinstance(seconds, Mapping) else seconds


def _over_all(anchor: Mapping[str, Any]) -> float | None:
    """Return the seconds of an update over all batches of the file, if there is such a figure."""
    seconds = anchor["update_s"]
    found = seconds.get(f"all {anchor['batches']}") if isinstance(seconds, Mapping) else None
    return None if found is None else float(found)


def _their_ari(quality: Mapping[str, Any]) -> str:
    """Return the ARI of the first setting named, which is the one that was timed."""
    told = quality.get("ari")
    if told is None:
        told = next(iter(quality.values()))["ari"]
    return ", ".join(f"{value:.3f}" for value in (told if isinstance(told, list) else [told]))
