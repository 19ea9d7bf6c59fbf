"""What is known of a function of the IR."""
