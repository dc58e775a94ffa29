"""Measurements for co-location: stressors on this core, and programs next to them."""

from hindmost.studies.colocation.rulers import certify as certify
