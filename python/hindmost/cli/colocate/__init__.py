"""``hindmost colocate``: who may share a machine. One file a verb, each loaded when it is called."""
