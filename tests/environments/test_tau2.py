"""Airline and retail: what calls do to the state, and what they do not."""

import json
import random
import string

import official  # skips without inspect-evals
import pytest

from selfevolve.environments import entries, load
from selfevolve.environments.protocol import MAX_SNAPSHOT

CERTIFICATE = {"user_id": "mia_li_3668", "amount": 100}


@pytest.fixture(scope="module")
def airline():
    return load("tau2/airline")


@pytest.fixture(scope="module")
def retail():
    return load("tau2/retail")


@pytest.fixture(autouse=True)
def reset(airline, retail):
    airline.reset()
    retail.reset()


def test_facts(airline, retail):
    assert (airline.now, retail.now) == ("2024-05-15T15:00:00", None)
    assert list(airline.state) == ["flights", "reservations", "users"]
    assert list(retail.state) == ["products", "orders", "users"]
    assert "bereavement" not in retail.policy and "Book flight" in airline.policy and not airline.user_tools
    assert len(airline.tools) == 14 and len(retail.tools) == 16
    assert len(airline.state["reservations"]) == 2000


def test_descriptions_are_private(airline):
    airline.tools[0]["function"]["parameters"]["properties"]["x"] = {"type": "string"}
    other = load("tau2/airline")
    assert "x" not in other.tools[0]["function"]["parameters"]["properties"]
    assert airline.call(airline.tools[0]["function"]["name"], {"x": "y"}).error == "invalid_arguments"
    del airline.tools[0]["function"]["parameters"]["properties"]["x"]


def test_schemas_leave_nothing_open(airline, retail):
    def closed(schema):
        if isinstance(schema, dict):
            assert schema.get("type") != "object" or schema["additionalProperties"] is False
            assert schema.get("type") != "integer" or schema["minimum"] == 0
            for value in schema.values():
                closed(value)
        elif isinstance(schema, list):
            for value in schema:
                closed(value)

    for env in (airline, retail, load("tau2/telecom")):
        for tool in env.tools + env.user_tools:
            closed(tool["function"]["parameters"])


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("send_certificate", CERTIFICATE | {"amount": -500}, "'amount'"),
        ("send_certificate", CERTIFICATE | {"amount": "100"}, "'amount'"),
        ("send_certificate", CERTIFICATE | {"id": "x"}, "'id'"),
        ("send_certificate", {"user_id": "mia_li_3668"}, "'amount'"),
        ("update_reservation_passengers", {"reservation_id": "4WQ150", "passengers": [{"first_name": "A"}]}, "'passengers'"),
        ("update_reservation_passengers", {"reservation_id": "4WQ150", "passengers": ["A"]}, "'passengers'"),
    ],
)
def test_arguments_are_checked(airline, name, arguments, words):
    observation = airline.call(name, arguments)
    assert observation.error == "invalid_arguments" and words in observation.text
    assert observation.text.startswith("Error: ")


def test_views_are_live_and_reading_copies_nothing(airline):
    state, users = airline.state, airline.state["users"]
    mia = users["mia_li_3668"]
    assert mia is airline._overlay.base.tables["users"]["mia_li_3668"]
    assert airline.call("get_user_details", {"user_id": "mia_li_3668"}).ok
    assert state["users"]["mia_li_3668"] is mia and airline._overlay.changed == {}
    airline.call("send_certificate", CERTIFICATE)
    assert state["users"]["mia_li_3668"].payment_methods["certificate_3221322"].amount == 100
    assert users["mia_li_3668"] is state["users"]["mia_li_3668"] is not mia
    assert "certificate_3221322" not in mia.payment_methods, "an entry of an earlier state stays as it was"
    assert airline.initial["users"]["mia_li_3668"] is mia
    assert list(airline._overlay.changed) == [("users", "mia_li_3668")]
    airline.reset()
    assert users["mia_li_3668"] is mia


def test_initial_is_the_state_after_init_actions(airline):
    airline.reset([{"env_type": "assistant", "func_name": "send_certificate", "arguments": CERTIFICATE}])
    airline.call("send_certificate", CERTIFICATE)
    now, first = (view["users"]["mia_li_3668"].payment_methods for view in (airline.state, airline.initial))
    assert "certificate_3221323" in now and "certificate_3221323" not in first and "certificate_3221322" in first
    blob, hash_ = airline.snapshot(), airline.state_hash()
    airline.reset()
    for env in (airline, load("tau2/airline")):  # the environment that made it remembers it, another has to read it
        env.restore(blob)
        assert env.state_hash() == hash_
        assert env.initial["users"]["mia_li_3668"].payment_methods == first


def test_a_call_that_fails_midway_leaves_no_trace(airline, monkeypatch):
    def half(user_id, amount):
        toolkit.db.users[user_id].membership = "gold"
        toolkit.db.users["new"] = toolkit.db.users[user_id]
        raise KeyError("half done")

    toolkit = airline._toolkits["assistant"]
    tool = airline._tools["assistant", "send_certificate"]
    monkeypatch.setitem(airline._tools, ("assistant", "send_certificate"), tool._replace(run=half))
    before, blob = airline.state_hash(), airline.snapshot()
    observation = airline.call("send_certificate", CERTIFICATE)
    assert observation.error == "tool_error" and "half done" in observation.text
    assert (airline.state_hash(), airline.snapshot()) == (before, blob) and "new" not in airline.state["users"]


def test_changing_back_gives_the_first_hash(retail):
    order = next(order for order in retail.state["orders"].values() if order.status == "pending")
    address = order.address.model_dump()
    before = retail.state_hash(), retail.official_hash()
    assert retail.call("modify_pending_order_address", {"order_id": order.order_id, **address, "city": "Elsewhere"}).ok
    assert retail.state_hash() != before[0] and retail.official_hash() != before[1]
    assert retail.call("modify_pending_order_address", {"order_id": order.order_id, **address}).ok
    assert (retail.state_hash(), retail.official_hash()) == before and retail._overlay.changed == {}


def test_an_episode_cannot_outgrow_a_snapshot(airline):
    """Each repeated cancellation doubles the payment history; the official code goes on until memory ends."""
    ids = list(airline.state["reservations"])
    for _ in range(40):
        last = airline.call("cancel_reservation", {"reservation_id": ids[0]})
    assert last.error == "tool_error" and "would grow beyond" in last.text
    for id_ in ids[1:400]:
        assert airline.call("cancel_reservation", {"reservation_id": id_}).ok, "only absurdly long episodes are refused"
    assert len(airline.snapshot()) < 12_000
    rng, refused = random.Random(0), 0
    for id_ in ids[1:60]:
        noise = ["".join(rng.choices(string.printable, k=9_000)) for _ in airline.state["reservations"][id_].passengers]
        people = [{"first_name": text, "last_name": "", "dob": ""} for text in noise]
        before = airline.state_hash()
        observation = airline.call("update_reservation_passengers", {"reservation_id": id_, "passengers": people})
        assert len(airline.snapshot()) <= MAX_SNAPSHOT
        if not observation.ok:
            assert "would not fit a snapshot" in observation.text or "would grow beyond" in observation.text
            assert airline.state_hash() == before
            refused += 1
            if refused == 3:
                break
    assert refused == 3
    blob, other = airline.snapshot(), load("tau2/airline")
    other.restore(blob)
    assert other.state_hash() == airline.state_hash() and other.official_hash() == airline.official_hash()


def test_snapshot_keeps_types_that_validation_would_change(airline):
    """The balance of a gift card is a float; a tool that stores an integer in it changes the official hash."""
    user = next(u for u in airline.state["users"].values() if any(p.source == "gift_card" for p in u.payment_methods.values()))
    airline._open(True)
    card = next(
        p for p in airline._toolkits["assistant"].db.users[user.user_id].payment_methods.values() if p.source == "gift_card"
    )
    card.amount = 15
    airline._overlay.commit()
    airline._overlay.discard()
    blob, hashes = airline.snapshot(), (airline.state_hash(), airline.official_hash())
    other = load("tau2/airline")
    other.restore(blob)
    assert (other.state_hash(), other.official_hash()) == hashes


def test_init_actions_that_break_the_state_are_refused(retail):
    action = {"env_type": "assistant", "func_name": "modify_user_address"}
    good = dict(user_id="yusuf_rossi_9620", address1="a", address2="b", city="c", state="d", country="e", zip="f")
    retail.reset([action | {"arguments": good}])
    before = retail.state_hash()
    for bad in ({"city": 3}, {"city": None}, {"nowhere": "x"}, {"user_id": "nobody"}):
        with pytest.raises(ValueError, match="init action 1, 'modify_user_address'"):
            retail.reset([action | {"arguments": good}, action | {"arguments": good | bad}])
        assert retail.state_hash() == before


def test_a_snapshot_is_of_the_present_state_whatever_was_taken_before(airline):
    airline.reset()
    first = airline.snapshot()
    blobs = {first: airline.state_hash()}
    for number in range(200):  # more than are kept
        airline.restore(first)
        amount = {"user_id": "mia_li_3668", "amount": number + 1}
        assert airline.call("send_certificate", amount).ok
        blobs[airline.snapshot()] = airline.state_hash()
    assert len(blobs) == 201 and len(set(blobs.values())) == 201
    for blob, digest in [*blobs.items()][::-20]:
        airline.restore(blob)
        assert airline.state_hash() == digest and airline.snapshot() == blob


def test_get_item_details(retail):
    item = next(iter(retail.state["products"]["9523456873"].variants.values()))
    observation = retail.call("get_item_details", {"item_id": item.item_id})
    assert json.loads(observation.text) == item.model_dump()
    assert retail.call("get_item_details", {"item_id": "9523456873"}).text == "Error: Item not found"


def test_calculate(airline, retail):
    for env in (airline, retail):
        assert env.call("calculate", {"expression": "(1 + 2) * 3.5"}).text == "10.5"
        for expression in ("9**9**9", "1/0", "__import__('os')", "(" * 5_000, "1+" * 4_900 + "1", "-" * 9_000, ""):
            assert env.call("calculate", {"expression": expression}).error == "tool_error"
        assert env.call("transfer_to_human_agents", {"summary": "x"}).text == "Transfer successful"


def test_reads_do_not_touch_the_base(airline, retail):
    """Reading tools see the shared database itself; none of them changes it."""
    for env in (airline, retail):
        for task in official.older_tasks(env.name):
            for call in official.reference(task):
                env.call(*call)
        env.reset()
        dump = json.dumps(
            {t: {k: v.model_dump() for k, v in d.items()} for t, d in env.state.items()}, sort_keys=True, default=str
        )
        assert official.hashlib.sha256(dump.encode()).hexdigest() == official.Official(env.name).hash() == env.official_hash()


def test_clone_is_deep_and_equal(airline):
    for table in airline.state.values():
        for value in list(table.values())[:20]:
            copy = entries.clone(value)
            assert copy == value and copy is not value and entries.quick(copy) == entries.quick(value)
            for name, item in value.__dict__.items():
                if isinstance(item, (dict, list)):
                    assert getattr(copy, name) is not item
