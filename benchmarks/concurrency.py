"""Wall time of dependent chains of recorded calls against their critical path, 64 calls at once.

    python benchmarks/concurrency.py [--chains 64] [--length 20] [--latency 0.2]

The endpoint is a loopback server in a process of its own that answers after a fixed latency. Every call depends on the answer before it in
its chain, so no run can take less than length x latency. What comes on top is ours: hashing, HTTP, JSON, recording on disk (fsync).
Prompts are of a real size: the policy as the system message, and a conversation that grows. The last line is JSON.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

from selfevolve.environments import load
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.settings import LlmSettings, Sampling


def serve(latency: float, pipe: Connection) -> None:
    """Answer chat completions on a free port, which is sent through the pipe."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                body = await reader.readexactly(int(length.split(b":")[1]))
                arrived = asyncio.get_running_loop().time()
                text = f"answer {hash(body) % 1000}"
                message = {"role": "assistant", "content": text}
                usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 3}
                answer = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
                await asyncio.sleep(arrived + latency - asyncio.get_running_loop().time())
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    async def main() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**20, backlog=256)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def chain(client: Client, policy: str, name: int, length: int) -> None:
    """A conversation of `length` calls, each with the answer before it."""
    chat = [{"role": "system", "content": policy}, {"role": "user", "content": f"chain {name}"}]
    for turn in range(length):
        reply = client.converse("act", chat, [], seed=turn)
        chat += [{"role": "assistant", "content": reply.text}, {"role": "user", "content": f"turn {turn}"}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=64, help="conversations, all at once")
    parser.add_argument("--length", type=int, default=20, help="calls of each, one after another")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds per call at the endpoint")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(options.latency, theirs), daemon=True)
    server.start()
    url, policy = f"http://127.0.0.1:{ours.recv()}/v1", load("desk").policy
    sampling = Sampling(temperature=1.0, top_p=None, max_tokens=100)
    settings = LlmSettings(
        backend="endpoint", model="m", base_url=url, api_key_env=None, sampling=sampling, concurrency=options.chains
    )
    with tempfile.TemporaryDirectory() as folder:
        with Client(settings, Path(folder) / "calls") as client, ThreadPoolExecutor(options.chains) as pool:
            chain(client, policy, -1, 1)  # imports and connects
            start, cpu = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
            list(pool.map(lambda name: chain(client, policy, name, options.length), range(options.chains)))
            wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
            calls = client.report().sent - 1
        with Client(settings, Path(folder) / "calls") as client:
            start = time.perf_counter()
            for name in range(options.chains):
                chain(client, policy, name, options.length)
            replay = time.perf_counter() - start
            assert client.report().sent == 0
    server.terminate()
    critical = options.length * options.latency
    seconds = used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime
    print(f"{calls} calls in {wall:.2f} s; critical path {critical:.2f} s; {1000 * seconds / calls:.1f} ms of CPU per call")
    print(f"replay of all: {replay:.2f} s")
    print(json.dumps({"wall_over_critical_path": round(wall / critical, 3)}))


if __name__ == "__main__":
    main()
