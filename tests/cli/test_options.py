"""Options from files, the two helps, completion, details and JSON."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scstream.cli import COMMANDS, command_of, main, make_parser
from scstream.cli.config import with_config


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a folder with a table, and a run over it that `run.toml` asked for."""
    folder = tmp_path_factory.mktemp("options")
    before = os.getcwd()
    os.chdir(folder)
    rng = np.random.default_rng(0)
    X = rng.normal(9.0 * rng.integers(3, size=400)[:, None], 1.0, size=(400, 3))
    np.savetxt("d.csv", X, "%.4f", ",", header="a,b,c", comments="")
    given = ["d.csv", "-o", "one.csv", "--columns", "a,b", "--half-life=7", "--no-merges",
             "--missing=-9", "--missing", "?", "--family", "gaussian=a,b", "--batch-size", "200",
             "--checkpoint", "state", "--chronicle", "run.jsonl"]  # fmt: skip
    assert main(["run", *given, "--write-config", "run.toml"]) == 0
    assert not Path("one.csv").exists()
    assert main(["run", "--config", "run.toml"]) == 0
    os.chdir(before)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def refused(capsys, text):
    Path("bad.toml").write_text(text)
    assert main(["run", "d.csv", "--config", "bad.toml"]) == 2
    return capsys.readouterr().err


def shown(capsys, *words):
    capsys.readouterr()
    with contextlib.suppress(SystemExit):  # after a help
        assert main(words) == 0
    return capsys.readouterr().out


def test_a_file_of_options_does_what_the_command_line_did(folder, capsys):
    saved = json.loads(shown(capsys, "show", "state", "--json"))
    assert (saved["parameters"]["half_life"], saved["parameters"]["merges"]) == (7.0, False)
    assert saved["columns"] == ["a", "b"]
    assert saved["run"]["settings"]["missing"] == ["-9", "?"]
    assert saved["n_batches"] == 2
    assert "half-life = 7\n" in Path("run.toml").read_text()


def test_the_command_line_wins_over_the_file(folder):
    argv = ["--config", "run.toml", "--missing=none", "--half-life", "3", "--merges"]
    assert main(["run", *argv, "-o", "two.csv", "--write-config", "two.toml"]) == 0
    text = Path("two.toml").read_text()
    for line in ('output = "two.csv"', "half-life = 3", "merges = true", 'missing = ["none"]'):
        assert f"{line}\n" in text
    assert main(["run", *argv, "--write-config", "two.toml"]) == 1  # it is there already


def test_every_option_is_the_same_from_a_file(folder):
    values = {"columns": "a,b,2-4", "family": "gaussian=a,b;poisson=c", "fields": "label,anomaly",
              "wait": "10s", "period": "5m", "half_life": "12h", "kernel": "window:3",
              "outlier_weight": "auto", "group_level": "0.5", "separator": "tab",
              "missing": "-999"}  # fmt: skip
    parser = command_of(make_parser("run"), "run")
    options = [a for a in parser._actions if a.option_strings]
    for action in [a for a in options if not {"help", "config", "write_config"} & {a.dest}]:
        words = [action.option_strings[-1]] if action.nargs in (0, "?") else []
        if action.nargs != 0:
            value = action.choices[-1] if action.choices else values.get(action.dest, "7")
            words.append(f"{action.option_strings[0]}={value}".replace("-o=", "-o"))
        if action.dest == "help_all":
            continue
        for word in words:
            _, more = with_config(command_of(make_parser("run"), "run"), ["d.csv", word])
            Path("each.toml").write_text(more["file"])
            again, _ = with_config(command_of(make_parser("run"), "run"), ["--config", "each.toml"])
            given, found = (
                {k: repr(v) for k, v in vars(make_parser("run").parse_args(["run", *argv])).items()}
                for argv in (["d.csv", word], again)
            )
            assert found == given


def test_of_two_options_that_exclude_each_other_the_one_of_the_command_line_counts(folder):
    Path("either.toml").write_text("group-level = 0.5\n")
    given = ["--config", "either.toml", "--clusters", "2", "--write-config", "then.toml"]
    assert main(["run", "d.csv", *given]) == 0
    assert "group-level" not in Path("then.toml").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("half-lif = 3", ["half-lif", "half-life"]),
        ("batch_size = 'many'", ["batch_size", "many", "whole number"]),
        ("alpha = true", ["alpha", "number"]),
        ("follow = 'yes'", ["follow", "true or false"]),
        ("alpha = [1]", ["alpha", "[1]"]),
        ("score-by = 'never'", ["score-by", "never", "before"]),
        ("[model]\nalpha = 1", ["model"]),
        ("alpha = ", ["TOML"]),
    ],
)
def test_what_is_wrong_in_a_file_is_named(folder, capsys, text, words):
    told = refused(capsys, text)
    assert "bad.toml" in told
    assert [word for word in words if word not in told] == []


def test_a_password_in_a_url_is_not_written(folder):
    url = "redis://reader:secret@127.0.0.1:1/rows"
    assert main(["run", url, "-o", "none", "--write-config", "redis.toml"]) == 0
    assert 'source = "redis://127.0.0.1:1/rows"' in Path("redis.toml").read_text()


def test_help_shows_what_most_people_need_and_help_all_the_rest(capsys):
    for command in ("run", "fit", "tune", "predict"):
        short, long = (shown(capsys, command, word) for word in ("--help", "--help-all"))
        options = [line.split()[0] for line in short.splitlines() if line.startswith("  -")]
        assert len(options) <= 16
        assert "--columns" in short
        assert ("--decimal" in long, "--decimal" in short) == (True, False)


def test_bash_completes_commands_options_and_values(tmp_path):
    script = tmp_path / "complete.sh"
    done = subprocess.run([sys.executable, "-m", "scstream", "completion", "bash"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    script.write_text(
        done.stdout
        + """
for line in "pre" "run --half" "run d.csv --engine t" "run d" "completion "; do
    COMP_WORDS=(scstream $line); [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _scstream; echo "${COMPREPLY[@]}"
done
"""
    )
    out = subprocess.run(["bash", script], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["predict", "--half-life", "torch", "", "bash zsh fish"]


def test_other_shells_get_all_commands_and_options(capsys):
    zsh, fish = (shown(capsys, "completion", shell) for shell in ("zsh", "fish"))
    assert zsh.startswith("autoload -U +X compinit && compinit\n")  # which the next line needs
    for name in COMMANDS:
        assert f"-a {name} " in fish
    assert " -s o -l output -r " in fish
    assert "-l engine -x -a 'cpu torch auto'" in fish


def test_verbose_tells_of_batches_and_engine(folder, capsys):
    argv = ["run", "d.csv", "-o", "none", "--columns", "a,b", "--batch-size", "200"]
    told = [main([*argv, *more]) or capsys.readouterr().err for more in ([], ["-v"])]
    for words in ("CpuEngine", "batch 2: 200 rows"):
        assert (words in told[0], words in told[1]) == (False, True)


def test_rows_and_the_table_of_a_report_as_json(folder, capfd):
    lines = shown(capfd, "predict", "state", "d.csv", "--json", "--quiet").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 400
    table = json.loads(shown(capfd, "report", "run.jsonl", "--json"))
    clusters, groups = table["clusters"], table["groups"]
    assert {row["label"] for row in rows} == {row["cluster"] for row in clusters}
    assert {row["group"] for row in rows} == {row["group"] for row in groups}
    for table in (clusters, groups):
        assert sum(row["share"] for row in table) == pytest.approx(1.0, abs=0.01)
    assert set(clusters[0]["columns"]) == {"a", "b"}
    assert not Path("run.html").exists()
