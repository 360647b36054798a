# The source distribution in a system with Python, pip and Java: scripts/clean-root runs this in it. A user without
# rights installs it; what is missing is named and not installed.
set -eu

useradd --create-home user
cp -R dist tests /home/user
cd /home/user

as_user() {
    setpriv --reuid user --regid user --init-groups env HOME=/home/user "$@"
}

fails_naming() {
    if as_user venv/bin/pip install dist/mmapqueue-*.tar.gz >/tmp/log 2>&1; then
        echo "the source distribution was installed; an error was expected: $1" >&2
        exit 1
    fi
    grep "$1" /tmp/log || { cat /tmp/log; exit 1; }
}

as_user python3 -m venv venv

fails_naming 'No javac found: install a JDK, version 17 or newer'
apt-get install --quiet=2 --yes --no-install-recommends default-jdk-headless >/dev/null
fails_naming 'No gradle found: it builds the jar'
fails_naming 'apt-get install --yes --no-install-recommends gradle'
apt-get install --quiet=2 --yes --no-install-recommends gradle >/dev/null

as_user venv/bin/pip install --quiet dist/mmapqueue-*.tar.gz
as_user venv/bin/pip check
as_user venv/bin/python tests/install/push_and_pop.py queue
