"""The key of a training episode: a live connector refuses it, whatever the rules allow and however it is used."""

from tests.gateway.episodes.world import World

REFUND = {"id": 8, "amount": 5}


async def test_a_live_connector_refuses_the_key_of_a_training_episode(world: World) -> None:
    await world.rules({"id": "allow-all", "outcome": "allow"})
    training, live = await world.start(mode="training"), await world.start()
    refused: dict[str, object] = {}
    for name, episode in (("training", training), ("live", live)):
        async with world.client(await world.episode_key(episode)) as agent:
            for tool, arguments in (("shop_refund_order", REFUND), ("shop_get_order", {"id": 10})):
                answer = await agent.post(f"/v1/tools/{tool}/call", json={"arguments": arguments})
                refused[f"{name} {tool}"] = answer.json()["status"]
                if name == "training":
                    assert "reaches a live system, which training never touches" in answer.json()["content"]
    assert refused == {
        "training shop_refund_order": "denied",
        "training shop_get_order": "denied",
        "live shop_refund_order": "ok",
        "live shop_get_order": "ok",
    }
    assert world.shop.refunds == [(8, 5.0)]


async def test_nor_does_it_help_to_name_a_live_episode_beside_it(world: World) -> None:
    """The key says which episode it is; what its bearer says besides does not."""
    await world.rules({"id": "allow-all", "outcome": "allow"})
    training, live = await world.start(mode="training"), await world.start()
    async with world.client(await world.episode_key(training)) as agent:
        for besides in ({"mode": "live"}, {"episode": live.id}):
            answer = await agent.post("/v1/tools/shop_refund_order/call", json={"arguments": REFUND, **besides})
            assert answer.status_code == 422 or answer.json()["status"] == "denied"
        for verb, body in (("turns", {"step": 0}), ("calls", {"step": 0, "call": 0}), ("keys", None)):
            assert (await agent.post(f"/v1/episodes/{live.id}/{verb}", json=body)).status_code in (403, 404)
    assert world.shop.refunds == []
