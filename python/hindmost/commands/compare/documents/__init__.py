"""Types of the documents that ``hindmost compare`` writes."""
