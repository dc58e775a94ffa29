"""Models of servers: clone documents, how they are fitted, and what they predict."""
