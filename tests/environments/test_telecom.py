"""Telecom: dual control, synchronisation, counted ids and the memory of the VPN."""

import json

import official  # skips without inspect-evals
import pytest

from selfevolve.environments import load

JOHN = {"env_type": "user", "func_name": "set_user_info", "arguments": {"name": "John Smith", "phone_number": "555-123-2002"}}


def init(name: str, side: str = "user", /, **arguments) -> dict:
    return {"env_type": side, "func_name": name, "arguments": arguments}


@pytest.fixture
def env():
    return load("tau2/telecom")


def hashes_as_official(env, start, calls):
    slow = official.Official("tau2/telecom", start)
    env.reset(start)
    for call in calls:
        assert env.call(*call).ok == slow.call(*call), call
    assert env.official_hash() == slow.hash()


def test_facts(env):
    assert env.now == "2025-02-25T12:08:00"
    assert list(env.state) == ["customers", "plans", "lines", "bills", "devices", "device", "surroundings"]
    assert env.policy.startswith("<main_policy>") and env.policy.endswith("</tech_support_policy>")
    assert len(env.tools) == 13 and len(env.user_tools) == 30
    names = {tool["function"]["name"] for tool in env.tools + env.user_tools}
    assert not names & {"calculate", "set_user_info", "break_vpn", "simulate_network_search", "assert_can_send_mms"}


def test_each_side_sees_what_the_other_did(env):
    env.reset([JOHN])
    assert env.state["surroundings"].roaming_allowed
    assert env.call("disable_roaming", {"customer_id": "C1001", "line_id": "L1002"}).ok
    assert not env.state["surroundings"].roaming_allowed
    bill = env.state["customers"][0].bill_ids[0]
    assert env.call("send_payment_request", {"customer_id": "C1001", "bill_id": bill}).ok
    assert bill in env.call("check_payment_request", {}, "user").text
    assert env.call("make_payment", {}, "user").ok
    assert next(b for b in env.state["bills"] if b.bill_id == bill).status.value == "Paid"
    assert env.state["surroundings"].payment_request is None


def test_reading_leaves_nothing_to_synchronise(env):
    """Only writing calls are followed by a synchronisation, because it changes nothing the second time."""
    for task in official.tasks("tau2/telecom")[::200]:
        env.reset(official.init_actions(task))
        for call in official.reference(task):
            env.call(*call)
            before = env.state_hash()
            env._open(True)
            env._settle()
            env._overlay.commit()
            env._overlay.discard()
            assert env.state_hash() == before


def test_bills_opened_by_refuelling_have_counted_ids(env):
    env.reset([JOHN])
    refuel = {"customer_id": "C1002", "line_id": "L1004", "gb_amount": 2.0}
    line = next(line for line in env.state["lines"] if line.line_id == "L1004")
    assert line.line_id in next(c for c in env.state["customers"] if c.customer_id == "C1002").line_ids
    count = len(env.state["bills"])
    assert env.call("refuel_data", refuel).ok
    opened = [bill.bill_id for bill in env.state["bills"][count:]]
    assert opened == ["B00000001"] or opened == []
    blob, hash_ = env.snapshot(), env.state_hash()
    env.reset([JOHN])
    assert env.call("refuel_data", refuel).ok and env.state_hash() == hash_
    other = load("tau2/telecom")
    other.restore(blob)
    for environment in (env, other):
        for customer in environment.state["customers"]:
            for line_id in customer.line_ids:
                environment.call("refuel_data", refuel | {"customer_id": customer.customer_id, "line_id": line_id})
    assert env.state_hash() == other.state_hash() and env.official_hash() == other.official_hash()
    assert len({bill.bill_id for bill in env.state["bills"]}) == len(env.state["bills"])


def test_existing_bills_are_not_replaced(env):
    bill = env.state["bills"][0].bill_id
    action = init(
        "suspend_line_for_overdue_bill", "assistant", customer_id="C1001", line_id="L1001", new_bill_id=bill, contract_ended=True
    )
    with pytest.raises(ValueError, match="exists already"):
        env.reset([JOHN, action])


@pytest.mark.parametrize("breaks", [1, 2])
def test_the_vpn_remembers_as_in_a_fresh_official_process(env, breaks):
    again = [("disconnect_vpn", {}, "user"), ("connect_vpn", {}, "user"), ("run_speed_test", {}, "user")]
    hashes_as_official(env, [JOHN, init("connect_vpn"), *[init("break_vpn")] * breaks], again)
    assert env.state["device"].vpn_details.server_performance.value == "poor"
    hashes_as_official(env, [JOHN], again)
    assert env.state["device"].vpn_details.server_performance.value == "excellent", "another episode knows nothing of it"


def test_init_functions_outside_the_tools(env):
    start = [
        JOHN,
        init("set_data_usage", "assistant", customer_id="C1001", line_id="L1002", data_used_gb=15),
        init("remove_app_permission", app_name="messaging", permission="sms"),
        init("set_wifi_calling", enabled=True, mms_over_wifi=True),
        init("lock_sim_card", mode="pin"),
    ]
    hashes_as_official(env, start, [("reboot_device", {}, "user"), ("toggle_data", {}, "user")])
    blob, hashes = env.snapshot(), env.official_hash()
    other = load("tau2/telecom")
    other.restore(blob)
    assert other.official_hash() == hashes, "15 GB stays an integer in a float field, as in the official dump"
    for name in ("_set_bill_to_paid", "db", "overlay", "device", "initialize"):
        with pytest.raises(ValueError, match="no such public function"):
            env.reset([init(name)])


def test_an_unknown_phone_number_is_a_bad_init_action(env):
    before = env.state_hash()
    with pytest.raises(ValueError, match="init action 0, 'set_user_info'.*not found"):
        env.reset([init("set_user_info", name="x", phone_number="1")])
    assert env.state_hash() == before


def test_settings_are_checked_in_depth(env):
    good = {"apn_name": "internet", "mms_port": None}
    assert env.call("set_apn_settings", {"apn_settings": good}, "user").ok
    for bad in ({"apn_name": "x"}, {"mms_port": "80"}, {"other": 1}, {"mms_port": -1}, "internet"):
        observation = env.call("set_apn_settings", {"apn_settings": bad}, "user")
        assert observation.error == "invalid_arguments" and "'apn_settings'" in observation.text
    assert env.call("set_network_mode_preference", {"mode": "5g"}, "user").error == "invalid_arguments"


def test_observations_are_text(env):
    assert json.loads(env.call("get_details_by_id", {"id": "L1001"}).text)["line_id"] == "L1001"
    assert isinstance(json.loads(env.call("get_bills_for_customer", {"customer_id": "C1001", "limit": 2}).text), list)
    assert "Status Bar" in env.call("check_status_bar", {}, "user").text
