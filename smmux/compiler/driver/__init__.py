"""From a kernel of any front end, the types of its arguments and a machine to a program."""
