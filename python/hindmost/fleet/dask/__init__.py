"""Many load machines, through Dask: the launcher, never the measurer."""
