"""scripts/clean-root names what it lacks. `make test-install` and `make test-bare` run it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("arguments", "user", "said"), [
    (["git"], "0", "usage: clean-root [--copy FILE]... [--clone] [PACKAGE]... -- COMMAND..."),
    (["git", "--"], "0", "usage: clean-root"),
    (["git", "--", "true"], "1000", "run this as root"),
    (["git", "--", "true"], "0", "apt-get install --yes --no-install-recommends debootstrap"),
])  # fmt: skip
def test_it_ends_before_it_makes_anything(arguments: list[str], user: str, said: str, tmp_path: Path) -> None:
    for tool in ("bash", "dirname"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    (tmp_path / "id").write_text(f"#!/bin/bash\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    command = [str(tmp_path / "bash"), str(ROOT / "scripts" / "clean-root"), *arguments]
    made = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False)
    assert (made.returncode, made.stdout) == (2, "")
    assert said in made.stderr
