"""``hindmost explain``: finds the origin of a slow tail and confirms a gain, in one study."""
