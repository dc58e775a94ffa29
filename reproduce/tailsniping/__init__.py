"""TailSniping: rules that name the cause of an anomaly, and the number of machines that analyse a fleet."""
