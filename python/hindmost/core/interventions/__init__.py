"""Small, reversible changes of a running host: journalled first, watched, undone on every exit path."""
