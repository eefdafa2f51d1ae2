"""Proof that a response schema fits a chat template: conversations are rendered and must come back as they were meant.

The room renders, derenders, compares and reports. It knows no template family: what a template wants is found by
watching it, and what a schema's delimiters are is seen in the turns it reads.
"""
