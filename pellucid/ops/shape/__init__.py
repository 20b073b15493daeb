"""Views, their copies, joining and padding."""
