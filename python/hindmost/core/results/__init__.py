"""Results for Python users: what all kinds share."""
