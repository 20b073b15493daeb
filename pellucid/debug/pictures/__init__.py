"""Pictures: graphs, charts, pages, reports."""
