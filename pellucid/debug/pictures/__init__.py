"""Drawings: graphs, charts, pages, reports."""
