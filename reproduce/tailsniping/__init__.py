"""TailSniping: which rule names the cause of an anomaly, and how many machines analyse a fleet."""
