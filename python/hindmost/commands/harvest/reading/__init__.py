"""Reading a folder of traces, in any known format, to one row per tenant."""

from hindmost.commands.harvest.reading.tenants import Tenant, read_tenants
from hindmost.commands.harvest.reading.traces import Traces, read_traces

__all__ = ["Tenant", "Traces", "read_tenants", "read_traces"]
