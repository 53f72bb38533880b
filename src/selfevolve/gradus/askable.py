"""Which branches a user's request can bring about: what a blueprint may require, and what the ledger counts.

Paper: Gradus 2.3 (operator outcomes that a blueprint intends). The paper leaves it to the model which outcomes make sense as a request.

Left out are

* branches without a condition, or said to be unreachable: no call can be checked to realise them;
* actions of the agent's own conduct (recording a refusal, ending its turn): nobody asks for them;
* what the agent's reading decides. A denial for not having looked is a breach of conduct, and no request leads to it: whoever is asked looks
  first. It is told by its condition, which reads state that look-ups change, or a fact whose source is not the user. Of a look-up itself,
  all branches that its own trace decides are left out.
"""

from __future__ import annotations

from selfevolve.gradus.judgement import Branch
from selfevolve.gradus.operators import Guard, Library, Operator
from selfevolve.gradus.schema import overlap


def askable(library: Library) -> dict[Branch, Guard]:
    """The branches, in the library's order, each with its guard."""
    traces = [path for operator in library.operators.values() if operator.kind == "read" for path in _changed(operator)]
    return {
        Branch(action, *guard.unit): guard
        for action, operator in library.operators.items()
        if action not in library.conduct.actions
        for guard in operator.guards
        if guard.expression is not None and guard.unreachable is None and not _conduct(library, operator, guard, traces)
    }


def _conduct(library: Library, operator: Operator, guard: Guard, traces: list[str]) -> bool:
    """Whether the agent's own reading, or its keeping of requests, decides the branch."""
    assert guard.expression is not None
    traced = any(overlap(trace, read) for trace in traces for read in guard.expression.reads)
    if guard.verdict == "allow":
        return traced and operator.kind == "read"
    return traced or any(library.facts[name].source != "user" for name in guard.expression.facts)


def _changed(operator: Operator) -> set[str]:
    return {effect.path.path for guard in operator.guards for effect in guard.effects if effect.path.path is not None}
