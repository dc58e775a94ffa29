"""Effects of factors on values of runs, and families of questions about them."""
