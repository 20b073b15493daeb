"""Native code for operations, with a folder for each family. In each folder `reference` is the
NumPy implementation and `lower` the lowering for compiled programs.
"""
