"""How fast, against what cannot be faster: ``python -m benchmarks.speed --help``.

One file a section; nothing is imported here, since contestants are timed without the others.
"""
