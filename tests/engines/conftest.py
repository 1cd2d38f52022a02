"""A small cluster in this process, made once for all tests that need one."""

import pytest


@pytest.fixture(scope="session")
def client():
    """Return the client of five workers, which are threads: nothing has to start or be sent."""
    distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=5, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
