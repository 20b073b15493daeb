"""Several columns of one table, some with the same answers, and the same columns of another."""

import numpy as np

rng = np.random.default_rng(0)
answers = {"loan": ["no", "yes"], "housing": ["maybe", "no", "yes"], "job": ["cook", "nurse"]}
for rows in (60, 40):
    table = {name: rng.choice(values, rows) for name, values in answers.items()}
    codes = {name: np.unique(c, return_inverse=True)[1] for name, c in table.items()}
    print({name: int(c.max()) for name, c in codes.items()})
