"""Inference: from a chat template that nobody has registered to a response schema that is proved to fit it.

The template is rendered with turns whose every word is known; what it writes between the words is its format. Nothing
here knows a template, a model or a format by name, and nothing is called proved that `rgw.proof` has not proved.
"""
