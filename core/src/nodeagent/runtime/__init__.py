"""The runtime: applications, durable contexts, workers, and the verbs of people."""
