"""The roles played by a program: seeded, offline, with declared error rates that are settings, not findings."""
