"""A run to be killed: `python kill_worker.py ADDRESS FOLDER CALLS`; prints one line per answer, in order."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.llm.settings import LlmSettings, Sampling


def main(url: str, folder: str, calls: int) -> None:
    sampling = Sampling(temperature=1.0, top_p=None, max_tokens=50)
    settings = LlmSettings(backend="endpoint", model="m", base_url=url, api_key_env=None, sampling=sampling, concurrency=16)

    def call(seed: int) -> str:
        return client.converse("act", [{"role": "user", "content": f"question {seed}"}], [], seed).text

    with Client(settings, Path(folder)) as client, ThreadPoolExecutor(16) as pool:
        for text in pool.map(call, range(calls)):
            print(text)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
