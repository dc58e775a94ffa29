"""Laws of service times: which families there are, and the one whose latency fits samples held out."""
