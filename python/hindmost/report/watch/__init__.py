"""What the simulated data centre of `hindmost watch twin` and `watch machines` says, for the terminal."""
