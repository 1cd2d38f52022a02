"""What sinks write, and that they can be taken back."""

import json

import numpy as np
import pytest

from scstream.sinks import FIELDS, open_sink
from scstream.sinks.journals import RejectJournal
from scstream.sinks.lines import in_last_decimals, with_numbers
from scstream.sources import Batch, Reject, SourceOptions, open_source

LABELS = np.array([0, 12, -1])
PROBABILITY = np.array([1.0, 0.1234565, 0.0])
SCORE = np.array([-1.5, 12345.67894, 0.00004])
FOUND = {"label": LABELS, "probability": PROBABILITY, "score": SCORE}


def source_batch(tmp_path, name, inside, **options):
    path = tmp_path / name
    path.write_text(inside)
    with open_source(path, SourceOptions(keep_rows=True, **options)) as source:
        return next(iter(source))


def written(tmp_path, name, batch, score=SCORE, **options):
    sink = open_sink(tmp_path / name, **options)
    sink.truncate({})
    sink.write(batch, FOUND | {"score": score})
    sink.close()
    return (tmp_path / name).read_text()


def test_numbers_are_laid_out_as_python_would():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.normal(size=500) * 10.0 ** rng.integers(-6, 9, size=500), [0, -0.5]]
    )
    units = in_last_decimals(values, 4)
    text = with_numbers([units], [4], [b"", b"\n"]).decode()
    assert text == "".join(f"{round(v * 1e4) / 1e4:.4f}\n" for v in values.tolist()).replace(
        "-0.0000", "0.0000"
    )
    assert in_last_decimals(np.array([1e300]), 4) is None
    assert in_last_decimals(np.array([np.nan]), 4) is None


def test_plain_csv_and_json_lines(tmp_path):
    batch = Batch(np.zeros((3, 1)), {}, numbers=np.array([1, 2, 5]))
    assert written(tmp_path, "out.csv", batch) == (
        "row,label,probability,score\n"
        "1,0,1.000000,-1.5000\n2,12,0.123456,12345.6789\n5,-1,0.000000,0.0000\n"
    )
    lines = written(tmp_path, "out.jsonl", batch).splitlines()
    assert json.loads(lines[1]) == {
        "row": 2, "label": 12, "probability": 0.123456, "score": 12345.6789
    }  # fmt: skip
    assert (
        written(tmp_path, "out.tsv", batch, fields=["label"]) == "row\tlabel\n1\t0\n2\t12\n5\t-1\n"
    )


def test_the_inputs_text_is_repeated_as_it_came(tmp_path):
    batch = source_batch(
        tmp_path, "in.csv", 'x,"a,b"\n1.50,"p\nq"\n2,"say ""no"""\n 3 ,\n', text=["1"]
    )
    assert written(tmp_path, "out.csv", batch, append=True, fields=["label"]) == (
        'x,"a,b",label\n1.50,"p\nq",0\n2,"say ""no""",12\n 3 ,,-1\n'
    )


def test_names_that_the_input_has_are_not_used_twice(tmp_path):
    batch = source_batch(tmp_path, "in.csv", "label,x\n1,2\n3,4\n5,6\n")
    head = written(tmp_path, "out.csv", batch, append=True).splitlines()[0]
    assert head == "label,x,scstream_label,scstream_probability,scstream_score"
    row = json.loads(written(tmp_path, "out.jsonl", batch, append=True).splitlines()[0])
    assert row == {
        "label": 1, "x": 2, "scstream_label": 0, "scstream_probability": 1.0, "scstream_score": -1.5
    }  # fmt: skip


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.jsonl"])
@pytest.mark.parametrize("text", ["csv", "tsv", "jsonl", "arrays"])
def test_any_input_is_appended_to_in_any_format(tmp_path, text, out):
    if text == "jsonl":
        inside = '{"x": 1, "w": "a"}\n{"x": 2, "w": "b,c"} \n{"x": 3, "w": null}\n'
    elif text == "arrays":
        inside = "[1, 0]\n[2, 1]\n[3, 2]\n"
    else:
        inside = 'x,w\n1,a\n2,"b,c"\n3,\n'.replace(",", "\t" if text == "tsv" else ",")
        inside = inside.replace("b\tc", "b,c")
    kind = "jsonl" if text == "arrays" else text
    batch = source_batch(tmp_path, f"in.{kind}", inside)
    found = written(tmp_path, out, batch, append=True, fields=["label"])
    again = tmp_path / out
    header = None if again.suffix == ".jsonl" else True
    with open_source(again, SourceOptions(keep_rows=True, header=header)) as source:
        rows = next(iter(source)).rows.dicts()
    assert [row["label"] for row in rows] == LABELS.tolist(), found
    assert [next(iter(row.values())) for row in rows] == [1, 2, 3]
    if text != "arrays":
        assert [row.get("w") for row in rows] == ["a", "b,c", None]


def test_scores_that_are_huge_or_infinite(tmp_path):
    batch = Batch(np.zeros((3, 1)), {})
    score = np.array([1.0, np.inf, 1e300])
    assert written(tmp_path, "out.csv", batch, score=score, fields=["score"]).splitlines() == [
        "row,score", "1,1.0", "2,inf", "3,1e+300"
    ]  # fmt: skip
    lines = written(tmp_path, "out.jsonl", batch, score=score, fields=["score"]).splitlines()
    assert [json.loads(line)["score"] for line in lines] == [1.0, None, 1e300]


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_a_sink_goes_back_to_a_place(tmp_path, name):
    def sink():
        return open_sink(tmp_path / name, overwrite=True)

    def write(to, times):
        for _ in range(times):
            to.write(Batch(np.zeros((3, 1)), {}), FOUND)

    whole = sink()
    whole.truncate({})
    write(whole, 5)
    whole.close()
    expected = (tmp_path / name).read_bytes()
    first = sink()
    first.truncate({})
    write(first, 2)
    first.sync()
    place = json.loads(json.dumps(first.place()))
    write(first, 2)  # what is lost
    first.close()
    second = sink()
    second.truncate(place)
    write(second, 3)
    second.close()
    assert (tmp_path / name).read_bytes() == expected
    (tmp_path / name).write_text("cut")
    with pytest.raises(ValueError, match="has 3 bytes, but the checkpoint knows of"):
        sink().truncate(place)


def test_parquet_in_one_file_and_in_parts(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed")
    batch = source_batch(tmp_path, "in.csv", "x,w\n1,a\n2,b\n3,\n")
    sink = open_sink(tmp_path / "one.parquet", append=True)
    sink.truncate({})
    sink.write(batch, FOUND)
    sink.close()
    table = parquet.read_table(tmp_path / "one.parquet")
    assert table.column_names == ["x", "w", *FIELDS[:3]]
    assert table["w"].to_pylist() == ["a", "b", None]
    assert table["score"].to_pylist() == SCORE.tolist()

    def parts():
        return open_sink(tmp_path / "parts.parquet", append=True, parts=True)

    sink = parts()
    sink.truncate({})
    for _ in range(2):
        sink.write(batch, FOUND)
        sink.sync()
        place = json.loads(json.dumps(sink.place()))
    sink.write(batch, FOUND)
    sink.sync()  # a checkpoint that is lost
    sink.write(batch, FOUND)  # and what was never finished
    sink = parts()
    sink.truncate(place)
    sink.write(batch, FOUND)
    sink.close()
    names = sorted(file.name for file in (tmp_path / "parts.parquet").iterdir())
    assert names == [f"part-{i:06d}.parquet" for i in range(3)]
    assert (
        parquet.read_table(tmp_path / "parts.parquet")["label"].to_pylist() == LABELS.tolist() * 3
    )
    (tmp_path / "parts.parquet" / "part-000000.parquet").unlink()
    with pytest.raises(ValueError, match=r"part-000000\.parquet is missing"):
        parts().truncate(place)


def test_rejects_are_written_once_each(tmp_path):
    journal = RejectJournal(tmp_path / "rejects.jsonl")
    journal.truncate({})
    journal.note(Batch(np.zeros((0, 1)), {}, rejects=[Reject(3, 2, "why", 'te"xt\n')]))
    journal.close()
    assert json.loads((tmp_path / "rejects.jsonl").read_text()) == {
        "line": 3, "row": 2, "reason": "why", "text": 'te"xt\n'
    }  # fmt: skip
