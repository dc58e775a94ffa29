"""What threads do to one another: locks, and memory that they share."""
