"""Rows drawn from a model's mixture, as it expects the next ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import vonmises_fisher

from scstream import validation as check
from scstream.families.contract import Array, Family
from scstream.families.encoded import Encoded
from scstream.families.packed import roots_of

if TYPE_CHECKING:
    from scstream.model import ScStream


def sample_rows(model: ScStream, n: int, random_state: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows (n, d), objects where some columns hold words, and their clusters' ids (n,)."""
    if not check.fits("sweeps", n):  # a whole number of at least 1
        raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
    rng = check.make_rng(random_state)
    family, state = model.family_, model._learner.state
    weight = np.maximum(model._learner.shares, 1e-300)  # all rows may be outliers
    place = rng.choice(len(weight), size=int(n), p=weight / weight.sum())
    posterior = family.prior + state.totals
    d = model.n_features_in_
    columns: dict[int, Any] = {}
    for block in family.independent_blocks(d):
        tau = block.posterior(posterior)
        drawn = _draw(block.family, tau, place, len(block.columns), rng)
        columns |= {j: drawn[:, i] for i, j in enumerate(block.columns)}
    kind = object if any(c.dtype.kind == "O" for c in columns.values()) else np.float64
    out = np.full((int(n), d), None if kind is object else np.nan, dtype=kind)
    for j, values in columns.items():
        out[:, j] = values
    return out, state.ids[place]


def _draw(family: Family, tau: Array, place: Any, d: int, rng: np.random.Generator) -> Any:
    """Return rows (n, d) of a block of columns, each of the cluster in its place."""
    if isinstance(family, Encoded):
        each = zip(family.parts(tau), family.form.widths, strict=True)
        codes = [_draw(part, own, place, width, rng) for (part, own), width in each]
        return family.form.decode(np.concatenate(codes, axis=1))
    about = family.describe(tau)
    if "value" in about:  # of constant columns
        return about["value"][place]
    if "covariance" in about:
        root = roots_of(about["covariance"])[place]
        noise = rng.normal(size=(len(place), d, 1)) / _tails(about, place, rng)[:, :, None]
        return about["mean"][place] + (root @ noise)[:, :, 0]
    if "concentration" in about and "mean" in about:
        out = np.empty((len(place), d))
        for k in np.unique(place):
            mean, kappa = about["mean"][k], float(about["concentration"][k])
            rows = place == k
            out[rows] = vonmises_fisher(mean / np.linalg.norm(mean), kappa).rvs(
                int(rows.sum()), random_state=rng
            )
        return out
    if "rate" in about:
        rate = about["rate"][place]
        if "dispersion" in about:
            wide = about["dispersion"][place]
            rate = rate * wide * rng.standard_gamma(1.0 / wide)
        return rng.poisson(rate).astype(np.float64)
    if "probability" in about:
        return (rng.random((len(place), d)) < about["probability"][place]).astype(np.float64)
    if "shape" in about:
        shape = about["shape"][place]
        return rng.gamma(shape, about["mean"][place] / shape)
    if "variance" in about:
        spread = np.broadcast_to(np.sqrt(about["variance"]), about["mean"].shape)[place]
        if "df" in about:
            spread = spread / _tails(about, place, rng)
        return rng.normal(about["mean"][place], spread)
    if family.text:
        return _draw_words(family, tau, place, d, rng)
    raise ValueError(
        f"The family {family.name!r} describes parts of a row, not how long a row is, so no rows "
        "can be drawn. Draw from model.clusters_[i].parameters instead."
    )


def _tails(about: dict[str, Array], place: Any, rng: np.random.Generator) -> Array:
    """Return what normal rows are divided by (n, 1) to have tails: 1 unless these are heavy."""
    if "df" not in about:
        return np.ones((len(place), 1))
    df = about["df"][place]
    out: Array = np.sqrt(rng.chisquare(df) / df)[:, None]
    return out


def _draw_words(family: Family, tau: Array, place: Any, d: int, rng: np.random.Generator) -> Any:
    """Return words (n, d) by the shares of each cluster's categories."""
    out = np.empty((len(place), d), dtype=object)
    expected = family.prior + tau  # the prior counts in what the next row is expected to be
    for k, columns in enumerate(family.describe_columns(expected, range(d))):
        rows = np.flatnonzero(place == k)
        for j in range(d):
            shares = columns[j]["probabilities"]
            p = np.array(list(shares.values()))
            drawn = rng.choice(len(p), size=len(rows), p=p / p.sum())
            words = list(shares)
            out[rows, j] = [words[i] for i in drawn]
    return out
