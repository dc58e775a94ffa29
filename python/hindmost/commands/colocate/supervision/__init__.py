"""Supervision: a batch job next to a server gets as many CPUs as the server's promise allows."""
