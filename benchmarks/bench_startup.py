"""CPU time of commands that must start fast; exits 1 when one is over its limit."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
RGW = Path(sys.executable).parent / "rgw"
RUNS = 15
LIMITS = {
    ("--help",): 0.15,
    ("detect", "examples/model", "--registry", "examples/registry"): 0.25,
    ("detect", "examples/model"): 0.25,  # unrecognised: compared with every registered template
}
EXIT_CODES = (0, 1)


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """User and system time of one run."""
    process = subprocess.Popen([RGW, *arguments], cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in EXIT_CODES:
        raise SystemExit(f"rgw {' '.join(arguments)} ended with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    over = 0
    print(f"{'command':<62} {'median':>8} {'worst':>8} {'limit':>8}")
    for arguments, limit in LIMITS.items():
        cpu_seconds(arguments)  # compiles what is not compiled yet
        times = [cpu_seconds(arguments) for _ in range(RUNS)]
        median = statistics.median(times)
        over += median > limit
        print(f"{'rgw ' + ' '.join(arguments):<62} {median:>6.3f} s {max(times):>6.3f} s {limit:>6.2f} s")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
