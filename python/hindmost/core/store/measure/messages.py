"""Messages of streamed replies, in ``hindmost.measure/2``."""

from hindmost.core.store.types import Count, Document


class Messages(Document):
    """Messages of streamed replies, over all clients, of requests scheduled in the measurement.

    ``replies``: replies with a message, even if they were not completed; ``messages``: their messages;
    ``empty``: replies completed without a message, which have no time to the first message.
    """

    replies: Count
    messages: Count
    empty: Count
