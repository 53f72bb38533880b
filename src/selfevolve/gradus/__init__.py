"""Gradus: agent lessons from the latent syllabus of an environment (paper: Gradus)."""
