"""pagewalk: a full-system laboratory for address translation."""
