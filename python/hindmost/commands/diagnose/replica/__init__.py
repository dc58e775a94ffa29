"""A replica: a second instance of the application, on which suspects are tried before the host is changed."""
