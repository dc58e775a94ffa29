"""Types of the documents that ``hindmost colocate`` writes."""
