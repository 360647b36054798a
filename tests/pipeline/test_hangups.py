"""SIGHUP before `mmapqueue process` has its handler: it waits, and harms neither the process nor its children."""

from pathlib import Path

import pytest

from conftest import Script

from .configuring import SPARK, pipeline

#: `mmapqueue process` with a SIGHUP when the file has been read, and one while Spark starts. Prints what children have.
PROCESS = """
    import os, signal, subprocess, sys
    from types import SimpleNamespace
    from mmapqueue.pipeline import _cli
    from mmapqueue.pipeline.process import runner

    BEFORE = signal.Handlers[sys.argv[2]]
    signal.signal(signal.SIGHUP, BEFORE)

    def load_all(file, load=_cli.load_all):
        loaded = load(file)
        os.kill(os.getpid(), signal.SIGHUP)
        return loaded

    def session(_):
        child = "import signal; print(signal.getsignal(signal.SIGHUP).name)"
        print("child:", subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout, end="")
        os.kill(os.getpid(), signal.SIGHUP)
        return SimpleNamespace(stop=lambda: None)

    class Processor:
        def __init__(self, pipeline, _spark, *, stopping, **_):
            self.pipeline, self.stopping = pipeline, stopping

        def start(self):
            print("start", flush=True)
            if BEFORE == signal.SIG_IGN:
                os.kill(os.getpid(), signal.SIGTERM)

        def prepare(self, pipeline):
            def change():
                print("reload", flush=True)
                os.kill(os.getpid(), signal.SIGTERM)

            return change

        def wait(self):
            self.stopping.wait()

        def stop(self):
            print("stop", flush=True)

    _cli.load_all = load_all
    runner.session, runner.Processor = session, Processor
    status = _cli.process(sys.argv[1], "critical", once=False, parent=None, watch=False)
    print(status, signal.getsignal(signal.SIGHUP).name, signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


@pytest.mark.parametrize(
    ("before", "then"),
    [("SIG_DFL", ["start", "reload", "stop"]), ("SIG_IGN", ["start", "stop"])],
    ids=["a reload", "ignored as by nohup"],
)
def test_a_hangup_during_the_start_of_process(script: Script, tmp_path: Path, before: str, then: list[str]) -> None:
    pytest.importorskip("pyspark")
    file = tmp_path / "shop.yaml"
    file.write_text(pipeline(pipe=f"senders: [{SPARK}]"))
    said = script.run(PROCESS, file, before).splitlines()
    assert said == ["child: SIG_IGN", *then, f"0 {before} set()"]
