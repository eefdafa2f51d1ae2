"""One module per command: parse the arguments, call one function of a room, hand the result to the output.

Rooms are imported inside the commands, so that `rgw --help` pays for none of them. Commands never import each other.
"""
