"""Fitness of a chat template for training and serving: rules, each with its explanation, and what breaks them.

The room renders probes and reads the template's syntax tree. It knows no registry, no schema and no template family,
and it never says that a template is safe: a rule that found nothing has only found nothing.
"""
