"""How rulers, profiles and predictions of co-location are shown."""
