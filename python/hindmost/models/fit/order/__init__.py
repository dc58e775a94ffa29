"""How successive service times hang together."""
