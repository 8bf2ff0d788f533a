"""The tests of Segue."""
