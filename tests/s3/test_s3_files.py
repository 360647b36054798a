"""The contract of an archive's files, which JUnit checks, over S3A."""

import subprocess

from s3.store import ROOT, Store


def test_files_of_a_bucket(store: Store) -> None:
    class_path = (ROOT / "jvm/build/test.classpath").read_text().split('"')[1]
    ended = subprocess.run(
        [
            *("java", "-ea", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            "-Djava.util.logging.config.file=jvm/src/test/resources/logging.properties",
            f"-Darchive.bucket=s3a://{store.bucket}",
            "-Darchive.bucket.unconditional=s3a://unconditional",
            *("-cp", f"{store.class_path()}:{class_path}", "org.junit.platform.console.ConsoleLauncher", "execute"),
            *("--select-class=org.mmapqueue.archive.hadoop.S3aFilesTest", "--details=tree", "--disable-banner"),
            *("--fail-if-no-tests", "--disable-ansi-colors"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " 0 tests skipped " in ended.stdout
    # What fails on its way leaves nothing to pay for.
    assert store.uploads() == 0
