"""Probes of a server: the ready probe of managed targets, the identity check of attached ones."""

from hindmost.core.targets.probe.greeting import first_answering, greet, identify
from hindmost.core.targets.probe.problems import NotListening, NotReady, Silent, WrongProtocol
from hindmost.core.targets.probe.reach import accepts
from hindmost.core.targets.probe.strangers import recognise

__all__ = [
    "NotListening",
    "NotReady",
    "Silent",
    "WrongProtocol",
    "accepts",
    "first_answering",
    "greet",
    "identify",
    "recognise",
]
