"""The comparison: scstream against the methods of the paper and today's choices.

``python -m benchmarks --help`` from the project's root. Never imported by the package.
"""
