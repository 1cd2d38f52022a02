"""The engine of a Dask cluster: each worker holds a part of the rows."""
