"""One task under supervision: records, legs, look-ahead, prewarming, spending and control."""
