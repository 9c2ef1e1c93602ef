"""The `pagewalk` command."""
