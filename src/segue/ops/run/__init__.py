"""One supervised task: legs, look-ahead, prewarming, spending and control."""
