"""Pure decisions: they read records and produce commits, without I/O, clock or chance.

Ids, the time and random numbers are arguments, so that every rule can be tested with plain values
and no adapter ever needs to know a status.
"""
