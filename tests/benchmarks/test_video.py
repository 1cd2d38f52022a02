"""The benchmark of the video on a film of a few small frames."""

import numpy as np
import pytest
from PIL import Image

from benchmarks import video
from benchmarks.store import read


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    place = tmp_path / "davis" / "kite-surf"
    (place / "JPEGImages").mkdir(parents=True)
    (place / "Annotations").mkdir()
    down, right = np.mgrid[:20, :30]
    for number in range(3):
        mask = (down - 10) ** 2 + (right - 8 - number) ** 2 <= 20
        picture = np.where(mask[..., None], (220, 120, 40), (40, 60, 160))
        picture = np.clip(picture + rng.normal(0, 6, picture.shape), 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(place / "JPEGImages" / f"{number:05d}.jpg", quality=95)
        Image.fromarray(255 * mask.astype(np.uint8)).save(
            place / "Annotations" / f"{number:05d}.png"
        )
    return tmp_path


def test_rows_and_table(data, monkeypatch, capsys):
    monkeypatch.setattr(video, "_K", (4,))
    results = data / "results.jsonl"
    command = ["--data", str(data), "--scale", "1", "--seeds", "1", "--results", str(results)]
    assert video.main(command) == 0
    rows = read(results)
    assert len(rows) == 6
    ours = rows[1]
    assert ours["contestant"] == "ScStream, track"
    for name in ("iou", "followed_iou", "seconds", "cpu_seconds", "n_clusters"):
        assert len(ours[name]) == 3
    assert min(ours["iou"]) > 0.8
    said = capsys.readouterr().out
    assert "3 frames of 30 x 20 pixels" in said
    assert said.count("| ScStream") == 4
    assert "| Mini-Batch K-Means, K = 4, Lab |" in said


def test_marks_are_those_mostly_inside_and_are_compared_by_their_union():
    labels = np.array([[0, 0, 1, 1], [0, 2, 2, 3]])
    mask = np.array([[True, True, True, False], [False, True, True, False]])
    assert video.marking(labels, mask) == {0, 2}
    assert video.overlap(labels, {0, 2}, mask) == pytest.approx(4 / 6)


def test_parts_count_only_where_they_are_followed():
    class Splitter:
        """Its cluster 1 splits in the second frame, the new part in the third."""

        def __init__(self):
            self.number = -1

        def segment(self, pixels):
            self.number += 1
            return np.array([[[1, 1, 0]], [[1, 2, 0]], [[3, 2, 0]]])[self.number]

        def splits(self):
            return [(1, 2)] if self.number == 1 else [(2, 9), (1, 3)]

        def n_clusters(self):
            return 2

    mask = np.array([[True, True, False]])
    course = video.run(Splitter(), [(None, mask)] * 3)
    assert course.iou == [1.0, 0.5, 0.0]
    assert course.followed_iou == [1.0, 1.0, 1.0]


def test_missing_folder_is_named(tmp_path, capsys, monkeypatch):
    assert video.main(["--data", str(tmp_path)]) == 1
    assert "davis/kite-surf is not in" in capsys.readouterr().err
    monkeypatch.delenv("SCSTREAM_DATA", raising=False)
    with pytest.raises(SystemExit):
        video.main([])
    assert "--data or SCSTREAM_DATA" in capsys.readouterr().err
