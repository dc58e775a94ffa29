"""``hindmost colocate``: find programs that may share a machine. One module per command."""
