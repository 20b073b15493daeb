"""Views, copies of them, joining and padding."""
