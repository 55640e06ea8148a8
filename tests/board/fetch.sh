#!/usr/bin/env bash
# fetch.sh FOLDER: what comes from Debian's packages for arm64: a kernel, its modules and a static busybox, which ./dev board
# boots, and the OpenSSL that its tw-board is linked with.
# apt keeps the other architecture's lists in a folder that is removed again; the system's own stay as they are.
set -euo pipefail

modules="drivers/virtio/virtio drivers/virtio/virtio_ring drivers/virtio/virtio_mmio drivers/char/virtio_console
  net/core/failover drivers/net/net_failover drivers/net/virtio_net"
folder=$1
new=$(readlink -f "$(dirname "$folder")")/.board.$$
trap 'rm -rf "$new"' EXIT
mkdir -p "$new"/apt/{lists,archives}/partial "$new"/packages "$new"/files "$new"/modules "$new"/openssl/include
: > "$new/apt/status"

of_arm64() {  # of_arm64 apt-get|apt-cache ARGS
  "$1" -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Acquire::Languages=none \
    -o Dir::State="$new/apt" -o Dir::State::status="$new/apt/status" -o Dir::Cache="$new/apt" "${@:2}"
}

of_arm64 apt-get update
kernel=$(of_arm64 apt-cache depends linux-image-cloud-arm64 | sed -n 's/^ *Depends: //p')
(cd "$new/packages" && of_arm64 apt-get download "$kernel" busybox-static libssl-dev)
for package in "$new"/packages/*.deb; do dpkg-deb --extract "$package" "$new/files"; done
for module in $modules; do cp "$new"/files/lib/modules/*/kernel/"$module.ko" "$new/modules"; done
mv "$new"/files/boot/vmlinuz-* "$new/vmlinuz"
mv "$new"/files/bin/busybox "$new/busybox"
mv "$new"/files/usr/lib/aarch64-linux-gnu/lib{ssl,crypto}.a "$new/openssl"
mv "$new"/files/usr/include/openssl "$new/openssl/include"
mv "$new"/files/usr/include/aarch64-linux-gnu/openssl/* "$new/openssl/include/openssl"
rm -rf "$new"/{apt,packages,files} "$folder"
mv "$new" "$folder"
