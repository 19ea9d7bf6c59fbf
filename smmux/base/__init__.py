"""What every room stands on: errors, interrupts, sizes, texts."""
