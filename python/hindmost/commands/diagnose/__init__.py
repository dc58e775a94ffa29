"""Diagnosis: finds what makes an application slow by small experiments, each of which is undone."""
