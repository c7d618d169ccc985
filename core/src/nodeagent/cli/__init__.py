"""The command line. It calls the layers below and decides nothing.

``main`` is the console script and imports next to nothing: each command lives in a module of its own,
which is imported when the command is called. Results go to stdout, talk goes to stderr.
"""
