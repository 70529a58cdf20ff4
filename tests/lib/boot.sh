#!/bin/sh
# SPDX-License-Identifier: MIT
# boot.sh ROOT MOUNTPOINT CGROUP ARGUMENT...
# Run systemd-nspawn with ARGUMENTs on an overlay over ROOT that is gone afterwards. To be called in
# a mount namespace of its own: however this ends, no mount is left. The cgroup is its own as well,
# since systemd-nspawn would put every machine's processes into the same one.
set -eu
root=$1 mountpoint=$2 cgroup=$3
shift 3
mkdir "$cgroup"
echo $$ >"$cgroup/cgroup.procs"
mount --bind "$root" "$mountpoint"
exec systemd-nspawn --quiet --directory="$mountpoint" --volatile=overlay --register=no --keep-unit \
    --link-journal=no --resolv-conf=off --timezone=off --private-network "$@"
