"""NumPy arrays and Parquet files."""

import numpy as np
import pytest

from scstream.sources import SourceOptions, open_source


def test_arrays_are_read_in_batches_and_from_any_place(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    options = SourceOptions(300, columns=["2", "0"])
    with open_source(tmp_path / "rows.npy", options) as source:
        whole = list(source)
    np.testing.assert_array_equal(np.concatenate([b.X for b in whole]), X[:, [2, 0]])
    for k, batch in enumerate(whole):
        with open_source(tmp_path / "rows.npy", options) as source:
            source.seek(batch.place)
            assert [b.place for b in source] == [b.place for b in whole[k + 1 :]]


def test_parquet_is_read_in_batches_and_from_any_place(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed")
    n = 1000
    table = pa.table(
        {
            "when": pa.array(np.arange(n) * 10**6, pa.timestamp("us")),
            "x": np.arange(n, dtype=float),
            "n": pa.array([None if i % 10 == 0 else i for i in range(n)]),
            "w": pa.array([None if i % 7 == 0 else "ab"[i % 2] for i in range(n)]),
        }
    )
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=130)
    options = SourceOptions(time_column="when", period=100, keep=True)
    with open_source(tmp_path / "rows.parquet", options) as source:
        whole = list(source)
    assert [b.n for b in whole] == [100] * 10
    assert [b.time for b in whole] == [100.0 * (i + 1) for i in range(10)]
    X = whole[3].X
    assert list(X.labels) == ["x", "n", "w"]
    assert X.values[0].tolist() == list(range(300, 400))
    assert np.isnan(X.values[1][::10]).all()
    assert X.values[2][0] == "a"
    assert X.values[2][1] is None  # row 301, of which 7 is a divisor
    for k in (0, 4, 8):
        with open_source(tmp_path / "rows.parquet", options) as source:
            source.seek(whole[k].place)
            rest = list(source)
        assert [b.place for b in rest] == [b.place for b in whole[k + 1 :]]
        assert rest[0].X.values[0].tolist() == whole[k + 1].X.values[0].tolist()


def test_parquet_that_cannot_be(tmp_path):
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"no parquet at all")
    with pytest.raises(ValueError, match=r"rows\.parquet is not a Parquet file"):
        open_source(path)
