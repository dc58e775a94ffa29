"""Code that several commands share: plans, targets, settings, fleets, runs, studies, documents."""
