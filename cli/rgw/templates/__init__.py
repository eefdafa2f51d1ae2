"""Where a chat template comes from and what identifies it.

This room knows files, directories, hub repositories and hashes. It does not know the registry or any schema.
"""
