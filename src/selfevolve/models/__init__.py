"""Models: from-scratch and pretrained, generation, supervised fine-tuning, group-relative updates."""
