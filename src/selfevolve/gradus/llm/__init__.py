"""The roles of the method played by a language model: any OpenAI-compatible endpoint, or a model in this process."""
