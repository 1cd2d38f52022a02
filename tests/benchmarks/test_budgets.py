"""The budgets of rows in words."""

from benchmarks.budgets import budgets
from benchmarks.results import entries_of


def run(name, limit, status="ok", clock="processor"):
    row = {"what": "run", "dataset": "letter", "contestant": name, "settings_kind": "default"}
    how = {"mode": "full", "told_k": False, "limit": limit, "clock": clock, "status": status}
    return row | how | {"batch": [1]}


def tuning(name, trials, seconds, used):
    budget = {"trials": trials, "seconds": seconds}
    return {"what": "tuning", "contestant": name, "budget": budget, "trials": [{}] * used}


def test_equal_budgets_are_one_sentence():
    entries = entries_of([run("A", 40.0), run("B", 40.0, "time limit")])
    assert budgets(entries, []) == "Budgets: 40 s a run."
    told = budgets(entries, [tuning("A", 15, 40.0, 15), tuning("B", 15, 40.0, 2)])
    assert told == "Budgets: 40 s a run, 15 trials in 40 s a tuning."


def test_a_lower_limit_is_named_only_where_it_stopped_a_run():
    rows = [run("A", 150.0), run("B", 40.0), run("C", 40.0, "time limit")]
    assert budgets(entries_of(rows), []) == "Budgets: 150 s a run. Less had C 40 s."


def test_a_smaller_budget_is_named_only_where_it_was_used_up():
    tunings = [tuning("A", 100, 25.0, 37), tuning("B", 15, 25.0, 15), tuning("C", 15, 25.0, 3)]
    told = budgets(entries_of([run("A", 40.0)]), tunings)
    assert told.endswith("100 trials in 25 s a tuning. Less had B 15 trials in 25 s.")
    told = budgets(entries_of([run("A", 40.0)]), [*tunings, tuning("D", 100, 20.0, 99)])
    assert told.endswith("Less had B 15 trials in 25 s; D 100 trials in 20 s.")


def test_searches_of_each_seed_and_another_clock_are_named():
    entries = entries_of([run("A", 40.0), run("B", 40.0, clock="wall")])
    told = budgets(entries, [tuning(name, 15, 40.0, 15) for name in ("A", "A", "B")])
    assert "Each seed has a search of its own: A." in told
    assert told.endswith("Seconds of the wall clock, not of the processor: B.")
