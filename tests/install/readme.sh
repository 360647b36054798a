# Runs the README's section "Install" literally: scripts/clean-root runs this in a system without any other package.
#
#     readme.sh root|user COMMAND
#
# The first block is run by root, the second one by the named user, then the command in the checkout that it has made.
set -eu

user=$1 command=$2

# The clone beside is what the README's address leads to: the system may reach registries of packages alone.
printf '[url "file://%s"]\n\tinsteadOf = %s\n[safe]\n\tdirectory = *\n' \
    "$PWD" "$(sed -n 's/^projectUrl=//p' gradle.properties)" >/etc/gitconfig

# Block number $1 of the section.
block() {
    awk -v wanted="$1" '
        /^## / { inside = $0 == "## Install" }
        /^```$/ { open = 0 }
        inside && open && number == wanted
        inside && /^```sh$/ { number++; open = 1 }' README.md
}

if [ "$user" = root ]; then
    run() { "$@"; }
else
    useradd --create-home user
    run() { setpriv --reuid user --regid user --init-groups env HOME=/home/user "$@"; }
fi

block 1 >/tmp/as-root.sh
block 2 >/tmp/as-user.sh
grep -q '^apt-get update' /tmp/as-root.sh && grep -q '^make build' /tmp/as-user.sh ||
    { echo "README.md has no section Install with a block for root and one for a user" >&2; exit 1; }
printf '%s\n' 'python tests/install/push_and_pop.py "$(mktemp -d)/queue"' 'mmapqueue --help >/dev/null' \
    >/tmp/installed.sh

sh -eux /tmp/as-root.sh
run sh -euxc 'cd; . /tmp/as-user.sh; . /tmp/installed.sh'
run sh -euxc "cd ~/mmapqueue; $command"
