"""Usage: totals, reports, limits, and how close this folder's work is to them."""
