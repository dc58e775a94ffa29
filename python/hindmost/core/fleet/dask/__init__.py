"""Load hosts through Dask, which starts clients but measures nothing."""
