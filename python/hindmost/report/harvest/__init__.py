"""What `hindmost harvest` says, and its report."""
