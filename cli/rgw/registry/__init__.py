"""What is registered: response schemas, the chat templates that they read, and the files that hold them."""
