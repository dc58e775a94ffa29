"""Reading a folder of traces, in any known format, to one row per tenant."""

from hindmost.harvest.reading.tenants import Tenant, read_tenants
from hindmost.harvest.reading.traces import Traces, read_traces

__all__ = ["Tenant", "Traces", "read_tenants", "read_traces"]
