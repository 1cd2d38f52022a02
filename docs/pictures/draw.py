"""Draw the pictures of the pages in docs: ``python docs/pictures/draw.py``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from scstream import ScStream
from scstream.chronicle import Chronicle
from scstream.datasets import gaussian_stream
from scstream.plot import (
    ClusterColors,
    Projection,
    plot_clusters,
    plot_groups,
    plot_n_clusters,
    plot_paths,
    plot_river,
    plot_scores,
)
from scstream.video import segment_video

HERE = Path(__file__).parent


def save(figure: Figure, name: str) -> None:
    """Write a picture, small in size."""
    path = HERE / name
    figure.savefig(path, dpi=90)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(64).save(path, optimize=True)


def draw_stream() -> None:
    """Follow a drifting stream in five columns; draw it through one projection."""
    model, chronicle, colors = ScStream(random_state=0), Chronicle(), ClusterColors()
    moments = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = dict(zip((0, 29, 59), moments.subplots(1, 3, sharex=True, sharey=True), strict=True))
    stream = gaussian_stream(
        60, 600, n_clusters=9, n_features=5, births=1 / 3, box=30.0, speed=9.0, random_state=3
    )
    view = None
    for number, batch in enumerate(stream):
        scores = model.score_samples(batch.X) if model.n_batches_ else None
        chronicle.observe(model.partial_fit(batch.X), scores)
        view = Projection.from_model(model) if view is None else view
        if number in axes:
            ax = axes[number]
            plot_clusters(model, batch.X, projection=view, colors=colors, ax=ax)
            ax.set_title(f"batch {number}")
            ax.label_outer()
    save(moments, "clusters.png")

    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    top, river = figure.subplots(2, sharex=True, height_ratios=[1, 3])
    plot_n_clusters(chronicle.times, chronicle.n_clusters, labels=("", "clusters"), ax=top)
    plot_river(chronicle.times, chronicle.weights(), colors=colors, ax=river)
    save(figure, "river.png")

    figure = Figure(figsize=(9.0, 2.8), layout="constrained")
    plot_scores(chronicle.times, chronicle.score_quantiles(), ax=figure.subplots())
    save(figure, "scores.png")

    figure = Figure(figsize=(6.0, 4.6), layout="constrained")
    ax = figure.subplots()
    alive = set(chronicle[-1].ids.tolist())
    plot_paths(chronicle.paths(), alive=alive, colors=colors, ax=ax)
    ax.set(xlabel=chronicle.projection.labels[0], ylabel=chronicle.projection.labels[1])
    save(figure, "paths.png")


def draw_groups() -> None:
    """Draw squares, a ring and what lies in it: the clusters, and the groups above them."""
    rng, model = np.random.default_rng(0), ScStream(random_state=0)
    places = np.array([[-8.0, 5.0], [-8.0, -5.0], [-2.0, 0.0]])
    for _ in range(10):
        y = rng.integers(5, size=1000)
        angle = rng.uniform(0, 2 * np.pi, 1000)
        radius = np.where(y == 3, 4.0 + 0.3 * rng.normal(size=1000), 0.0)
        X = np.column_stack([7.0 + radius * np.cos(angle), radius * np.sin(angle)])
        X[y == 4] += 0.6 * rng.normal(size=(int((y == 4).sum()), 2))
        flat = y < 3
        X[flat] = places[y[flat]] + rng.uniform(-2, 2, size=(int(flat.sum()), 2))
        model.partial_fit(X)
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    plot_clusters(model, X, annotate=False, ax=left)
    left.set_title(f"{model.n_clusters_} clusters")
    plot_groups(model, X, ax=right)
    right.set_title(f"{len(model.groups_)} groups")
    save(figure, "groups.png")


def film_frame(number: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return a frame of a film: a sailing boat and a rising sun over a rolling sea."""
    height, width = 90, 150
    down, right = np.mgrid[:height, :width].astype(float)
    sky = np.stack([150 + 0.8 * down, 180 + 0.4 * down, 230 - 0.4 * down], axis=-1)
    wave = 8.0 * np.sin(right / 9.0 - number / 2.0 + down / 5.0)
    sea = np.stack([20 + 0 * down, 70 + 0.5 * down + wave, 130 + 0.3 * down + wave], axis=-1)
    picture = np.where((down > 50)[..., None], sea, sky)
    sun = (down - 34 + number) ** 2 + (right - 118) ** 2 < 70
    picture[sun] = (250, 215, 90)
    x, y = 20 + 4.0 * number, 54 + 1.5 * np.sin(number / 2.0)
    hull = (np.abs(down - y) < 4) & (np.abs(right - x) < 15 - (down - y + 4))
    sail = (down < y - 5) & (down > y - 34) & (right > x - 1) & (right - x < (down - y + 34) / 2)
    picture[hull] = (120, 50, 30)
    picture[sail] = (245, 240, 235)
    return np.clip(picture + rng.normal(0, 4, picture.shape), 0, 255).astype(np.uint8)


def draw_film() -> None:
    """Segment the film; keep the animation, painted by id, small."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        film, out = Path(place) / "film", Path(place) / "out"
        film.mkdir()
        for number in range(16):
            Image.fromarray(film_frame(number, rng)).save(film / f"{number}.png")
        for paint in ("mean", "id"):
            for _ in segment_video(film, out / paint, paint=paint):
                pass
        sheet = Image.new("RGB", (3 * 300, 3 * 180), "white")
        for row, number in enumerate((0, 7, 15)):
            kinds = (film, out / "mean", out / "id")
            for column, folder in enumerate(kinds):
                with Image.open(folder / f"{number}.png") as picture:
                    large = picture.resize((296, 176), Image.Resampling.NEAREST)
                sheet.paste(large, (300 * column + 2, 180 * row + 2))
        sheet.quantize(128).save(HERE / "film.png", optimize=True)


if __name__ == "__main__":
    draw_stream()
    draw_groups()
    draw_film()
