"""What has changed since it was last looked at: the hub, the registry, TRL and the installed transformers, as findings.

This room decides what a change means and prints nothing. Whatever could not be looked at is a finding of its own,
never a clean result.
"""
