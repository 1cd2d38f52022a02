"""The soak: two runs that go on for long while all that can happen to them does.

``python -m benchmarks.soak --help`` from the project's root. Never imported by the package. It
speaks to 127.0.0.1 alone, and ends by itself.
"""
