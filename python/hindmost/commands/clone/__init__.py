"""Models of servers: clone documents, how they are fitted, and what they predict."""

from hindmost.commands.clone.document import APPLICATIONS, Clone, load_clone, read_source

__all__ = ["APPLICATIONS", "Clone", "load_clone", "read_source"]
