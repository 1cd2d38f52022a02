"""JSON lines as programs write them: fields that come and go, numbers in quotes, arrays."""

import json

import numpy as np
import pytest

from scstream.sources import SourceOptions, open_source

N = 300
RNG = np.random.default_rng(5)
X = RNG.normal(size=N).round(3).tolist()
PLAIN = [{"x": x, "y": -x, "colour": "rgb"[i % 3]} for i, x in enumerate(X)]


def read(path, objects, **options):
    """Return the batches of a file of these objects, and what its columns were taken for."""
    path.write_text("".join(json.dumps(row) + "\n" for row in objects))
    roles = []
    options = SourceOptions(on_columns=roles.extend, **options)
    with open_source(path, options) as source:
        batches = list(source)
    return batches, {role.name: (role.kind, role.why) for role in roles}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_a_field_that_the_first_object_lacks_is_a_column(path):
    batches, roles = read(path, [{"y": 1.5, "colour": "r"}, *PLAIN[1:]])
    assert list(roles) == ["y", "colour", "x"]
    assert {name for name, (kind, _) in roles.items() if kind == "number"} == {"x", "y"}
    column = batches[0].X.values[2]
    assert np.isnan(column[0])
    assert column[1:].tolist() == X[1:]


def test_entries_that_the_first_array_lacks_are_columns(path):
    batches, roles = read(path, [[1.5], *([x, -x] for x in X[1:])])
    assert list(roles) == ["0", "1"]
    assert np.isnan(batches[0].X.values[1][0])
    assert batches[0].X.values[1][1:].tolist() == [-x for x in X[1:]]


def test_nested_objects_are_columns_and_lists_are_left_out(path):
    rows = [
        {"user": {"age": i % 40 / 2, "home": {"land": "abc"[i % 3]}} if i % 9 else None, "x": x,
         "tags": ["a", i]}
        for i, x in enumerate(X)
    ]  # fmt: skip
    batches, roles = read(path, rows, keep_rows=True)
    assert {name: kind for name, (kind, _) in roles.items()} == {
        "user.age": "number", "user.home.land": "text", "x": "number", "tags": "out",
    }  # fmt: skip
    assert "lists" in roles["tags"][1]
    ages = batches[0].X.values[batches[0].X.labels.index("user.age")]
    assert np.isnan(ages[0])
    assert ages[1] == 0.5
    assert batches[0].rows.dicts()[1]["user.home.land"] == "b"
    chosen, _ = read(path, rows, columns=["user.age"])
    assert chosen[0].X.labels == ["user.age"]


def test_nested_objects_are_flattened_within_bounds(path):
    deep = 0.5
    for _ in range(200):
        deep = {"a": deep}
    wide = {f"b{i}": {f"c{j}": 1.5 for j in range(50)} for i in range(200)}
    _, roles = read(path, [row | {"deep": deep, "wide": wide} for row in PLAIN[:9]])
    assert 1000 < len(roles) < 3000
    assert roles["wide.b199"][0] == "out"
    with pytest.raises(ValueError, match="more than 10,000 different fields"):
        read(path, [{f"f{i} {j}": 1.5 for j in range(100)} for i in range(N)])


def test_fields_of_single_objects_are_left_out(path):
    _, roles = read(path, [row | {f"user{i}": 1} for i, row in enumerate(PLAIN)])
    assert roles["user0"] == ("out", "1 value in 300 rows")
    assert {name for name, (kind, _) in roles.items() if kind != "out"} == {"x", "y", "colour"}


def test_a_field_that_comes_later_is_reported_once(path, caplog):
    late = [row | {"extra": 1} for row in PLAIN]
    batches, roles = read(path, [*PLAIN * 4, *late], batch_size=100)
    assert "extra" not in roles
    assert sum(len(batch.X.values[0]) for batch in batches) == 5 * N
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "rows.jsonl, line 1201: field 'extra'" in told[0]


def test_a_field_that_comes_later_is_not_reported_where_columns_were_chosen(path, caplog):
    read(path, [*PLAIN * 4, *(row | {"extra": 1} for row in PLAIN)], columns=["x"])
    assert not caplog.records


def test_numbers_in_quotes_are_numbers(path):
    words = {3: "N/A", 5: "", 9: "-", 11: "lost"}
    objects = [row | {"x": words.get(i, str(row["x"]))} for i, row in enumerate(PLAIN)]
    batches, roles = read(path, objects, missing=["Lost"])
    assert roles["x"][0] == "number"
    expected = [np.nan if i in words else x for i, x in enumerate(X)]
    np.testing.assert_array_equal(batches[0].X.values[0], expected)


def test_whole_numbers_in_quotes_are_codes(path):
    objects = [row | {"code": f"{i % 4:03d}"} for i, row in enumerate(PLAIN)]
    batches, roles = read(path, objects)
    assert roles["code"] == ("text", "4 different words")
    assert batches[0].X.values[3][:2].tolist() == ["000", "001"]
    batches, roles = read(path, objects, number=["code"])
    assert batches[0].X.values[3][:5].tolist() == [0.0, 1.0, 2.0, 3.0, 0.0]


def test_a_column_of_numbers_and_words_for_nothing_is_one_of_numbers(path):
    objects = [row | {"x": row["x"] if i % 3 else "n/a"} for i, row in enumerate(PLAIN)]
    batches, roles = read(path, objects)
    assert roles["x"][0] == "number"
    assert np.isnan(batches[0].X.values[0][::3]).all()


def test_the_range_of_numbers_is_that_of_those_that_are_there(path):
    _, roles = read(path, [row | {"x": [1.5, 2.5, float("nan")][i % 3]}
                           for i, row in enumerate(PLAIN)])  # fmt: skip
    assert roles["x"] == ("number", "numbers from 1.5 to 2.5")


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("rows.json", json.dumps(PLAIN), "rows.json holds a JSON array.*jq -c"),
        ("rows.json", json.dumps(PLAIN, indent=1), "rows.json holds a JSON array.*jq -c"),
        ("page.json", "<!DOCTYPE html>\n", "HTML"),
        ("rows.csv", '{"x": 1, "y": 2}\n{"x": 1, "y": 2}\n', "JSON lines"),
    ],
)
def test_what_is_no_table_is_called_by_its_name(tmp_path, name, text, match):
    (tmp_path / name).write_text(text)
    with (
        open_source(tmp_path / name, SourceOptions()) as source,
        pytest.raises(ValueError, match=match),
    ):
        list(source)


def test_a_brace_in_csv_is_no_json(tmp_path):
    (tmp_path / "rows.csv").write_text("{x,y}\n" + "".join(f"{x},{-x}\n" for x in X))
    with open_source(tmp_path / "rows.csv", SourceOptions()) as source:
        assert len(next(iter(source)).X.values[0]) == N
