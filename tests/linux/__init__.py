"""Real Linux on the machine: exact counts of its runs."""
