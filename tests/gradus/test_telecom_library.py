"""The telecom library against the official references, against what the tools say, and as a whole.

Branch by branch it is tested in `test_telecom_branches`.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from selfevolve.environments import load
from selfevolve.gradus import candidates, operators, trial

pytest.importorskip("inspect_evals", reason="the tau2 domains need inspect-evals")

JOHN = "C1001"


@pytest.fixture(scope="module")
def library():
    return operators.load("tau2/telecom")


@pytest.fixture(scope="module")
def env():
    return load("tau2/telecom")


@pytest.fixture(scope="module")
def starts(library):
    """Init actions of the base state and of every situation, by name."""
    return {"": [], **{situation.name: [action.model_dump() for action in situation.actions] for situation in library.situations}}


@pytest.fixture(scope="module")
def tasks():
    """Every eleventh official task, and all in which the line or the SIM card is blocked: the only ones with transfers."""
    from inspect_evals.tau2.utils import TAU2_DATA_DIR

    every = json.loads(gzip.decompress((Path(TAU2_DATA_DIR) / "domains/telecom/tasks.json.gz").read_bytes()))
    return [task for number, task in enumerate(every) if number % 11 == 0 or re.search("suspension|lock_sim", task["id"])]


def replay(library, env, task, facts):
    """(action, judgement) of each reference call of a task, in the state it meets."""
    env.reset(task["initial_state"]["initialization_actions"])
    for call in task["evaluation_criteria"]["actions"]:
        assert library.operators[call["name"]].requestor == call["requestor"]
        yield call["name"], library.judge(env, call["name"], call["arguments"], facts)
        assert env.call(call["name"], call["arguments"], call["requestor"]).ok


def told(task):
    """What the dialogue of an official task would tell, from its scenario."""
    instructions = task["user_scenario"]["instructions"]
    phone = re.search(r"phone number ([\d-]+)", instructions["known_info"])
    amount = re.search(r"willing to refuel ([\d.]+) GB", instructions["task_instructions"])
    return {
        "customer_id": JOHN,
        "phone_number": phone.group(1).strip("-"),
        "amount_gb": float(amount.group(1)) if amount else None,
        "price_confirmed": True,
        "bill_checked": True,
        "request": "technical_support",
        "declined": False,
    }


@pytest.mark.parametrize("known", [False, True], ids=["without facts", "with the scenario's facts"])
def test_every_official_call_passes(library, env, tasks, known):
    count, flagged, undecided = Counter(), [], Counter()
    for task in tasks:
        for action, judgement in replay(library, env, task, told(task) if known else None):
            count[library.operators[action].kind] += 1
            undecided += Counter((action, entry.policy_id) for entry in judgement.undetermined)
            if judgement.violations or judgement.rejections:
                flagged.append((task["id"], action, judgement.violations, judgement.rejections))
    assert not flagged
    assert count["write"] > 1000 and count["other"] == 32
    waiting = {policy for _, policy in undecided}
    assert waiting == (
        set() if known else {"identity", "line.asked", "payment.checked", "refuel.amount", "refuel.price", "transfer.cause"}
    )


def test_official_transfers_have_a_cause_that_nothing_undoes(library, env, tasks):
    causes, hidden = Counter(), 0
    for task in tasks:
        for action, judgement in replay(library, env, task, told(task)):
            if action == "transfer_to_human_agents":
                outcomes = {unit.outcome for unit in judgement.units}
                causes[tuple(sorted(outcomes))] += 1
                # The references transfer at once, also where the lock shows only after the SIM card is seated again.
                hidden += env.state["device"].sim_card_missing and outcomes == {"sim_locked"}
    assert causes == {("sim_locked",): 16, ("suspended_for_good",): 8, ("sim_locked", "suspended_for_good"): 8}
    assert hidden == 8


def test_official_references_solve_the_issue(library, env, tasks):
    shows = {"service": "check_status_bar", "mobile_data": "run_speed_test", "mms": "can_send_mms"}
    healthy = {
        "service": ("service.cause", "no_issue"),
        "mobile_data": ("speed.shown", "excellent"),
        "mms": ("mms.shown", "works"),
    }
    for task in tasks:
        issue = re.match(r"\[(\w+)_issue\]", task["id"]).group(1)
        env.reset(task["initial_state"]["initialization_actions"])
        assert healthy[issue] not in library.judge(env, shows[issue], {}).units
        actions = [action for action, _ in replay(library, env, task, None)]
        if "transfer_to_human_agents" not in actions:
            assert healthy[issue] in library.judge(env, shows[issue], {}).units


# --------------------------------------------------------------------------------------------- what the tools say of it

SAID = {  # action, arguments, policy: {outcome: what the tool says if, and only if, it holds}
    ("check_sim_status", None, "sim.shown"): {
        "active": "active and working",
        "missing": "No SIM card",
        "locked_pin": "locked with a PIN",
        "locked_puk": "locked with a PUK",
    },
    ("check_network_status", None, "network.airplane_mode"): {"on": "Airplane Mode: ON", "off": "Airplane Mode: OFF"},
    ("check_network_status", None, "network.signal"): {
        "none": "Cellular Signal: none",
        "weak": "Cellular Signal: (poor|fair)",
        "strong": "Cellular Signal: (good|excellent)",
    },
    ("check_network_status", None, "network.technology"): {
        "none": "Network Type: none",
        "2G": "Network Type: 2G",
        "3G_or_newer": "Network Type: [345]G",
    },
    ("check_network_status", None, "network.data"): {"enabled": "Data Enabled: Yes", "disabled": "Data Enabled: No"},
    ("check_network_status", None, "network.roaming"): {"enabled": "Roaming Enabled: Yes", "disabled": "Roaming Enabled: No"},
    ("check_network_mode_preference", None, "network_mode.shown"): {"older": "[23]g_only", "newer": "4g"},
    ("check_data_restriction_status", None, "data_saver.shown"): {"on": "is ON", "off": "is OFF"},
    ("check_apn_settings", None, "apn.name"): {"wrong": "APN Name: broken", "right": "APN Name: internet"},
    ("check_apn_settings", None, "apn.mmsc"): {"not_set": "MMSC.*Not Set", "set": "MMSC.*http"},
    ("check_wifi_status", None, "wifi.shown"): {"off": "turned OFF", "not_connected": "not connected"},
    ("check_wifi_calling_status", None, "wifi_calling.shown"): {"on": "turned ON", "off": "turned OFF"},
    ("check_vpn_status", None, "vpn.shown"): {"slow": "POOR", "good": "EXCELLENT", "not_connected": "turned OFF"},
    ("check_app_permissions", "messaging", "permissions.shown"): {
        "storage_missing": "^((?!storage).)*$",
        "sms_missing": "^((?!sms).)*$",
        "messaging_allowed": "sms, storage",
    },
    ("check_app_status", "messaging", "app_status.shown"): {"messaging_allowed": r"- sms\s+- storage"},
    ("run_speed_test", None, "speed.shown"): {
        "no_connection": "No Connection",
        "very_poor": r"\(Very Poor\)",
        "poor": r"\(Poor\)",
        "fair": r"\(Fair\)",
        "good": r"\(Good\)",
        "excellent": r"\(Excellent\)",
    },
    ("can_send_mms", None, "mms.shown"): {"works": "can send"},
    ("check_payment_request", None, "payment_request.shown"): {
        "pending": "You have a payment request",
        "none": "No payment request",
    },
    ("check_status_bar", None, "status_bar.airplane_mode"): {"shown": "Airplane Mode"},
    ("check_status_bar", None, "status_bar.signal"): {"none": "No Signal", "some": "Poor|Fair|Good|Excellent"},
    ("check_status_bar", None, "status_bar.technology"): {"older": "[23]G", "newer": "[45]G"},
    ("check_status_bar", None, "status_bar.data"): {"enabled": "Data Enabled", "disabled": "Data Disabled"},
    ("check_status_bar", None, "status_bar.data_saver"): {"shown": "Data Saver"},
    ("check_status_bar", None, "status_bar.vpn"): {"connected": "VPN Connected"},
    ("toggle_airplane_mode", None, "airplane_mode.switch"): {"turns_off": "is now OFF", "turns_on": "is now ON"},
    ("toggle_data", None, "data.switch"): {"turns_off": "is now OFF", "turns_on": "is now ON"},
    ("toggle_data_saver_mode", None, "data_saver.switch"): {"turns_off": "is now OFF", "turns_on": "is now ON"},
    ("toggle_wifi", None, "wifi.switch"): {"blocked": "Cannot change", "turns_on": "is now ON", "turns_off": "is now OFF"},
    ("connect_vpn", None, "vpn.connect"): {"connects": "successfully", "already_connected": "already"},
    ("reboot_device", None, "apn.reboot"): {"resets": "Resetting APN"},
    ("make_payment", None, "payment.make"): {"pays": "has been made", "no_request": "do not have"},
}
SWITCHES = [
    ("toggle_airplane_mode", {}),
    ("toggle_data", {}),
    ("toggle_data_saver_mode", {}),
    ("toggle_roaming", {}),
    ("toggle_wifi", {}),
    ("toggle_wifi_calling", {}),
    ("connect_vpn", {}),
    ("reset_apn_settings", {}),
    ("reboot_device", {}),
    *(("set_network_mode_preference", {"mode": mode}) for mode in ("2g_only", "3g_only", "4g_only")),
]


def test_outcomes_are_what_the_tools_say(library, env, starts):
    held = Counter()
    request = ("send_payment_request", {"customer_id": JOHN, "bill_id": "B1002"})
    for name, actions in starts.items():
        for first in (None, *((*SWITCHES, request) if name in ("home", "slow_vpn", "airplane_mode") else ())):
            env.reset(actions)
            if first:
                env.call(*first, library.operators[first[0]].requestor)
            start = env.snapshot()
            for (action, app, policy), outcomes in SAID.items():
                arguments = {"app_name": app} if app else {}
                units = library.judge(env, action, arguments).units
                text = env.call(action, arguments, "user").text
                for outcome, pattern in outcomes.items():
                    assert ((policy, outcome) in units) == bool(re.search(pattern, text, re.DOTALL)), (policy, outcome, text)
                    held[policy, outcome] += (policy, outcome) in units
                env.restore(start)
    assert all(held.values()), [outcome for outcome, times in held.items() if not times]


# ------------------------------------------------------------------------------------------------------------- as a whole

OF_SOME = {"details.bill", "details.line", "details.roaming"}  # of bills or lines only
OF_RADIO = {"status_bar.signal", "status_bar.technology", "status_bar.data", "status_bar.data_saver"}  # hidden by airplane mode
FACTS = {
    "customer_id": JOHN,
    "phone_number": "555-123-2001",
    "bill_checked": True,
    "amount_gb": 2,
    "price_confirmed": False,
    "request": "line_suspension",
    "declined": False,
}


def test_every_policy_has_an_outcome_and_effects_come_true(library, env, starts):
    rng = random.Random(0)
    for actions in starts.values():
        env.reset(actions)
        start = env.snapshot()
        for operator in library.operators.values():
            for arguments in candidates.calls(library, env, operator.action, 6, rng):
                judgement = library.judge(env, operator.action, arguments, FACTS)
                assert not judgement.undetermined
                missing = {guard.policy_id for guard in operator.guards} - {unit.policy_id for unit in judgement.units}
                excused = OF_SOME | (OF_RADIO if env.state["device"].airplane_mode else set())
                assert judgement.rejections or missing <= excused, (operator.action, arguments, missing)
                done = trial.execute(library, env, operator.action, arguments)
                assert done.observation.ok == (not judgement.rejections)
                assert not done.problems, done.problems
                env.restore(start)


def test_guards_of_the_user_never_judge(library):
    """The policy binds the assistant: what the user does to the phone is no breach."""
    for operator in library.operators.values():
        for guard in operator.guards:
            assert operator.requestor == "assistant" or (guard.verdict, guard.enforced_by) == ("allow", "api")


def test_situations_differ_from_the_base_state_and_each_other(env, starts):
    seen = set()
    for actions in starts.values():
        env.reset(actions)
        seen.add(env.state_hash())
    assert len(seen) == len(starts) == 18
