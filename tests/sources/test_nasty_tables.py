"""Tables from spreadsheets, loggers and databases are read right with no options."""

import numpy as np
import pytest
from nasty_tables import TABLES, N, X, Y, Z

from scstream.sources import SourceOptions, open_source


@pytest.mark.parametrize("name", TABLES)
def test_a_nasty_table_is_read_with_no_options(name, tmp_path):
    text, encoding, used, clock = TABLES[name]
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode(encoding))
    roles = []
    with open_source(path, SourceOptions(on_columns=roles.extend)) as source:
        batches = list(source)
    assert [role.name for role in roles if role.kind == "time"] == ([clock] if clock else [])
    assert sum(batch.n for batch in batches) == N
    for at, name in enumerate(used):
        assert str(batches[0].X.labels[at]) == name
        column = np.concatenate([batch.X.values[at] for batch in batches])
        if column.dtype.kind == "f":  # what was written, whatever its unit and its scale
            there = np.isfinite(column)
            written = (np.corrcoef(column[there], w[there])[0, 1] for w in (X, Y, Z, Z == 1))
            assert there.mean() > 0.8
            assert max(map(abs, written)) > 0.999
        else:
            assert len({*zip(column, Z, strict=True)}) == 3
    assert len(used) == batches[0].X.shape[1]
