"""PL7xx: graphs and memory that stay alive."""
