"""A check of several ranks: each process writes down what it sees, and the rules D001 to D020
compare what the ranks wrote.
"""
