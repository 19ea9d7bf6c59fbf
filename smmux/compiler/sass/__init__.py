"""Compiled GPU code (SASS) as Python objects: the vendor's tools where they are, cubins, listings, modules."""
