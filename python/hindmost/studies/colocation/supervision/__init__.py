"""A batch job beside a server, given as much as the server's promise allows."""
