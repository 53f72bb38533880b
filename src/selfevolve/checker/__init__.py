"""The answer checker (design.md, section 5): one judge for rewards, card verification and every evaluation."""

from selfevolve.checker.checking import check, check_batch
from selfevolve.checker.extract import Extraction, extract
from selfevolve.checker.verdict import Verdict

__all__ = ["Extraction", "Verdict", "check", "check_batch", "extract"]
