"""What a program does to one that shares its machine: predictions with a margin out of profiles. Pure."""

from hindmost.colocation.profiles import Profiles as Profiles
