"""``hindmost clone``: models of a server's timing."""
