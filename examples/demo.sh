#!/bin/sh
# What a person sees: `make demo` runs this with rgw on the path. Each command states the exit code that it must have.
set -eu
cd "$(dirname "$0")/.."

show() {
    expected=$1
    shift
    printf '\n$ rgw %s\n' "$*"
    code=0
    rgw "$@" || code=$?
    if [ "$code" -ne "$expected" ]; then
        echo "demo: rgw $* ended with exit code $code, not $expected" >&2
        exit 1
    fi
    [ "$code" -eq 0 ] || printf '(exit code %s)\n' "$code"
}

say() {
    printf '\n\n# %s\n' "$*"
}

kiosk="--model examples/model --registry examples/registry --tools examples/tools.json"

say 'A model whose chat template is registered.'
show 0 detect examples/model --registry examples/registry

say 'The same template with one word changed: another template, and rgw says so.'
show 1 detect examples/edited-model --registry examples/registry

say 'A whole turn: reasoning, text and tool calls, each byte accounted for.'
show 0 parse examples/outputs/complete.txt $kiosk

say 'The same turn cut off by a length limit: no half of it is taken for the whole.'
show 1 parse examples/outputs/cut-off.txt $kiosk

say 'A call in the format of another model family: what parsers pass over in silence.'
show 1 parse examples/outputs/other-format.txt $kiosk
