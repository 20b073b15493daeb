"""How a DataLoader gets its batches: in this process, or from workers."""
