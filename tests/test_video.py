"""Video: frames in order, segments that follow what moves, files that can be read back."""

import sys

import numpy as np
import pytest
from PIL import Image

from scstream import ScStream
from scstream.chronicle import Chronicle
from scstream.cli import main
from scstream.video import (
    COLUMNS,
    Segmenter,
    id_colors,
    outputs_of,
    pixel_rows,
    read_frames,
    segment_video,
)

HEIGHT, WIDTH = 24, 36
GROUND, DISC = (40, 60, 160), (220, 120, 40)


def frame(number, rng):
    """Return a disc that moves to the right over a plain ground, and its mask."""
    down, right = np.mgrid[:HEIGHT, :WIDTH]
    mask = (down - 12) ** 2 + (right - 8 - 2 * number) ** 2 <= 25
    picture = np.where(mask[..., None], DISC, GROUND) + rng.normal(0, 6, (HEIGHT, WIDTH, 3))
    return np.clip(picture, 0, 255).astype(np.uint8), mask


@pytest.fixture(scope="module")
def clip():
    rng = np.random.default_rng(0)
    return [frame(number, rng) for number in range(6)]


@pytest.fixture
def folder(clip, tmp_path):
    place = tmp_path / "clip"
    place.mkdir()
    for number, (picture, _) in enumerate(clip):
        Image.fromarray(picture).save(place / f"f{number + 8}.png")  # f8, f9, f10 ...
    (place / "notes.txt").write_text("no image")
    return place


def marks(segments, mask):
    return {i for i in np.unique(segments).tolist() if mask[segments == i].mean() > 0.5}


def overlap(marked, mask):
    return (marked & mask).sum() / (marked | mask).sum()


# -- pixels ---------------------------------------------------------------------------------------


def test_rows_hold_color_and_place(clip):
    picture = clip[0][0]
    rows = pixel_rows(picture, "rgb").reshape(HEIGHT, WIDTH, 5)
    np.testing.assert_array_equal(rows[..., :3] * 255, picture)
    np.testing.assert_allclose(rows[5, 7, 3:], [7.5 / HEIGHT, 5.5 / HEIGHT])
    assert {len(names) for names in COLUMNS.values()} == {5}


def test_lab_has_the_values_of_the_standard():
    picture = np.array([[[255, 255, 255], [255, 0, 0], [128, 128, 128]]], dtype=np.uint8)
    lab = pixel_rows(picture, "lab")[:, :3]
    np.testing.assert_allclose(
        lab, [[100.0, 0.0, 0.0], [53.24, 80.09, 67.2], [53.59, 0.0, 0.0]], atol=0.02
    )


def test_ids_have_colors_of_their_own_that_stay():
    colors = id_colors(np.arange(100))
    gaps = np.abs(colors[:, None].astype(int) - colors[None]).max(axis=2)
    assert gaps[~np.eye(100, dtype=bool)].min() >= 8
    np.testing.assert_array_equal(id_colors(np.array([[7, -1], [7, 50]]))[:, 0], colors[[7, 7]])
    assert len(set(id_colors(np.array([-1]))[0].tolist())) == 1  # grey


@pytest.mark.parametrize(("shape", "color"), [((4, 4), "rgb"), ((4, 4, 3), "hsv")])
def test_what_is_no_frame_is_refused(shape, color):
    with pytest.raises(ValueError, match=r"shape \(height, width, 3\)|one of lab, rgb"):
        pixel_rows(np.zeros(shape, dtype=np.uint8), color)


# -- frames ---------------------------------------------------------------------------------------


def test_folder_is_read_in_the_order_of_numbers(folder, clip):
    frames = list(read_frames(folder))
    assert [f.name for f in frames] == [f"f{n}" for n in range(8, 14)]
    for ours, (picture, _) in zip(frames, clip, strict=True):
        np.testing.assert_array_equal(ours.pixels, picture)


def test_scale_takes_means_of_pixels(folder, clip):
    small = next(read_frames(folder, scale=0.5)).pixels
    means = clip[0][0].reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean(axis=(1, 3))
    assert np.abs(small - means).max() <= 1.0


@pytest.mark.parametrize("name", ["clip.gif", "clip.mp4"])
def test_animation_is_read_back(name, clip, folder, tmp_path):
    if name.endswith("mp4"):
        pytest.importorskip("av", reason="PyAV is not installed")
    assert len(list(segment_video(folder, tmp_path / name, fps=10))) == len(clip)
    frames = list(read_frames(tmp_path / name))
    assert [f.name for f in frames] == [f"{n:05d}" for n in range(len(clip))]
    for ours, (picture, _) in zip(frames, clip, strict=True):
        assert ours.pixels.shape == (HEIGHT, 2 * WIDTH, 3)
        assert np.abs(ours.pixels[:, :WIDTH].astype(float) - picture).mean() < 12.0


def test_wide_animation_is_scaled_down(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("scstream.video._WIDEST", 36)
    list(segment_video(folder, tmp_path / "a.gif", max_frames=1))
    assert next(read_frames(tmp_path / "a.gif")).pixels.shape == (HEIGHT // 2, WIDTH, 3)


def test_frames_that_cannot_be_had_are_explained(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder or file"):
        read_frames(tmp_path / "none")
    with pytest.raises(ValueError, match="scale must be"):
        read_frames(folder, scale=0.0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no images"):
        list(read_frames(tmp_path / "empty"))
    Image.new("RGB", (36, 24)).save(folder / "f8.jpg")
    with pytest.raises(ValueError, match=r"f8\.\w+ and f8\.\w+ in .* the same name"):
        list(read_frames(folder))
    (folder / "f8.jpg").unlink()
    Image.new("RGB", (5, 5)).save(folder / "f99.png")
    with pytest.raises(ValueError, match=r"f99 of .* is 5 x 5 pixels; .* 36 x 24"):
        list(read_frames(folder))
    (folder / "f98.png").write_text("no image")
    with pytest.raises(ValueError, match=r"f98\.png cannot be read as an image"):
        list(read_frames(folder))
    broken = tmp_path / "broken.mp4"
    broken.write_text("no video")
    pytest.importorskip("av", reason="PyAV is not installed")
    with pytest.raises(ValueError, match="cannot be read as a video"):
        list(read_frames(broken))


# -- segments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("color", "track"), [("lab", False), ("rgb", True)])
def test_segments_follow_what_moves(clip, color, track):
    segmenter = Segmenter(color=color, track=track)
    marked = marks(segmenter.segment(clip[0][0]), clip[0][1])
    for picture, mask in clip[1:]:
        segments = segmenter.segment(picture)
        for old, new in segmenter.model.history_[-1].splits:
            marked |= {new} if old in marked else set()
        assert overlap(np.isin(segments, list(marked)), mask) > 0.8
    assert segmenter.n_frames == len(clip)
    assert segmenter.model.time_ == len(clip) - 1


def test_tracking_makes_no_new_segments(clip):
    segmenter = Segmenter(track=True)
    first = set(np.unique(segmenter.segment(clip[0][0])).tolist())
    blank = np.full_like(clip[0][0], 250)
    blank[:, ::3] = 5
    assert set(np.unique(segmenter.segment(blank)).tolist()) <= first


def test_first_frame_is_settled_on_a_sample(clip, monkeypatch):
    sizes = []
    learn = ScStream.partial_fit

    def counted(self, X, **options):
        sizes.append(len(X))
        return learn(self, X, **options)

    monkeypatch.setattr(ScStream, "partial_fit", counted)
    pixels = HEIGHT * WIDTH
    for first_sample, expected in [(200, [200, pixels, pixels]), (None, [pixels, pixels])]:
        sizes.clear()
        segmenter = Segmenter(first_sample=first_sample)
        segments = segmenter.segment(clip[0][0])
        assert segments.shape == (HEIGHT, WIDTH)
        segmenter.segment(clip[1][0])
        assert sizes == expected


def test_frame_counts_for_no_more_than_its_weight(clip):
    for weight, counted in [(300.0, 300.0), (None, HEIGHT * WIDTH), (1e6, HEIGHT * WIDTH)]:
        segmenter = Segmenter(frame_weight=weight)
        segmenter.segment(clip[0][0])
        total = sum(cluster.count for cluster in segmenter.model.clusters_)
        assert total == pytest.approx(counted)


def test_painted_by_mean_looks_like_the_frame(clip):
    for color in ("lab", "rgb"):
        segmenter = Segmenter(color=color)
        picture = segmenter.paint(segmenter.segment(clip[0][0]))
        assert np.abs(picture.astype(float) - clip[0][0]).mean() < 15.0


def test_outliers_are_painted_grey(clip):
    model = ScStream(outlier_weight=0.01, random_state=0)
    segmenter = Segmenter(model)
    segments = segmenter.segment(clip[0][0])
    segments[0, 0] = -1
    red, green, blue = segmenter.paint(segments)[0, 0]
    assert red == green == blue


def test_misuse_of_a_segmenter_is_explained(clip):
    with pytest.raises(ValueError, match="at least 100"):
        Segmenter(first_sample=5)
    with pytest.raises(ValueError, match="at least 100"):
        Segmenter(frame_weight=0.0)
    segmenter = Segmenter()
    segments = segmenter.segment(clip[0][0])
    with pytest.raises(ValueError, match="give one that is not fitted"):
        Segmenter(segmenter.model)
    with pytest.raises(ValueError, match="paint must be"):
        segmenter.paint(segments, "loudly")
    with pytest.raises(ValueError, match="not clusters of the model"):
        segmenter.paint(segments + 1000)


# -- the whole run --------------------------------------------------------------------------------


def test_run_writes_frames_animation_and_chronicle(folder, tmp_path):
    chronicle = Chronicle()
    out = tmp_path / "out"
    reports = list(segment_video(folder, out, max_frames=3, chronicle=chronicle))
    names = [report.name for report in reports]
    assert names == ["f8", "f9", "f10"]
    assert sorted(p.name for p in out.iterdir()) == sorted(
        [*(f"{name}.png" for name in names), "side-by-side.gif"]
    )
    assert np.asarray(Image.open(out / "f8.png")).shape == (HEIGHT, WIDTH, 3)
    assert len(list(read_frames(out / "side-by-side.gif"))) == 3
    assert [moment.n_points for moment in chronicle] == [HEIGHT * WIDTH] * 3
    assert [report.n_clusters for report in reports] == chronicle.n_clusters.tolist()


def test_originals_are_not_overwritten(folder):
    with pytest.raises(ValueError, match="would overwrite the originals"):
        segment_video(folder, folder)


@pytest.mark.parametrize(
    "options", [{"paint": "loudly"}, {"max_frames": 0}, {"scale": 2.0}, {"fps": 0.0}]
)
def test_bad_options_are_refused_before_anything_is_written(folder, tmp_path, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        segment_video(folder, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def run(*arguments):
    return main(["video", *map(str, arguments)])


def test_command_segments_a_folder(folder, tmp_path, capsys):
    out, notes = tmp_path / "out.gif", tmp_path / "notes.jsonl"
    status = run(
        folder, "-o", out, "--max-frames", 3, "--paint", "id", "--track", "--chronicle", notes
    )
    assert status == 0
    said = capsys.readouterr()
    assert said.err.startswith("frame 1/3  ")
    assert f"3 frames of {HEIGHT * WIDTH} pixels" in said.err
    frames, animation = outputs_of(out)
    assert len(list(frames.iterdir())) == 3
    assert animation == out
    assert out.exists()
    assert len(Chronicle.read(notes)) == 3
    assert Chronicle.read(notes).columns == COLUMNS["lab"]


def test_command_says_what_is_wrong(tmp_path, capsys):
    assert run(tmp_path / "none") == 1
    assert "scstream video: error: there is no folder or file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("package", "action"),
    [
        ("PIL", lambda place: read_frames(place)),
        ("av", lambda place: segment_video(place, place / "a.mp4")),
    ],
)
def test_missing_packages_name_the_extra(monkeypatch, tmp_path, package, action):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"scstream\[video\]"):
        action(tmp_path)
