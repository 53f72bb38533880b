"""selfevolve: language models that improve by making their own training tasks."""
