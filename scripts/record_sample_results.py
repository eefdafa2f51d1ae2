"""Record what the installed transformers' own parse_response returns for the samples of the packaged registry.

    python scripts/record_sample_results.py

Run it after schemas or samples have changed, with every transformers that shall be known (`.venv` and `.venv-legacy`):
what other versions returned is kept. `rgw check --transformers` compares with it.
"""

from __future__ import annotations

import sys

from rgw.drift.recordings import read_recordings, record
from rgw.registry.layer import SAMPLE_RESULTS
from rgw.registry.loader import PACKAGED_LABEL, load_registry, packaged_registry_path


def main() -> int:
    """Write the file; the exit code."""
    root = packaged_registry_path()
    text = record(load_registry().schemas.values(), read_recordings(root, PACKAGED_LABEL))
    (root / SAMPLE_RESULTS).write_text(text, encoding="utf-8")
    print(f"wrote {root.name}/{SAMPLE_RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
