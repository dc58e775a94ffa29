"""One package per command: its options, request, procedure, document and view.

They are not at the top, because `hindmost.measure`, `attribute`, `compare` and `explain` are functions.
"""
