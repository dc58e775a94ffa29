"""The dependence between successive service times."""
