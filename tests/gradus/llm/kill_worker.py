"""A run to be killed: `python kill_worker.py ADDRESS FOLDER CALLS THREADS MAX_TOKENS`; prints one line per answer, in order."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from selfevolve.gradus.llm.calls import Request
from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.settings import LlmSettings, Sampling


def main(url: str, folder: str, calls: int, threads: int, max_tokens: int) -> None:
    sampling = Sampling(temperature=1.0, top_p=None, max_tokens=max_tokens)
    settings = LlmSettings(backend="endpoint", model="m", base_url=url, api_key_env=None, sampling=sampling, concurrency=threads)

    def call(seed: int) -> str:
        question = {"role": "user", "content": f"question {seed}"}
        return client.complete(Request(model="m", messages=(question,), sampling=sampling, draw=seed)).text

    with Client(settings, Path(folder)) as client, ThreadPoolExecutor(threads) as pool:
        for text in pool.map(call, range(calls)):
            print(repr(text))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
