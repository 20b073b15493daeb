"""What an error says: the facts of the call that failed, PyTorch's lists of signatures, the likely
repair, and the user's own text.
"""
