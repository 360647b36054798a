"""The vocabulary check finds banned words in names and prose, and lets each occur as often as its count allows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lint"))

import check_words
from check_words import Finding, Vocabulary, Word

LAP = Word("laps?", "generation")
GO_ON = Word("go(es)? on", "continue", names=False)
PLACE = Word("place", "position", prose=False, known=frozenset({"place"}))


def places(path: str, text: str, *words: Word) -> list[tuple[int, str]]:
    return [(finding.line, finding.text) for finding in Vocabulary(words).findings(path, text)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("A.java", "// One lap\n"),
        ("A.java", "/** One lap. */\n"),
        ("A.java", 'String text = "one lap";\n'),
        ("A.java", 'String text = """\n    one lap\n    """;\n'),
        ("A.java", "int lapOfRing;\n"),
        ("A.java", "int LAP_COUNT;\n"),
        ("A.java", "/** See {@link #lap}. */\n"),
        ("a.py", "# one lap\n"),
        ("a.py", "text = 'one lap'\n"),
        ("a.py", "this_lap = 1\n"),
        ("a.md", "One lap\n"),
        ("a.md", "The name `lap`\n"),
        ("a.md", "```\nlap()\n```\n"),
        ("Makefile", "all: ## One lap\n"),
        ("a.yaml", "key: 1 # one lap\n"),
    ],
)
def test_finds_words_in_prose_and_names(path: str, text: str) -> None:
    assert len(places(path, text, LAP)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("A.java", "// an overlap, a lapse, lap-like\n"),
        ("A.java", 'key("lap");\n'),
        ("A.java", "char c = 'l'; int overlap, lapse;\n"),
        ("a.py", "key = 'lap'\n"),
        ("a.md", "[text](https://example.org/lap)\n"),
        ("a.yaml", "lap: 1\n"),
    ],
)
def test_keys_and_parts_of_words_are_allowed(path: str, text: str) -> None:
    assert places(path, text, LAP) == []


def test_lines_and_texts_are_those_of_the_file() -> None:
    text = "/** One\n * lap. */\nclass A {\n    int lap; // goes\n    // on\n}\n"
    assert places("A.java", text, LAP, GO_ON) == [(2, "lap"), (4, "goes on"), (4, "lap")]


def test_phrases_reach_across_lines_but_not_across_code() -> None:
    assert places("a.py", '"""It goes\n\non"""\n', GO_ON) == [(1, "goes on")]
    assert places("a.py", "goes = 1  # goes\non = 2  # on\n", GO_ON) == []
    assert places("a.md", "It goes `x` on\n", GO_ON) == []


def test_prose_in_markdown_is_no_name() -> None:
    assert places("a.md", "A place, `here_place`\n\n```\nplaceOf()\n```\n", PLACE) == [
        (1, "here_place"),
        (4, "placeOf"),
    ]


def test_known_names_and_exceptions_are_allowed() -> None:
    assert places("a.py", "place = this_place\n", PLACE) == [(1, "this_place")]
    behind = Word("behind", "after", exceptions=("lags behind",))
    assert places("a.md", "It lags behind, behind it\n", behind) == [(1, "behind")]


def test_names_of_files_are_names() -> None:
    assert places("dir/AlapB.java", "", LAP) == []
    assert places("dir/OneLap.java", "", LAP) == [(0, "OneLap")]


def test_an_entry_may_be_for_some_files() -> None:
    word = Word("lap", "wrap", only=("*/spark/*",))
    assert places("src/spark/a.py", "lap = 1\n", word) == [(1, "lap")]
    assert places("src/queue/a.py", "lap = 1\n", word) == []


def test_counts_only_fall() -> None:
    found = [Finding("a.md", line, LAP, "lap") for line in (1, 2)] + [Finding("a.md", 3, GO_ON, "goes on")]
    assert list(check_words.over_count(found, {"laps?": 2})) == ["go(es)? on"]
    assert list(check_words.over_count(found, {"laps?": 1, "go(es)? on": 5})) == ["laps?"]
    assert check_words.lowered(found, {"laps?": 1, "go(es)? on": 5, "other": 3}) == {"laps?": 1, "go(es)? on": 1}
    assert check_words.lowered(found, {"laps?": 9}) == {"laps?": 2}
    assert check_words.lowered(found, {}) == {}
    assert check_words.lowered(found, None) == {"laps?": 2, "go(es)? on": 1}


def test_a_finding_says_where_and_what_to_write() -> None:
    assert str(Finding("docs/a.md", 7, LAP, "lap")) == "docs/a.md:7: lap -> generation"


def test_an_entry_that_cannot_be_read_raises() -> None:
    with pytest.raises(ValueError, match=r"unknown keys: \{'onyl'\}"):
        Word.of({"ban": "a", "write": "b", "onyl": ["*"]})
    with pytest.raises(ValueError, match="in is one of names, prose, both"):
        Word.of({"ban": "a", "write": "b", "in": "comments"})


def test_the_vocabulary_of_the_project_is_sound() -> None:
    _, vocabulary = check_words.load()
    bans = [word.ban for word in vocabulary.words]
    assert len(bans) == len(set(bans))
    for word in vocabulary.words:
        assert word.write
        # A replacement that is banned itself cannot be written.
        assert not [
            other.ban for other in vocabulary.words if other.prose and not other.only and other.matches(word.write)
        ]
