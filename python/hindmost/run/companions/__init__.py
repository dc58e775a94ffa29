"""What accompanies a run and leaves something in its record: the server's counters, a packet capture."""
