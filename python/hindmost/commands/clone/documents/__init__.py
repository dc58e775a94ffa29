"""Types of the documents that ``hindmost clone`` writes."""
