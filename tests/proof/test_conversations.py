"""Made-up conversations: the same for a seed, of every kind, and free of delimiters unless they are meant to be."""

from __future__ import annotations

from rgw.proof.conversations import BENIGN, conversations, smallest, with_delimiters
from rgw.proof.model import Call, Conversation, Role, Turn, canonical

BENIGN_ONES = conversations(count=300, seed=7, hostile=False)
HOSTILE_ONES = conversations(count=100, seed=7, hostile=True)


def test_a_seed_gives_the_same_conversations_and_another_seed_others() -> None:
    conversations.cache_clear()
    assert conversations(count=300, seed=7, hostile=False) == BENIGN_ONES
    assert conversations(count=300, seed=8, hostile=False) != BENIGN_ONES


def test_every_conversation_ends_with_the_assistant_and_answers_every_earlier_call() -> None:
    for conversation in BENIGN_ONES:
        assert conversation.last.role is Role.ASSISTANT
        earlier = conversation.turns[:-1]
        asked = [call.name for turn in earlier for call in turn.calls]
        assert [turn.answers for turn in earlier if turn.role is Role.TOOL] == asked


def test_only_offered_tools_are_called_with_declared_arguments() -> None:
    for conversation in BENIGN_ONES:
        declared = {
            tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in conversation.tools or ()
        }
        for turn in conversation.turns:
            for call in turn.calls:
                assert set(call.arguments) <= set(declared[call.name])


def test_all_kinds_of_turns_and_values_are_there() -> None:
    last = [conversation.last for conversation in BENIGN_ONES]
    assert {len(turn.calls) for turn in last} == {0, 1, 2, 3}
    assert any(turn.reasoning for turn in last)
    assert any(not turn.text for turn in last)
    assert any(not call.arguments for turn in last for call in turn.calls)
    values = [value for turn in last for call in turn.calls for value in call.arguments.values()]
    assert {type(value) for value in values} == {str, int, float, bool, type(None), list, dict}
    roles = {turn.role for conversation in BENIGN_ONES for turn in conversation.turns}
    assert roles == set(Role)
    assert any(conversation.tools is None for conversation in BENIGN_ONES)


def test_ordinary_conversations_hold_no_placeholders() -> None:
    assert not any("\ue000" <= character <= "\uf8ff" for character in repr(BENIGN_ONES))


def test_delimiters_take_the_place_of_all_placeholders_of_the_last_turn() -> None:
    before = [conversation.last for conversation in HOSTILE_ONES]
    assert any("\ue001" in turn.text for turn in before)
    assert any("\ue001" in turn.reasoning for turn in before)
    assert any("\\ue001" in canonical(call.arguments) for turn in before for call in turn.calls)
    for conversation in HOSTILE_ONES:
        filled = with_delimiters(conversation, ["<x>", "</x>"]).last
        assert not any("\ue000" <= character <= "\ue00b" for character in repr(filled))


def test_placeholders_are_filled_in_turn_everywhere() -> None:
    turn = Turn(Role.ASSISTANT, "a\ue000b\ue001", "\ue002", (Call("f", {"k": ["\ue000", {"n": "\ue001"}]}),))
    filled = with_delimiters(Conversation((turn,)), ["<x>", "</x>"]).last
    assert filled == Turn(Role.ASSISTANT, "a<x>b</x>", "<x>", (Call("f", {"k": ["<x>", {"n": "</x>"}]}),))


def test_the_smallest_failing_conversation_is_found() -> None:
    def calls_twice(conversation: Conversation) -> Conversation | None:
        return conversation if len(conversation.last.calls) >= 2 else None

    found = smallest(BENIGN, calls_twice, count=200, seed=0)
    assert found is not None
    assert [len(turn.calls) for turn in found.turns] == [0, 2]
    assert [turn.role for turn in found.turns] == [Role.USER, Role.ASSISTANT]
    assert all(not call.arguments for call in found.last.calls)


def test_nothing_is_found_when_nothing_fails() -> None:
    assert smallest(BENIGN, lambda conversation: None, count=50, seed=0) is None
