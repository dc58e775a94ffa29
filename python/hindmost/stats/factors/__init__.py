"""Effects of factors on run values, and families of hypotheses about them."""
