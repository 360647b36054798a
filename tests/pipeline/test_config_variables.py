"""References to environment variables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmapqueue.pipeline.config._environment import retyped, substitute, substitute_satellite

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
#: What a reference may have as a default: no braces, no quotes around it, and no - at its beginning.
DEFAULTS = st.text(st.characters(exclude_characters="{}$", exclude_categories=["Cs"]), max_size=20).filter(
    lambda text: not text.startswith(("-", '"'))
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(TEXTS)
def test_doubled_dollars_escape_any_text(text: str) -> None:
    doubled = text.replace("$", "$$")
    replaced = substitute(doubled, {})
    assert (doubled if replaced is None else replaced.value) == text


@given(NAMES, TEXTS.filter(bool), DEFAULTS)
def test_what_a_variable_holds_is_taken_as_it_is(name: str, value: str, default: str) -> None:
    for reference in (f"${{{name}:{default}}}", f"${{env:{name}:-{default}}}", f"${{{name}}}", f"${{env:{name}}}"):
        if name == "env" and not reference.startswith("${env:env"):
            continue  # ${env:…} is the other syntax.
        replaced = substitute(reference, {name: value})
        assert replaced is not None
        assert replaced.text == value
        assert replaced.value == retyped(value)


@given(NAMES.filter(lambda name: name != "env"), DEFAULTS, st.sampled_from([{}, {"": ""}]))
def test_a_default_counts_when_the_variable_is_unset_or_empty(name: str, default: str, rest: dict[str, str]) -> None:
    for environment in (rest, {**rest, name: ""}):
        for reference in (f"${{{name}:{default}}}", f"${{env:{name}:-{default}}}"):
            replaced = substitute(reference, environment)
            assert replaced is not None
            assert replaced.value == retyped(default)


@given(st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_numbers_and_booleans_are_retyped(value: float) -> None:
    replaced = substitute("${A}", {"A": str(value)})
    assert replaced is not None
    assert replaced.value == value
    assert type(replaced.value) is type(value)


@given(st.lists(NAMES | st.just("$$"), max_size=5), TEXTS.filter(bool))
def test_references_within_a_text(names: list[str], value: str) -> None:
    text = "".join(f"[{name}]" if name == "$$" else f"[${{{name}}}]" for name in names) + "end"
    replaced = substitute(text, dict.fromkeys(names, value))
    expected = "".join("[$]" if name == "$$" else f"[{value}]" for name in names) + "end"
    assert (text if replaced is None else replaced.text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A:5}", 5),
        ("${A:1.5}", 1.5),
        ("${A:TRUE}", True),
        ('${A:"5"}', "5"),
        ("${A:}", None),
        ('${A:""}', ""),
        ("${A::1234}", ":1234"),
        ("${A:%time [%level] - %msg}", "%time [%level] - %msg"),
        ("${A-B:log-topic}", "log-topic"),
        ("plain", None),
        ("a ${A:5}", None),
    ],
)
def test_references_of_satellite(text: str, value: object) -> None:
    replaced = substitute_satellite(text, {})
    assert (replaced.value if replaced else None) == value
    assert (replaced is None) == (not text.startswith("${"))
