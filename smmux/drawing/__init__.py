"""What pictures and pages are drawn with."""
