"""Measurements for co-location: stressors on this core, and programs next to them."""

from hindmost.studies.colocation.stressors import certify as certify
