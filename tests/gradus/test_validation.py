"""The validator: it passes a library that is right, and names each thing that is wrong with one that is not."""

import pytest
import toy

from selfevolve.gradus import validation
from selfevolve.gradus.exploration import Budget

BUDGET = Budget(judged=60, first=20, last=8, branch=400, unreachable=60)


def check(folder, change=lambda library: None, env=None):
    return validation.check(toy.library(folder, change), env or toy.Toy(), budget=BUDGET)


def operator(library, action):
    return next(operator for operator in library["operators"] if operator["action"] == action)


def guard(library, action, policy_id, outcome):
    return next(g for g in operator(library, action)["guards"] if (g["policy_id"], g["outcome"]) == (policy_id, outcome))


def edit(action, policy_id, outcome, **fields):
    """A change that sets fields of one guard."""
    return lambda library: guard(library, action, policy_id, outcome).update(fields)


def test_a_right_library_passes(tmp_path):
    report = check(tmp_path)
    assert report.problems == () and report.ok
    assert report.branches == 20 and len(report.witnesses) == 19
    assert str(report).startswith("toy: 0 problems; 19 of 20 branches reached (17 after 0 earlier calls, 1 after 1")


def test_witnesses_say_how_a_branch_was_reached(tmp_path):
    witnesses = check(tmp_path).witnesses
    again = witnesses["release", "release.once", "again"]
    assert again.earlier == (("release", again.arguments),) and again.situation == ""
    both = witnesses["release", "release.paid", "both_fees"]
    pay = ("pay", {"parcel_id": "p2", "amount": 1})
    assert both.earlier == (pay, pay) and both.arguments == {"parcel_id": "p2"}
    asked = witnesses["release", "release.asked", "asked"]
    owner = {"p1": "ann", "p2": "bob", "p3": "ann"}[asked.arguments["parcel_id"]]
    assert asked.facts == {"asked": True, "owner": owner}
    assert witnesses["register", "register.open", "nobody"].situation == "nobody"


def test_the_same_seed_gives_the_same_report(tmp_path):
    first, second = check(tmp_path), check(tmp_path)
    assert (first.witnesses, first.judged, first.executed) == (second.witnesses, second.judged, second.executed)


def test_the_environment_is_left_in_its_base_state(tmp_path):
    env = toy.Toy()
    before = env.state_hash()
    check(tmp_path, env=env)
    assert env.state_hash() == before


def drop(action):
    def change(library):
        library["operators"].remove(operator(library, action))
        guard(library, "look", "look.exists", "known")["cites"] = ["Owners may ring."]

    return change


def invent(library):
    library["operators"].append({**operator(library, "look"), "action": "burn"})


def parameter(action, name, values):
    def change(library):
        parameters = operator(library, action).setdefault("parameters", {})
        if values is None:
            del parameters[name]
        else:
            parameters[name] = {"values": values, "text": "t"}

    return change


def extra(action, **fields):
    guard = {"policy_id": "extra", "outcome": "extra", "verdict": "allow", "enforced_by": "api", "text": "t", **fields}
    return lambda library: operator(library, action)["guards"].append(guard)


def read_only(library):
    operator(library, "ring")["kind"] = "read"
    del guard(library, "ring", "ring.any", "any")["effects"]


def no_note(library):
    """Without the parameter, `note` is no name: the effect must not mention it."""
    parameter("register", "note", None)(library)
    guard(library, "register", "register.owner", "known")["effects"] = [{"path": "parcels[new_id]"}]


def no_candidates(library):
    parameter("register", "owner", "[]")(library)
    library["operators"] = [operator(library, name) for name in ("look", "pay", "release", "ring", "register")]


def one_situation(library):
    library["situations"][0]["actions"][0]["func_name"] = "no_parcels"


ENDLESS = "all(a >= 0 for a in range(0, 10000) for b in range(0, 10000))"
MISTAKES = {
    "another domain": (
        lambda library: library.update(domain="toys"),
        ["[domain] domain: the library is of 'toys', the environment is 'toy': set `domain: toy`"],
    ),
    "a name the state lacks": (lambda library: library["state"].append("shelves"), ["[path] state: the state has no 'shelves'"]),
    "a tool without operator": (drop("ring"), ["[tool] ring: action: the user's tool has no operator"]),
    "the wrong side": (
        lambda library: operator(library, "ring").update(requestor="assistant"),
        ["[tool] ring: requestor: it is a tool of the user"],
    ),
    "an operator without tool": (invent, ["[tool] burn: action: there is no such tool; the tools are look, pay"]),
    "a parameter too few": (no_note, ["[parameter] register: parameters.note: the tool has this parameter: add it"]),
    "a parameter too many": (
        parameter("ring", "times", "[1]"),
        ["[parameter] ring: parameters.times: the tool has no such parameter; it has none"],
    ),
    "a place no state has": (
        extra("look", when="default(parcels[parcel_id].fees, 1) == 1"),
        ["[path] look: extra/extra: when: parcels.* has no 'fees'; it has fee, note, owner, status"],
    ),
    "a place no state has, in a let": (
        lambda library: operator(library, "pay")["let"].update(extra="default(parcels[parcel_id].fees, 0)"),
        ["[path] pay: let.extra: parcels.* has no 'fees'"],
    ),
    "a place no state has, in values": (
        parameter("pay", "amount", "[1, 5, default(parcels[parcel_id].fees, 1)]"),
        ["[path] pay: parameters.amount.values: parcels.* has no 'fees'"],
    ),
    "an effect on a place no state has": (
        edit("pay", "pay.amount", "fits", effects=[{"path": "parcel.fees"}]),
        ["[path] pay: pay.amount/fits: effects.0.path: parcels.* has no 'fees'"],
    ),
    "a wrong quote": (
        edit("release", "release.once", "first", cites=["can be released twice"]),
        ["[quote] release: release.once/first: cites.0: 'can be released twice' is not in the policy"],
    ),
    "a wrong quote in not_operational": (
        lambda library: library["not_operational"].append({"sentence": "Be kind.", "why": "style"}),
        ["[quote] not_operational.1.sentence: 'Be kind.' is not in the policy"],
    ),
    "a sentence left out": (
        lambda library: library.update(not_operational=[]),
        ["[sentence] 'You are the clerk of a parcel shop.' is neither cited by a guard nor listed under not_operational"],
    ),
    "a refusal of the API given to the policy": (
        edit("look", "look.exists", "unknown", enforced_by="policy", cites=["Owners may ring."]),
        ["[enforcement] look: guards: the tool refuses look(parcel_id='p0') (Error: unknown parcel), but no deny branch"],
    ),
    "a refusal by the policy given to the API": (
        edit("release", "release.fee", "owed", enforced_by="api"),
        ["[enforcement] release: release.fee/owed: enforced_by: it holds for release(parcel_id='p"],
    ),
    "a refusal of the API by a fact": (
        extra("ring", when="facts.asked and len(log) > 99", verdict="deny", unreachable="nobody rings so often"),
        ["[enforcement] ring: extra/extra: when: the tool cannot know the dialogue (asked)"],
    ),
    "an effect left out": (
        lambda library: guard(library, "ring", "ring.any", "any").pop("effects"),
        ["[effect] ring: effects on log.*: ring() changes log.* from nothing to 'ring', which no effect"],
    ),
    "an effect with a wrong value": (
        edit("ring", "ring.any", "any", effects=[{"path": "log", "value": "['ring'] + ['ring']"}]),
        ["[effect] ring: ring.any/any: effects.0.value: after ring() it is ['ring'], not ['ring', 'ring']"],
    ),
    "an effect on a new record with a wrong value": (
        edit("register", "register.owner", "known", effects=[{"path": "parcels[new_id]", "value": "{'owner': owner}"}]),
        ["[effect] register: register.owner/known: effects.0.value: after register(owner="],
    ),
    "a read that writes": (read_only, ["[kind] ring: kind: ring() changes log.*, so it is no read"]),
    "a policy with a gap": (
        edit("release", "release.fee", "owed", when="parcel.fee > 1"),
        ["[totality] release: release.fee: no outcome holds for release(parcel_id='p3')"],
    ),
    "a policy with a gap only for some facts": (
        edit("release", "release.asked", "not_asked", when="not facts.asked"),
        ["[totality] release: release.asked: no outcome holds for release(parcel_id="],
    ),
    "a policy that contradicts itself": (
        edit("release", "release.fee", "clear", when="parcel.fee <= 1"),
        [
            "[contradiction] release: release.fee/owed: when: for release(parcel_id='p3') the outcome 'clear', which allows it, holds too"
        ],
    ),
    "a branch out of reach": (
        extra("look", when="parcels[parcel_id].fee == 9"),
        ["[unreached] look: extra/extra: when: no candidate call holds, after up to two earlier calls"],
    ),
    "a branch out of reach only in words": (
        edit("release", "release.once", "again", unreachable="who knows"),
        ["[reached] release: release.once/again: unreachable: it says 'who knows', but release(parcel_id='p1'), then release("],
    ),
    "arguments that the schema refuses": (
        parameter("pay", "amount", "[0, 1, 5]"),
        ["[candidates] pay: parameters: the tool's schema refuses pay(parcel_id="],
    ),
    "no candidates": (
        no_candidates,
        ["[candidates] register: parameters: no candidate call", *["[unreached] register: register."] * 3],
    ),
    "a situation that does not exist": (
        one_situation,
        [
            "[candidates] situations.nobody: the environment refuses its actions: init action 0, no_parcels",
            "[unreached] register: ",
        ],
    ),
    "a condition that takes too long": (
        extra("ring", when=ENDLESS),
        ["[work] ring: guards: guard extra/extra: the expression takes more than"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_the_only_thing_reported(tmp_path, name):
    change, expected = MISTAKES[name]
    problems = [str(problem) for problem in check(tmp_path, change).problems]
    assert len(problems) == len(expected) and all(map(str.startswith, problems, expected)), "\n".join(problems)


def test_every_kind_of_problem_is_tried():
    tried = {text[1 : text.index("]")] for _, expected in MISTAKES.values() for text in expected}
    assert tried == set(validation.KINDS) - {"environment"}


def test_an_environment_that_changes_on_failure_is_reported(tmp_path):
    class Leaky(toy.Toy):
        def _look(self, parcel_id):
            self._state["log"] = [*self._state["log"], parcel_id]
            return super()._look(parcel_id)

    problems = check(tmp_path, env=Leaky()).problems
    assert [problem.kind for problem in problems] == ["environment", "kind"]
    assert "look(parcel_id='p0') fails (Error: unknown parcel) but changes log" in problems[0].reason


def test_the_command_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(validation, "load", lambda name: toy.Toy())
    monkeypatch.setattr(validation, "Budget", lambda: BUDGET)
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir(), wrong.mkdir()
    toy.library(right)
    toy.library(wrong, lambda library: library.update(not_operational=[]))
    assert validation.main([str(right / "toy.yaml")]) == 0
    assert capsys.readouterr().out.startswith("toy: 0 problems; 19 of 20 branches reached")
    assert validation.main([str(wrong / "toy.yaml")]) == 1
    assert "1 x sentence: a sentence of the policy is neither" in capsys.readouterr().out
    assert validation.main(["nowhere"]) == 1 and "nowhere" in capsys.readouterr().out
    assert validation.main([]) == 2
