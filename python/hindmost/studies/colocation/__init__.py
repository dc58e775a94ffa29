"""What is measured for co-location: rulers on this core, and programs beside them."""

from hindmost.studies.colocation.rulers import certify as certify
