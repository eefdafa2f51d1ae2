"""`--query`: a JMESPath expression applied to a result document."""

from __future__ import annotations

from typing import Any

from rgw.errors import UsageError


class Query:
    """A compiled expression.

    Raises:
        UsageError: The expression does not compile.
    """

    def __init__(self, expression: str) -> None:
        import jmespath

        try:
            self._compiled = jmespath.compile(expression)
        except (jmespath.exceptions.JMESPathError, RecursionError) as error:
            raise _unusable(expression, error) from error
        self._expression = expression

    def search(self, document: Any) -> Any:
        """What the expression selects from `document`; `None` when nothing matches.

        Raises:
            UsageError: The expression asks for what the document cannot give, such as an unknown function.
        """
        import jmespath

        try:
            return self._compiled.search(document)
        except (jmespath.exceptions.JMESPathError, RecursionError) as error:
            raise _unusable(self._expression, error) from error


def _unusable(expression: str, error: Exception) -> UsageError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UsageError(f"--query {expression!r} is not usable: {reason}", "see https://jmespath.org for the syntax")
