"""Limits that a measurement is held against: each is held, crossed or undecided, by its interval."""

from hindmost.studies.measure.limits.judge import exit_of, held_against, required
from hindmost.studies.measure.limits.requests import requests_of

__all__ = ["exit_of", "held_against", "requests_of", "required"]
