# The wheel in a system with Python, pip and Java alone: scripts/clean-root runs this in it.
set -eu

python3 -m venv /opt/mmapqueue
/opt/mmapqueue/bin/pip install --quiet dist/mmapqueue-*.whl
/opt/mmapqueue/bin/pip check
/opt/mmapqueue/bin/python tests/install/push_and_pop.py /tmp/queue

# As any user, and with the extra of the command line.
/opt/mmapqueue/bin/pip install --quiet "$(ls dist/mmapqueue-*.whl)[cli]"
setpriv --reuid nobody --regid nogroup --clear-groups \
    env HOME=/tmp/nobody /opt/mmapqueue/bin/python tests/install/push_and_pop.py /tmp/queue-of-nobody
/opt/mmapqueue/bin/mmapqueue --help >/dev/null

# Without Java the error names it.
mkdir /tmp/no-java
if PATH=/tmp/no-java /opt/mmapqueue/bin/python tests/install/push_and_pop.py /tmp/none >/tmp/log 2>&1; then
    echo "a queue was opened without Java" >&2
    exit 1
fi
grep 'PATH has no java' /tmp/log
