"""``hindmost clone``: doubles of servers. One file a verb, each loaded when it is called."""
