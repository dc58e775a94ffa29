"""Pauses in services: by the clock or inside requests, and what a clone says of them."""
