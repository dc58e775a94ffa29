"""How a trace of stages is shown."""
