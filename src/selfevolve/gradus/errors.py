"""What can go wrong with a role, whoever plays it."""


class RoleFailed(RuntimeError):
    """A role gave no usable answer. The text says which role and what was wrong; a run may go on and record the reason."""
