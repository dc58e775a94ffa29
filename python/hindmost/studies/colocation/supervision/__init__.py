"""A batch job next to a server, given as much as the server's promise allows."""
