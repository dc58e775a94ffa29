"""Sessions of requests, in ``hindmost.measure/2``."""

from hindmost.core.store.types import Count, Document


class Sessions(Document):
    """Sessions that began in the first half of a measurement; each had the other half to end.

    ``begun`` = ``completed`` (the last request was answered) + ``failed`` (one was not, or with an error) +
    ``cut_off`` (requests were left when the load ended).
    """

    begun: Count
    completed: Count
    failed: Count
    cut_off: Count
