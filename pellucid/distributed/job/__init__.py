"""How the processes of a job find, join and watch each other."""
