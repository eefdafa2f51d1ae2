"""Reading TRL at a ref, planning what a re-sync of the registry with it changes, and applying the plan.

Nothing upstream is imported or executed. This room prints nothing and knows no command line.
"""

from rgw.upstream.planning import Change, Note, Plan, SchemaChange, TemplateChange, apply_plan, plan_resync
from rgw.upstream.reading import Spec, Upstream, UpstreamTemplate, read_upstream
from rgw.upstream.sources import UpstreamRef, UpstreamSource

__all__ = [
    "Change",
    "Note",
    "Plan",
    "SchemaChange",
    "Spec",
    "TemplateChange",
    "Upstream",
    "UpstreamRef",
    "UpstreamSource",
    "UpstreamTemplate",
    "apply_plan",
    "plan_resync",
    "read_upstream",
]
