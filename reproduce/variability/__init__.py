"""The variability paper (WWW 2019)."""
