"""What Segue does, one file per noun: each function takes a desk and values, and returns a value."""
