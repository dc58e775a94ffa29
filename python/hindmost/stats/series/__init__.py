"""One run over its time: dependence between requests, sections, the gaps between arrivals."""
