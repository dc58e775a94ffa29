"""How stressors, profiles and predictions of co-location are shown."""
