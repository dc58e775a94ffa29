"""The kinds of settings: one file each, registered in `hindmost.core.knobs.registry`."""
