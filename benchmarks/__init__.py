"""Side-by-side speed and memory: every figure is a ratio measured in one run; never part of the tests."""
