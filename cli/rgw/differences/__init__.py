"""Two chat templates side by side: how their texts differ, and what they write differently.

Knows the probes of `rgw.proof.behaviour` and nothing of schemas: what reads the difference is for a check to say.
"""
