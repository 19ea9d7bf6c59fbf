"""The hand tools of every front end."""
