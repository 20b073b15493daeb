"""PL8xx: random numbers that are not random, and runs that cannot be reproduced."""
