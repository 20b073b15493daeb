"""Native code for operations, a folder for each family. `reference` is the NumPy form, `lower` the
place in a compiled program.
"""
