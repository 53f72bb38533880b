"""Tables and figures of the papers, one function each, from a run's own files."""
