"""``hindmost host knobs``: what can be set on this host. One file a verb, each loaded when it is called."""
