"""Check several ranks: each process records what it sees, and the rules D001 to D020 compare the
records.
"""
