"""TailWAG (BID 2023)."""
