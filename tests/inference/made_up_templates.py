"""Chat templates written for these tests, one for each way to write a turn. No model uses any of them."""

from __future__ import annotations

THOUGHT = "{% if m.reasoning_content %}{{ '<hm>\\n' + m.reasoning_content + '\\n</hm>\\n' }}{% endif %}"
TEXT = "{{ m.content or '' }}"


def template(calls: str, *, thought: str = THOUGHT, text: str = TEXT, prompt: str = "", end: str = "<end>\\n") -> str:
    """A template whose messages stand between `<role>` and `<end>`; `calls` writes the calls of message `m`."""
    return (
        "{%- for m in messages -%}"
        "{{- '<' + m.role + '>\\n' -}}"
        "{%- if m.role == 'assistant' -%}" + thought + text + calls + "{%- else -%}{{- m.content -}}{%- endif -%}"
        "{{- '" + end + "' -}}"
        "{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{- '<assistant>\\n" + prompt + "' -}}{%- endif -%}"
    )


def each_call(written: str) -> str:
    """A loop over the calls, with their function as `f`."""
    return "{%- for c in m.tool_calls or [] -%}{%- set f = c.function -%}" + written + "{%- endfor -%}"


JSON_OBJECTS = template(
    each_call("{{- '\\n<do>\\n' + ({'name': f.name, 'arguments': f.arguments} | tojson) + '\\n</do>' -}}")
)
OTHER_KEYS = template(each_call("{{- '{do}' + ({'tool': f.name, 'input': f.arguments} | tojson) + '{/do}' -}}"))
JSON_LIST = template(
    "{%- if m.tool_calls -%}{{- '[CALLS]' -}}{%- set ns = namespace(all=[]) -%}"
    + each_call("{%- set ns.all = ns.all + [{'name': f.name, 'arguments': f.arguments}] -%}")
    + "{{- ns.all | tojson -}}{%- endif -%}"
)
BARE_JSON = template(
    each_call("{{- '{\"name\": \"' + f.name + '\", \"parameters\": ' + (f.arguments | tojson) + '}' -}}")
)
NAME_AND_JSON = template(each_call("{{- '[CALL]' + f.name + '[WITH]' + (f.arguments | tojson) -}}"))
SECTION = template(
    "{%- if m.tool_calls -%}{{- '<calls>' -}}"
    + each_call("{{- '<call>' + f.name + '<args>' + (f.arguments | tojson) + '</call>' -}}")
    + "{{- '</calls>' -}}{%- endif -%}"
)
TAGS = template(
    each_call(
        "{{- '\\n<run>\\n<tool=' + f.name + '>\\n' -}}"
        "{%- for k, v in f.arguments.items() -%}"
        "{{- '<arg=' + k + '>\\n' + (v if v is string else v | tojson) + '\\n</arg>\\n' -}}"
        "{%- endfor -%}"
        "{{- '</tool>\\n</run>' -}}"
    )
)
PYTHON = template(
    "{%- if m.tool_calls -%}{{- '<py>[' -}}"
    "{%- for c in m.tool_calls -%}{{- ', ' if not loop.first -}}{{- c.function.name + '(' -}}"
    "{%- for k, v in c.function.arguments.items() -%}"
    "{{- ', ' if not loop.first -}}{{- k + '=' + (v | tojson) -}}"
    "{%- endfor -%}{{- ')' -}}{%- endfor -%}{{- ']</py>' -}}{%- endif -%}"
)
_VALUE = (
    "{%- macro value(v) -%}"
    "{%- if v is string -%}{{- '~|' + v + '|~' -}}"
    "{%- elif v is mapping -%}{{- '{' -}}{%- for k, w in v.items() -%}"
    "{{- ',' if not loop.first -}}{{- k + ':' + value(w) -}}{%- endfor -%}{{- '}' -}}"
    "{%- elif v is iterable -%}{{- '[' -}}{%- for w in v -%}"
    "{{- ',' if not loop.first -}}{{- value(w) -}}{%- endfor -%}{{- ']' -}}"
    "{%- else -%}{{- v | tojson -}}{%- endif -%}"
    "{%- endmacro -%}"
)
OWN_QUOTES = _VALUE + template(each_call("{{- '<call>' + f.name + value(f.arguments) + '</call>' -}}"))
MESSAGES = (
    "{%- for m in messages -%}"
    "{%- if m.role == 'assistant' -%}"
    "{%- if m.reasoning_content -%}{{- '<|turn|>bot<|aside|>' + m.reasoning_content + '<|stop|>' -}}{%- endif -%}"
    "{%- if m.content -%}"
    "{{- '<|turn|>bot<|say|>' + m.content + ('<|stop|>' if m.tool_calls else '<|done|>') -}}"
    "{%- endif -%}"
    "{%- for c in m.tool_calls or [] -%}"
    "{{- '<|turn|>bot<|ask|>' + c.function.name + '<|with|>' + (c.function.arguments | tojson) + '<|go|>' -}}"
    "{%- endfor -%}"
    "{%- else -%}{{- '<|turn|>' + m.role + '<|say|>' + m.content + '<|stop|>' -}}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|turn|>bot' -}}{%- endif -%}"
)
OPENED_BY_PROMPT = template(
    each_call("{{- '<do>' + ({'name': f.name, 'arguments': f.arguments} | tojson) + '</do>' -}}"),
    thought="{{ '<hm>\\n' + (m.reasoning_content or '') + '\\n</hm>\\n\\n' }}",
    prompt="<hm>\\n",
)
STRIPS_THOUGHTS = template(
    each_call("{{- '<do>' + ({'name': f.name, 'arguments': f.arguments} | tojson) + '</do>' -}}"),
    thought="",
    text="{{- m.content.split('</hm>')[-1] -}}",
    prompt="<hm>\\n",
)
NO_END = (
    "{%- for m in messages -%}{{- '<|' + m.role + '|>' + m.content -}}"
    + each_call("{{- '<do>' + ({'name': f.name, 'arguments': f.arguments} | tojson) + '</do>' -}}")
    + "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)
NO_CALLS = template("")

LIST_BY_NAME = template(
    "{%- if m.tool_calls -%}{{- '<calls>' -}}{%- set ns = namespace(all=[]) -%}"
    + each_call("{%- set ns.all = ns.all + [{f.name: f.arguments}] -%}")
    + "{{- ns.all | tojson + '</calls>' -}}{%- endif -%}"
)
NUMBERED_LIST = template(
    "{%- if m.tool_calls -%}{{- '<calls>[' -}}"
    "{%- for c in m.tool_calls -%}"
    "{{- ', ' if not loop.first -}}{{- '{\"number\": \"' ~ loop.index0 ~ '\"' -}}"
    "{{- ', \"tool\": \"' ~ c.function.name ~ '\"' -}}"
    "{{- ', \"input\": ' ~ (c.function.arguments | tojson) ~ '}' -}}"
    "{%- endfor -%}{{- ']</calls>' -}}{%- endif -%}"
)
BRACKETED_SECTION = template(
    "{%- if m.tool_calls -%}{{- '<calls_open>[' -}}"
    + each_call("{{- '<call>' + f.name + '<args>' + (f.arguments | tojson) + '</call>' -}}")
    + "{{- ']<calls_close>' -}}{%- elif m.content -%}{{- '<end>' -}}{%- endif -%}",
    end="",
)
SAID_TYPES = template(
    each_call(
        "{{- '<run tool=\"' + f.name + '\">' -}}"
        "{%- for k, v in f.arguments.items() -%}"
        "{{- '<arg key=\"' + k + '\" type=\"' + ('string' if v is string else 'number') + '\">' -}}"
        "{{- (v if v is string else v | tojson) + '</arg>' -}}"
        "{%- endfor -%}{{- '</run>' -}}"
    )
)
OTHER_BRACKETS = "".join({"<": "\u2039", ">": "\u203a"}.get(character, character) for character in TAGS)
OTHER_STOPS = (
    "{%- for m in messages -%}"
    "{%- if m.role == 'assistant' -%}"
    "{%- if m.reasoning_content -%}{{- '<|turn|>bot<|aside|>' + m.reasoning_content + '<|next|>' -}}{%- endif -%}"
    "{%- if m.content -%}"
    "{{- '<|turn|>bot<|say|>' + m.content + ('<|next|>' if m.tool_calls else '<|done|>') -}}"
    "{%- endif -%}"
    "{%- for c in m.tool_calls or [] -%}"
    "{{- '<|turn|>bot<|ask|>' + c.function.name + '<|with|>' + (c.function.arguments | tojson) + '</ask>' -}}"
    "{{- '<|done|>' if loop.last else '<|next|>' -}}"
    "{%- endfor -%}"
    "{%- else -%}{{- '<|turn|>' + m.role + '<|say|>' + m.content + '<|done|>' -}}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|turn|>bot' -}}{%- endif -%}"
)
_DO = each_call("{{- '<do>' + ({'name': f.name, 'arguments': f.arguments} | tojson) + '</do>' -}}")
CLOSED_BY_PROMPT = (
    "{%- for m in messages -%}"
    "{%- if m.role == 'assistant' -%}{{- '<bot></hm>' + m.content.split('</hm>')[-1] -}}"
    + _DO
    + "{{- '<end>' -}}{%- else -%}{{- '<' + m.role + '>' + m.content + '<end>' -}}{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<bot>' + ('<hm>' if thinking else '</hm>') -}}{%- endif -%}"
)
CLOSED_AT_ONCE_BY_PROMPT = (
    "{%- for m in messages -%}"
    "{%- if m.role == 'assistant' -%}"
    "{{- '[|bot|]\n' + ('<hm>\n\n</hm>\n\n' if loop.last else '') + m.content.split('</hm>')[-1] -}}"
    + _DO
    + "{{- '<end>' -}}{%- else -%}{{- '[|' + m.role + '|]\n' + m.content + '<end>' -}}{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '[|bot|]\n<hm>\n' + ('' if thinking else '\n</hm>\n\n') -}}{%- endif -%}"
)
BEHIND_RESULTS = (
    "{%- set ns = namespace(answered=false) -%}"
    "{%- for m in messages -%}"
    "{%- if m.role == 'assistant' -%}"
    "{{- '' if ns.answered else '<bot>' -}}{{- m.content -}}" + _DO + "{{- '<end>' -}}"
    "{%- elif m.role == 'tool' -%}{%- set ns.answered = true -%}{{- '<result>' + m.content + '</result>' -}}"
    "{%- else -%}{%- set ns.answered = false -%}{{- '<user>' + m.content + '<end>' -}}{%- endif -%}"
    "{%- if m.role == 'tool' and messages[loop.index0 + 1:] | selectattr('tool_calls', 'defined') | list == [] -%}"
    "{{- '<results_end>' -}}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt and not ns.answered -%}{{- '<bot><hm>' -}}{%- endif -%}"
)
ONLY_BEHIND_RESULTS = (
    "{%- set called = messages | selectattr('role', 'equalto', 'tool') | list -%}"
    "{%- for m in messages -%}"
    "{%- if m.role == 'user' -%}"
    "{%- if tools and (called or loop.last) -%}{{- '[TOOLS]' + (tools | tojson) + '[/TOOLS]' -}}{%- endif -%}"
    "{{- '[ASK]' + m.content + '[/ASK]' -}}"
    "{%- elif m.role == 'assistant' -%}{{- m.content -}}" + _DO + "{{- '<end>' -}}"
    "{%- elif m.role == 'tool' -%}{{- '[RESULT]' + m.content + '[/ASK]' -}}"
    "{%- else -%}{{- '[RULES]' + m.content -}}{%- endif -%}"
    "{%- endfor -%}"
)
EQUAL_MARKERS = (
    "{%- for m in messages -%}{{- '##' + m.role + '##' -}}"
    "{%- if m.role == 'assistant' -%}{{- m.content -}}"
    + each_call("{{- '\n@@do@@' + ({'name': f.name, 'arguments': f.arguments} | tojson) + '@@/do@@' -}}")
    + "{%- else -%}{{- m.content -}}{%- endif -%}{{- '##end##\n' -}}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '##assistant##@@hm@@\n' -}}{%- endif -%}"
)
REMINDED_BY_PROMPT = (
    "{%- for m in messages -%}{{- '<TURN><' + m.role + '_TOKEN>' + m.content -}}"
    + _DO
    + "{{- '<END>' -}}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<TURN><system_TOKEN>Be brief.<END><TURN><assistant_TOKEN>' -}}{%- endif -%}"
)
