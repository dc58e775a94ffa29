"""The kinds of knobs: one file each, registered in `hindmost.knobs.registry`."""
