"""The compiled core, built from the C++ beside this file: ``_compiled``."""
