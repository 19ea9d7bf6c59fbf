"""Forms that divide a shared array into a private and a public part."""
