"""Treadmill (ISCA 2016)."""
