"""Views of each kind of comparison."""
