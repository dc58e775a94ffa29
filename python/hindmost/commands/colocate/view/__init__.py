"""What the documents of ``hindmost colocate`` show."""
