"""Co-location: predicts from profiles what a program costs another on the same machine. Pure functions."""

from hindmost.commands.colocate.prediction.profiles import Profiles as Profiles
