"""Laws of service times: the families, and the choice of the one that predicts held-out latencies best."""
