"""Results of ``hindmost clone`` for Python users."""
