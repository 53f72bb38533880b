"""Every branch of the telecom library that denies, in the company of one that allows; faults of the phone and their fixes.

A case is a call in a situation of the library, perhaps after other calls, with what the dialogue told, and the outcomes that
hold for some of its policies: "!x" is a breach of the policy, "#x" a refusal by the tool, a plain "x" neither. The call is
executed too: a refused one fails and changes nothing, any other succeeds. The last test says that no branch was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from selfevolve.environments import load
from selfevolve.gradus import operators

pytest.importorskip("inspect_evals", reason="the tau2 domains need inspect-evals")

# John has L1001 to L1003, Sarah L1004 to L1008 and the overdue bill B1005, Michael L1009 and the disputed bill B1006.
JOHN, SARAH, MICHAEL, NOBODY = "C1001", "C1002", "C1003", "C9999"
OVERDUE = "B1234321"  # John's bill in the situations `overdue` and `contract_ended`
TOLD = {
    "customer_id": JOHN,
    "phone_number": "555-123-2002",  # that of L1002, the line of the phone in every situation but the base state
    "bill_checked": True,
    "amount_gb": 2,
    "price_confirmed": True,
    "request": "technical_support",
    "declined": False,
}


@dataclass
class Case:
    action: str
    arguments: dict[str, Any]
    expected: dict[str, str]
    situation: str = "home"
    told: dict[str, Any] = field(default_factory=dict)  # what differs from TOLD
    after: tuple[tuple[str, dict[str, Any]], ...] = ()

    def but(self, expected: dict[str, str], told: dict[str, Any] | None = None, **arguments: Any) -> Case:
        """The same call with other arguments or facts."""
        return replace(self, arguments={**self.arguments, **arguments}, expected=expected, told={**self.told, **(told or {})})


def line(customer: str = JOHN, line_id: str = "L1002", **more: Any) -> dict[str, Any]:
    return {"customer_id": customer, "line_id": line_id, **more}


def bill(bill_id: str, customer: str = JOHN) -> dict[str, Any]:
    return {"customer_id": customer, "bill_id": bill_id}


ASK, PAY, TRANSFER = ("send_payment_request", bill(OVERDUE)), ("make_payment", {}), {"summary": "No service."}
LOOK_UP = {
    "get_customer_by_phone": Case("get_customer_by_phone", {"phone_number": "555-123-2001"}, {"lookup.phone": "line_number"}),
    "get_customer_by_id": Case("get_customer_by_id", {"customer_id": JOHN}, {"lookup.id": "known"}),
    "get_details_by_id": Case("get_details_by_id", {"id": "B1005"}, {"details.exists": "known", "details.bill": "overdue"}),
}
FINE = {  # a call of each other action of the assistant that nothing speaks against
    "get_bills_for_customer": Case("get_bills_for_customer", {"customer_id": JOHN}, {"bills.shown": "overdue"}, "overdue"),
    "get_data_usage": Case("get_data_usage", line(), {"usage.shown": "limit_reached"}, "limit_reached"),
    "suspend_line": Case(
        "suspend_line",
        line(SARAH, "L1004", reason="overdue"),
        {"suspend.status": "active", "suspend.reason": "overdue_bill"},
        told={"customer_id": SARAH},
    ),
    "send_payment_request": Case(
        "send_payment_request",
        bill(OVERDUE),
        {"payment.overdue": "overdue", "payment.single": "none_awaiting", "payment.owner": "own", "payment.checked": "checked"},
        "overdue",
    ),
    "resume_line": Case(
        "resume_line",
        line(),
        {"resume.bills": "all_paid", "resume.contract": "running", "resume.status": "suspended"},
        "overdue",
        after=(ASK, PAY),
    ),
    "refuel_data": Case(
        "refuel_data",
        line(gb_amount=2),
        {"refuel.maximum": "within", "refuel.amount": "as_asked", "refuel.price": "confirmed", "refuel.positive": "positive"},
        "limit_reached",
    ),
    "enable_roaming": Case("enable_roaming", line(), {"roaming.enable": "abroad", "line.asked": "asked"}, "abroad"),
    "disable_roaming": Case("disable_roaming", line(), {"roaming.disable": "at_home"}),
}
PAYMENT, RESUME, REFUEL = FINE["send_payment_request"], FINE["resume_line"], FINE["refuel_data"]
OTHERS = [
    *(case.but({**case.expected, "identity": "identified", "customer.exists": "known"}) for case in FINE.values()),
    *(case.but({"identity": "!unidentified"}, {"customer_id": ""}) for case in FINE.values()),
    *(case.but({"identity": "!another_customer"}, {"customer_id": MICHAEL}) for case in FINE.values()),
    *(case.but({"customer.exists": "#unknown"}, customer_id=NOBODY) for case in FINE.values()),
    *(case.but({"line.owner": "own"}) for case in FINE.values() if "line_id" in case.arguments),
    *(case.but({"line.owner": "#foreign"}, customer_id=MICHAEL) for case in FINE.values() if "line_id" in case.arguments),
    *(case.but({"line.asked": "asked"}) for case in (REFUEL, FINE["enable_roaming"])),
    *(case.but({"line.asked": "!other"}, {"phone_number": "555-123-2001"}) for case in (REFUEL, FINE["enable_roaming"])),
    # look-ups
    *LOOK_UP.values(),
    LOOK_UP["get_customer_by_phone"].but({"lookup.phone": "contact_number"}, phone_number="555-123-1003"),
    LOOK_UP["get_customer_by_phone"].but({"lookup.phone": "#unknown"}, phone_number="555-123-2010"),
    LOOK_UP["get_customer_by_id"].but({"lookup.id": "#unknown"}, customer_id=NOBODY),
    LOOK_UP["get_details_by_id"].but({"details.exists": "#unknown"}, id="L1010"),
    LOOK_UP["get_details_by_id"].but({"details.exists": "#unknown"}, id="1001"),
    LOOK_UP["get_details_by_id"].but({"details.line": "active", "details.roaming": "enabled"}, id="L1002"),
    LOOK_UP["get_details_by_id"].but({"details.line": "suspended", "details.roaming": "disabled"}, id="L1003"),
    Case("get_details_by_id", {"id": "L1002"}, {"details.line": "suspended_for_good"}, "contract_ended"),
    Case("get_details_by_id", {"id": OVERDUE}, {"details.bill": "awaiting_payment"}, "overdue", after=(ASK,)),
    Case("get_details_by_id", {"id": OVERDUE}, {"details.bill": "paid"}, "overdue", after=(ASK, PAY)),
    LOOK_UP["get_details_by_id"].but({"details.bill": "not_overdue"}, id="B1002"),
    # payment requests
    PAYMENT.but({"payment.overdue": "!paid", "payment.single": "none_awaiting"}, bill_id="B1001"),
    PAYMENT.but({"payment.overdue": "!not_due_yet"}, bill_id="B1002"),
    PAYMENT.but({"payment.overdue": "!not_due_yet"}, bill_id="B1003"),
    PAYMENT.but({"payment.overdue": "!disputed"}, {"customer_id": MICHAEL}, **bill("B1006", MICHAEL)),
    PAYMENT.but({"payment.overdue": "overdue", "payment.owner": "own"}, {"customer_id": SARAH}, **bill("B1005", SARAH)),
    PAYMENT.but({"payment.checked": "!unchecked", "payment.overdue": "overdue"}, {"bill_checked": False}),
    PAYMENT.but({"payment.owner": "#foreign", "payment.overdue": "overdue"}, bill_id="B1005"),
    PAYMENT.but({"payment.owner": "#foreign"}, bill_id="B9999"),
    replace(PAYMENT, after=(ASK,), expected={"payment.single": "#one_awaiting", "payment.owner": "own"}),
    replace(PAYMENT, after=(ASK,), expected={"payment.single": "#one_awaiting"}, arguments=bill("B1002")),
    replace(PAYMENT, after=(ASK, PAY), expected={"payment.single": "none_awaiting", "payment.overdue": "!paid"}),
    # suspension
    FINE["suspend_line"].but({"suspend.reason": "!none", "suspend.status": "active"}, {"customer_id": JOHN}, **line()),
    Case("suspend_line", line(reason="overdue"), {"suspend.status": "#not_active", "suspend.reason": "overdue_bill"}, "overdue"),
    Case(  # resumed against the policy, so that an active line's contract has ended and all bills are paid
        "suspend_line",
        line(reason="contract"),
        {"suspend.reason": "contract_ended", "suspend.status": "active"},
        "contract_ended",
        after=(ASK, PAY, ("resume_line", line())),
    ),
    # lifting a suspension
    replace(RESUME, after=(), expected={"resume.bills": "!overdue", "resume.contract": "running"}),
    replace(RESUME, after=(ASK,), expected={"resume.bills": "!awaiting_payment", "resume.contract": "running"}),
    replace(RESUME, situation="contract_ended", expected={"resume.contract": "!ended", "resume.bills": "all_paid"}),
    replace(RESUME, situation="contract_ended", after=(), expected={"resume.contract": "!ended", "resume.bills": "!overdue"}),
    replace(RESUME, situation="home", after=(), expected={"resume.status": "#not_suspended"}),
    Case("resume_line", line(JOHN, "L1003"), {"resume.bills": "all_paid", "resume.contract": "running"}),  # nothing to pay
    # refueling
    REFUEL.but({"refuel.maximum": "!above", "refuel.need": "reconnects"}, {"amount_gb": 2.5}, gb_amount=2.5),
    REFUEL.but({"refuel.maximum": "within"}, {"amount_gb": 0.5}, gb_amount=0.5),
    replace(REFUEL, after=(("refuel_data", line(gb_amount=1)),), expected={"refuel.maximum": "!above_in_all"}),
    replace(
        REFUEL, after=(("refuel_data", line(gb_amount=1)),), arguments=line(gb_amount=1), expected={"refuel.maximum": "within"}
    ),
    REFUEL.but({"refuel.amount": "!another"}, gb_amount=1),
    REFUEL.but({"refuel.price": "!unconfirmed"}, {"price_confirmed": False}),
    REFUEL.but({"refuel.positive": "#not_positive"}, {"amount_gb": 0}, gb_amount=0),
    REFUEL.but({"refuel.positive": "#not_positive"}, {"amount_gb": -1}, gb_amount=-1),
    replace(REFUEL, situation="far_beyond_limit", expected={"refuel.need": "too_little", "refuel.maximum": "within"}),
    replace(REFUEL, situation="home", expected={"refuel.need": "below_limit", "refuel.maximum": "within"}),
    # roaming
    replace(FINE["enable_roaming"], situation="home", expected={"roaming.enable": "!at_home"}),
    replace(FINE["enable_roaming"], after=(("enable_roaming", line()),), expected={"roaming.enable": "already_on"}),
    replace(
        FINE["disable_roaming"], situation="abroad", after=(("enable_roaming", line()),), expected={"roaming.disable": "!abroad"}
    ),
    replace(FINE["disable_roaming"], situation="abroad", expected={"roaming.disable": "already_off"}),
    # transfers
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "sim_locked"}, "sim_pin"),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "sim_locked"}, "sim_puk"),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "suspended_for_good"}, "contract_ended"),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "plan_change"}, told={"request": "plan_change"}),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "out_of_scope"}, told={"request": "other"}),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "declined"}, "overdue", {"declined": True}),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "!can_be_handled"}, "overdue"),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "!can_be_handled"}, "airplane_mode"),
    Case("transfer_to_human_agents", TRANSFER, {"transfer.cause": "!can_be_handled"}, "home", {"request": "plan_options"}),
]
RESUMED = (ASK, PAY, ("resume_line", line()))
PHONE = [  # faults of the phone: what shows them, and what removes them
    Case("check_status_bar", {}, {"service.cause": "no_issue"}),
    Case("check_status_bar", {}, {"service.cause": "airplane_mode"}, "airplane_mode"),
    Case("toggle_airplane_mode", {}, {"airplane_mode.switch": "turns_off", "service": "restored"}, "airplane_mode"),
    Case("toggle_airplane_mode", {}, {"airplane_mode.switch": "turns_on", "service": "lost"}),
    Case("check_status_bar", {}, {"service.cause": "sim_missing"}, "sim_missing"),
    Case("reseat_sim_card", {}, {"sim.reseat": "inserts", "service": "restored"}, "sim_missing"),
    Case("check_status_bar", {}, {"service.cause": "sim_locked"}, "sim_pin"),
    Case("reseat_sim_card", {}, {"sim.reseat": "was_seated", "service": "still_none"}, "sim_puk"),
    Case("check_status_bar", {}, {"service.cause": "wrong_apn"}, "apn_broken"),
    Case("reset_apn_settings", {}, {"apn.reset": "wrong_apn", "service": "still_none"}, "apn_broken"),
    Case("reboot_device", {}, {"apn.reboot": "nothing_pending", "service": "still_none"}, "apn_broken"),
    Case("reboot_device", {}, {"apn.reboot": "resets", "service": "restored"}, "apn_broken", after=(("reset_apn_settings", {}),)),
    Case("set_apn_settings", {"apn_settings": {}}, {"apn.set": "right", "service": "restored"}, "apn_broken"),
    Case("check_status_bar", {}, {"service.cause": "inactive_line"}, "overdue"),
    Case("reboot_device", {}, {"service": "still_none"}, "overdue"),
    Case("check_status_bar", {}, {"service.cause": "not_searched"}, "overdue", after=RESUMED),
    Case("reboot_device", {}, {"service": "restored", "apn.reboot": "nothing_pending"}, "overdue", after=RESUMED),
    Case("run_speed_test", {}, {"data.cause": "none_of_these"}),
    Case("run_speed_test", {}, {"data.cause": "no_service"}, "airplane_mode"),
    Case("run_speed_test", {}, {"data.cause": "data_off"}, "data_off"),
    Case("toggle_data", {}, {"data.switch": "turns_on", "service": "kept"}, "data_off"),
    Case("run_speed_test", {}, {"data.cause": "phone_does_not_roam"}, "abroad", after=(("enable_roaming", line()),)),
    Case("run_speed_test", {}, {"data.cause": "line_does_not_roam"}, "abroad", after=(("toggle_roaming", {}),)),
    Case("toggle_roaming", {}, {"roaming.switch": "turns_on_abroad", "service": "kept"}, "abroad"),
    Case("toggle_roaming", {}, {"roaming.switch": "turns_off_abroad"}, "abroad", after=(("toggle_roaming", {}),)),
    Case("toggle_roaming", {}, {"roaming.switch": "turns_on_at_home"}),
    Case("run_speed_test", {}, {"data.cause": "limit_reached", "speed.shown": "no_connection"}, "limit_reached"),
    Case("run_speed_test", {}, {"data.cause": "data_saver"}, "data_saver"),
    Case("run_speed_test", {}, {"data.cause": "slow_vpn", "speed.shown": "fair"}, "slow_vpn"),
    Case("disconnect_vpn", {}, {"vpn.disconnect": "slow"}, "slow_vpn"),
    Case("disconnect_vpn", {}, {"vpn.disconnect": "good"}, after=(("connect_vpn", {}),)),
    Case("run_speed_test", {}, {"data.cause": "older_network"}, after=(("set_network_mode_preference", {"mode": "3g_only"}),)),
    Case("can_send_mms", {}, {"mms.shown": "no_data"}, "data_off"),
    Case("can_send_mms", {}, {"mms.shown": "2G"}, after=(("set_network_mode_preference", {"mode": "2g_only"}),)),
    Case("can_send_mms", {}, {"mms.shown": "no_mmsc"}, "mmsc_missing"),
    Case("reset_apn_settings", {}, {"apn.reset": "no_mmsc", "service": "kept"}, "mmsc_missing"),
    Case("can_send_mms", {}, {"mms.shown": "wifi_calling"}, "wifi_calling"),
    Case("toggle_wifi_calling", {}, {"wifi_calling.switch": "frees_mms"}, "wifi_calling"),
    Case("toggle_wifi_calling", {}, {"wifi_calling.switch": "blocks_mms"}, "wifi_calling", after=(("toggle_wifi_calling", {}),)),
    Case("can_send_mms", {}, {"mms.shown": "no_permission"}, "no_permissions"),
    *(
        Case(
            "grant_app_permission",
            {"app_name": "messaging", "permission": permission},
            {"permission.grant": permission, "permission.mms": f"{permission}_missing"},
            "no_permissions",
        )
        for permission in ("storage", "sms")
    ),
    Case("grant_app_permission", {"app_name": "messaging", "permission": "SMS"}, {"permission.mms": "no_difference"}),
]


@pytest.fixture(scope="module")
def library():
    return operators.load("tau2/telecom")


@pytest.fixture(scope="module")
def env():
    return load("tau2/telecom")


def prepare(library, env, case: Case) -> None:
    env.reset([a.model_dump() for s in library.situations if s.name == case.situation for a in s.actions])
    for action, arguments in case.after:
        assert env.call(action, arguments, library.operators[action].requestor).ok


@pytest.mark.parametrize("case", OTHERS + PHONE, ids=lambda case: f"{case.action} {' '.join(case.expected.values())}")
def test_branch_holds_and_is_enforced_as_said(library, env, case):
    prepare(library, env, case)
    judgement = library.judge(env, case.action, case.arguments, TOLD | case.told)
    held = {policy: {unit.outcome for unit in judgement.units if unit.policy_id == policy} for policy in case.expected}
    assert held == {policy: {outcome.lstrip("!#")} for policy, outcome in case.expected.items()}
    for policy, outcome in case.expected.items():
        assert (policy in judgement.violations) == outcome.startswith("!")
        assert (policy in judgement.rejections) == outcome.startswith("#")
    assert not judgement.undetermined
    before = env.state_hash()
    answer = env.call(case.action, case.arguments, library.operators[case.action].requestor)
    assert answer.ok == (not judgement.rejections)
    assert answer.ok or (answer.error == "tool_error" and env.state_hash() == before)


@pytest.mark.parametrize("case", FINE.values(), ids=FINE)
def test_nothing_speaks_against_a_fine_call(library, env, case):
    prepare(library, env, case)
    judgement = library.judge(env, case.action, case.arguments, TOLD | case.told)
    assert (judgement.violations, judgement.rejections, judgement.undetermined) == ((), (), ())


def test_every_deny_branch_has_a_case_and_its_policy_one_that_allows(library):
    tested = {(case.action, policy, outcome) for case in OTHERS for policy, outcome in case.expected.items()}
    denying = [
        (operator.action, guard)
        for operator in library.operators.values()
        for guard in operator.guards
        if guard.verdict == "deny"
    ]
    for action, guard in denying:
        mark = "#" if guard.enforced_by == "api" else "!"
        assert (action, guard.policy_id, mark + guard.outcome) in tested
        allowed = {
            outcome for a, policy, outcome in tested if (a, policy) == (action, guard.policy_id) and outcome[0] not in "!#"
        }
        assert allowed, f"{action}: {guard.policy_id} has no case that it allows"
    assert len(denying) == 55
