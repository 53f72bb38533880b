"""SynCo: data synthesis co-training of a Synthesizer and a Reasoner."""

AGENTS = ("synthesizer", "reasoner")
