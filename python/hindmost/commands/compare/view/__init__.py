"""What the terminal and the page show of each kind of comparison."""
