"""How often the scripted roles err. Every rate is a setting, not a finding about any model.

Paper: Gradus 2.4 ("harder blueprints more likely to fail on the first attempt"), A.7 (which errors happen). The paper measures how often
models fail; here it is declared, so that the loop can be run and tested without one.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Rate = Annotated[float, Field(ge=0, le=1)]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GroundingSlips(_Settings):
    """How often a task is initialized wrongly."""

    base: Rate = Field(description="probability of a slip at depth 1")
    per_depth: Rate = Field(description="added for every further level of depth")
    learning: Rate = Field(description="factor on the probability for every piece of feedback")

    def rate(self, depth: int, lessons: int) -> float:
        return min(1.0, (self.base + self.per_depth * (depth - 1)) * self.learning**lessons)


class AgentSlips(_Settings):
    """How often the solving agent handles a request wrongly. It does not know the depth: it goes by the requests it has heard."""

    base: Rate = Field(description="probability of a slip for the first request of a conversation")
    per_depth: Rate = Field(description="added for every further request heard so far")
    per_interaction: Rate = Field(
        description="added for every difficulty in how the request is put: described, withheld, pressed for"
    )
    learning: Rate = Field(description="factor on the probability for every piece of feedback")

    def rate(self, requests: int, difficulties: int, lessons: int) -> float:
        heard = self.base + self.per_depth * (requests - 1) + self.per_interaction * difficulties
        return min(1.0, heard * self.learning**lessons)


class ScriptedSettings(_Settings):
    """Error rates of the scripted roles."""

    grounding: GroundingSlips
    agent: AgentSlips
    misjudged: Rate = Field(
        0.3, description="probability that a writer without operators takes what is allowed for denied, or the reverse"
    )
    misroute: Rate = Field(description="probability that the diagnosis blames the wrong side")


FAULTLESS = AgentSlips(base=0, per_depth=0, per_interaction=0, learning=0)
