"""What a person or a program sees of a result: tables and panels, JSON, HTML, SVG.

Everything that the program prints goes through `Output`. This room knows the shapes of results, never how they came
about; only `commands` and the application import it. Rich and jmespath are loaded when they are first needed.
"""

from rgw.output.printer import Mode, Output, OutputError

__all__ = ["Mode", "Output", "OutputError"]
