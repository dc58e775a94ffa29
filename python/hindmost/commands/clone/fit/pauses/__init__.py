"""Pauses in services, caused by the host or inside requests, and how a clone document describes them."""
