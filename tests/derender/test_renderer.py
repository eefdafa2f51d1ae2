"""The library face: detection, rendering, and reading sampled ids back, with a real and a minimal tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rgw.derender import HfTemplateRenderer, Policy, TextAfterCall, resolve_schema_name
from rgw.errors import UnrecognisedTemplateError
from rgw.model import ParsedOutput
from rgw.registry.loader import Registry, load_registry

EXAMPLES = Path(__file__).parents[2] / "examples"
KIOSK = (EXAMPLES / "model" / "chat_template.jinja").read_text("utf-8")
UNKNOWN = "{% for message in messages %}{{ message.content }}{% endfor %}"
USER = [{"role": "user", "content": "Tea?"}]
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"properties": {"item": {"type": "string"}}}}}]
TURN = '<|think|>Hm.<|/think|>Wait.<|call|>{"name": "find", "arguments": {"item": "tea"}}<|/call|><|end|>'


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The packaged registry with the example model's laid over it."""
    return load_registry(EXAMPLES / "registry")


def tokenizer(template: Any = KIOSK) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of 256 letters and the example model's special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    real = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>", clean_up_tokenization_spaces=True)
    real.add_special_tokens({"additional_special_tokens": ["<|assistant|>", "<|call|>", "<|/call|>", "<|think|>"]})
    real.chat_template = template
    return real


class Letters:
    """The least that a tokenizer must have: each letter is a token."""

    def __init__(self, template: Any = KIOSK) -> None:
        self.chat_template = template

    def decode(self, token_ids: Sequence[int]) -> str:
        return "".join(map(chr, token_ids))

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, **options: Any) -> Any:
        return [65, 66] if tokenize else "<|assistant|>"


def ids(text: str) -> list[int]:
    return list(map(ord, text))


class TestDetection:
    def test_a_registered_template_is_recognised(self, registry: Registry) -> None:
        assert HfTemplateRenderer(tokenizer(), registry=registry).schema_name == "kiosk"
        assert resolve_schema_name(tokenizer(), registry=registry) == "kiosk"
        assert HfTemplateRenderer(Letters(), overlay=EXAMPLES / "registry").schema_name == "kiosk"

    @pytest.mark.parametrize("template", [KIOSK + "\n", KIOSK.replace("\n", "\r\n"), UNKNOWN, None])
    def test_nothing_but_the_exact_text_is(self, registry: Registry, template: str | None) -> None:
        assert HfTemplateRenderer(Letters(template), registry=registry).schema_name is None
        assert resolve_schema_name(Letters(template), registry=registry) is None

    @pytest.mark.parametrize(
        ("template", "name"),
        [
            ({"default": KIOSK}, "kiosk"),
            ({"default": UNKNOWN, "tool_use": KIOSK}, "kiosk"),
            ({"default": KIOSK, "tool_use": UNKNOWN}, None),
        ],
    )
    def test_of_several_named_templates_the_one_for_tools_counts(
        self, registry: Registry, template: dict[str, str], name: str | None
    ) -> None:
        assert HfTemplateRenderer(tokenizer(template), registry=registry).schema_name == name

    def test_an_injected_parser_switches_it_off(self) -> None:
        renderer = HfTemplateRenderer(Letters(), tool_parser=lambda text, tools: (text, []))
        assert renderer.schema_name is None


class TestRender:
    def test_a_conversation_becomes_the_ids_that_the_tokenizer_gives_it(self, registry: Registry) -> None:
        real = tokenizer()
        rendered = HfTemplateRenderer(real, registry=registry).render(USER)
        assert real.decode(rendered) == "<|user|>Tea?<|end|>\n<|assistant|>"
        assert all(type(token) is int for token in rendered)

    def test_without_a_generation_prompt_the_conversation_ends_with_its_last_turn(self, registry: Registry) -> None:
        real = tokenizer()
        rendered = HfTemplateRenderer(real, registry=registry).render(USER, add_generation_prompt=False)
        assert real.decode(rendered) == "<|user|>Tea?<|end|>\n"

    def test_tools_reach_the_template(self, registry: Registry) -> None:
        real = tokenizer()
        assert '"name": "find"' in real.decode(HfTemplateRenderer(real, registry=registry).render(USER, tools=TOOLS))

    @pytest.mark.parametrize(
        "wrap", [lambda ids: ids, lambda ids: [ids], lambda ids: {"input_ids": ids}, lambda ids: {"input_ids": [ids]}]
    )
    def test_ids_come_in_every_form_that_tokenizers_return(self, wrap: Callable[[list[int]], Any]) -> None:
        class Wrapping(Letters):
            def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
                return wrap([65, 66])

        assert HfTemplateRenderer(Wrapping()).render(USER) == [65, 66]


class TestParse:
    def test_sampled_ids_are_read_back(self, registry: Registry) -> None:
        real = tokenizer()
        renderer = HfTemplateRenderer(real, registry=registry)
        prompt = renderer.render(USER, tools=TOOLS)
        parsed = renderer.parse(real.encode(TURN), tools_schema=TOOLS, prompt_ids=prompt)
        assert (parsed.reasoning, parsed.text) == ("Hm.", "Wait.")
        assert parsed.tool_uses == [{"name": "find", "input": {"item": "tea"}}]
        assert (parsed.end_of_turn, parsed.ill_formed) == (True, False)

    def test_special_tokens_are_kept_and_spaces_not_tidied(self, registry: Registry) -> None:
        real = tokenizer()
        output = "Is it ? It 's ."
        assert HfTemplateRenderer(real, registry=registry).parse(real.encode(output + "<|end|>")).text == output

    def test_the_real_prompt_decides_what_was_prefilled(self, registry: Registry) -> None:
        renderer = HfTemplateRenderer(Letters(), registry=registry)
        output = ids("Hm.<|/think|>Yes.<|end|>")
        assert renderer.parse(output, prompt_ids=ids("<|assistant|><|think|>")).reasoning == "Hm."
        assert renderer.parse(output).reasoning == ""

    def test_without_a_prompt_the_templates_own_generation_prompt_is_assumed(self, registry: Registry) -> None:
        class Thinking(Letters):
            def apply_chat_template(self, conversation: Any, **options: Any) -> str:
                return "<|user|>Hello<|end|>\n<|assistant|><|think|>"

        parsed = HfTemplateRenderer(Thinking(), registry=registry).parse(ids("Hm.<|/think|>Yes."))
        assert (parsed.reasoning, parsed.text) == ("Hm.", "Yes.")

    def test_a_template_that_does_not_render_a_probe_is_no_obstacle(self, registry: Registry) -> None:
        class Picky(Letters):
            def apply_chat_template(self, conversation: Any, **options: Any) -> str:
                raise RuntimeError("this template wants a system message")

        assert HfTemplateRenderer(Picky(), registry=registry).parse(ids("Yes.<|end|>")).text == "Yes."

    def test_the_policy_is_passed_on(self, registry: Registry) -> None:
        output = ids('a<|call|>{"name": "find"}<|/call|>b')
        strict = HfTemplateRenderer(Letters(), registry=registry, policy=Policy(text_after_call=TextAfterCall.ERROR))
        assert strict.parse(output).ill_formed

    def test_nothing_that_a_model_writes_raises(self, registry: Registry) -> None:
        renderer = HfTemplateRenderer(Letters(), registry=registry)
        for output in (
            "",
            "<|call|>",
            "<|call|>" + "[" * 100_000,
            '<|call|>{"name": "f", "arguments": {"a": ' + "9" * 10_000,
        ):
            assert isinstance(renderer.parse(ids(output)), ParsedOutput)


class TestDecodeOptions:
    def test_options_that_decode_knows_are_given(self, registry: Registry) -> None:
        class Choosing(Letters):
            def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = True) -> str:
                return "dropped" if skip_special_tokens else "kept"

        assert HfTemplateRenderer(Choosing(), registry=registry).parse([1]).text == "kept"

    def test_options_that_it_takes_by_any_name_are_given(self, registry: Registry) -> None:
        class Open(Letters):
            def decode(self, token_ids: Sequence[int], **options: Any) -> str:
                return repr(sorted(options.items()))

        text = HfTemplateRenderer(Open(), registry=registry).parse([1]).text
        assert text == "[('clean_up_tokenization_spaces', False), ('skip_special_tokens', False)]"

    def test_an_option_that_it_does_not_know_is_not(self, registry: Registry) -> None:
        assert HfTemplateRenderer(Letters(), registry=registry).parse(ids("Yes.")).text == "Yes."


class TestUnrecognised:
    def test_tools_in_play_raise_naming_the_hash_and_the_fixes(self, registry: Registry) -> None:
        sha256 = hashlib.sha256(UNKNOWN.encode()).hexdigest()
        renderer = HfTemplateRenderer(Letters(UNKNOWN), registry=registry)
        for use in (lambda: renderer.render(USER, tools=TOOLS), lambda: renderer.parse([65], tools_schema=TOOLS)):
            with pytest.raises(UnrecognisedTemplateError) as caught:
                use()
            assert sha256 in str(caught.value)
            assert "rgw detect" in caught.value.fix
            assert "tool_parser" in caught.value.fix

    def test_a_tokenizer_without_a_template_is_named_so(self, registry: Registry) -> None:
        with pytest.raises(UnrecognisedTemplateError, match="without a chat template"):
            HfTemplateRenderer(Letters(None), registry=registry).render(USER, tools=TOOLS)

    @pytest.mark.parametrize("tools", [None, []])
    def test_without_tools_the_output_is_text(self, registry: Registry, tools: Any) -> None:
        renderer = HfTemplateRenderer(Letters(UNKNOWN), registry=registry)
        assert renderer.render(USER, tools=tools) == [65, 66]
        parsed = renderer.parse(ids("Hm."), tools_schema=tools)
        assert (parsed.text, parsed.ill_formed, parsed.segments) == ("Hm.", False, (("text", 0, 3),))


class TestInjectedParsers:
    def test_each_stage_gets_what_the_one_before_left(self) -> None:
        def reasoning(text: str) -> tuple[str, str]:
            thought, _, rest = text.partition("|")
            return thought, rest

        def calls(text: str, tools: Sequence[Any]) -> tuple[str, list[Any]]:
            return text.removesuffix("!f"), [{"name": "f", "input": {"tools": len(tools)}}]

        renderer = HfTemplateRenderer(Letters(UNKNOWN), reasoning_parser=reasoning, tool_parser=calls)
        parsed = renderer.parse(ids("Hm.|Yes.!f"), tools_schema=TOOLS)
        assert (parsed.reasoning, parsed.text) == ("Hm.", "Yes.")
        assert parsed.tool_uses == [{"name": "f", "input": {"tools": 1}}]

    def test_a_tool_parser_alone_suffices_where_tools_are_in_play(self) -> None:
        renderer = HfTemplateRenderer(Letters(UNKNOWN), tool_parser=lambda text, tools: (text, []))
        assert renderer.parse(ids("a"), tools_schema=TOOLS).text == "a"

    def test_a_reasoning_parser_alone_does_not(self) -> None:
        renderer = HfTemplateRenderer(Letters(), reasoning_parser=lambda text: ("", text))
        with pytest.raises(UnrecognisedTemplateError, match="tool_parser"):
            renderer.parse(ids("a"), tools_schema=TOOLS)
        assert renderer.parse(ids("a")).text == "a"

    def test_a_stage_that_fails_degrades_the_turn(self) -> None:
        def broken(text: str, tools: Sequence[Any]) -> Any:
            raise KeyError(text)

        parsed = HfTemplateRenderer(Letters(), tool_parser=broken).parse(ids("a"), tools_schema=TOOLS)
        assert (parsed.text, parsed.tool_uses, parsed.ill_formed) == ("a", [], True)
        assert [issue.code for issue in parsed.issues] == ["engine_failure"]


class TestStopSequences:
    def test_they_are_the_schemas_end_of_turn_markers(self, registry: Registry) -> None:
        assert HfTemplateRenderer(Letters(), registry=registry).get_stop_sequences() == ["<|end|>"]

    def test_injected_ones_win(self, registry: Registry) -> None:
        renderer = HfTemplateRenderer(tokenizer(), registry=registry, stop_sequences=["stop"])
        assert renderer.get_stop_sequences() == ["stop"]
        assert HfTemplateRenderer(tokenizer(), registry=registry, stop_sequences=[]).get_stop_sequences() == []

    def test_an_unrecognised_template_leaves_the_eos_token(self, registry: Registry) -> None:
        assert HfTemplateRenderer(tokenizer(UNKNOWN), registry=registry).get_stop_sequences() == ["<|end|>"]
        assert HfTemplateRenderer(Letters(UNKNOWN), registry=registry).get_stop_sequences() == []
