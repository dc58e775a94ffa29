"""Diagnosis: what made it slow just now, by small experiments that each change one thing and put it back."""
