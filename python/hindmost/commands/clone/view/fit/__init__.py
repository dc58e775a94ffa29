"""Text and page of a fit."""
