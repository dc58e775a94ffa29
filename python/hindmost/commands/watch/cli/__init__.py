"""``hindmost watch``: watch an application, and read its ring files."""
