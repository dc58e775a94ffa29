"""Watching a running application: finding it, the daemon, and the ring file that it writes."""
