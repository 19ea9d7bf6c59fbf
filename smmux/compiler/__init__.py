"""The compiler: a kernel and the types of its arguments in, a Program for the machine out."""
