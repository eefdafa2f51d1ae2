"""Replays CanIToolCall's fixtures and writes the results to docs/canitoolcall.md.

python scripts/canitoolcall_results.py
"""

from __future__ import annotations

import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def main() -> None:
    """Write the page."""
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from integration.canitoolcall_adapter import results_page

    (REPOSITORY / "docs" / "canitoolcall.md").write_text(results_page(), "utf-8")


if __name__ == "__main__":
    main()
