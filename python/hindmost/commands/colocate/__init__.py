"""Measurements for co-location: stressors on this core, and programs next to them."""

from hindmost.commands.colocate.stressors import certify as certify
