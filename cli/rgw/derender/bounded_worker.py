"""The process behind `bounded`: reads a schema on the first line of stdin, then a turn a line; answers a line each."""

from __future__ import annotations

import json
import sys

from rgw.derender.derenderer import Derenderer
from rgw.derender.growth import schema_from_dict
from rgw.derender.policy import policy_from_dict
from rgw.errors import RgwError


def main() -> None:
    """Serve turns until stdin closes."""
    setup = json.loads(sys.stdin.readline())
    try:
        policy = policy_from_dict(setup["policy"])
        schema = schema_from_dict(setup["schema"])
        derenderer = Derenderer(schema, policy=policy, call_markers=setup["call_markers"])
    except RgwError as error:
        _answer({"error": str(error)})
        return
    _answer({"engine": derenderer.engine})
    for line in sys.stdin:
        turn = json.loads(line)
        parsed = derenderer.parse(turn["output"], prompt=turn["prompt"], tools=turn["tools"])
        _answer(parsed.to_dict())


def _answer(data: object) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
