"""Measurements for co-location: stressors on this core, and programs next to them."""
