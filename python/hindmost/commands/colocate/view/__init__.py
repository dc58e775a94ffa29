"""Text and pages about stressors, profiles and predictions of co-location."""
