"""A twin: a second instance of the application, on which suspects are tried before the first is touched."""
