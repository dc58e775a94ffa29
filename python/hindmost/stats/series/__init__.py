"""One run over time: dependence between requests, sections, gaps between arrivals, changes."""
