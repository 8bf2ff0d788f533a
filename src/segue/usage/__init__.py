"""Limits, forecasts, prices and cost. Pure."""
