"""Attribution: runs of a design's cells at every load, and the effects of its factors."""
