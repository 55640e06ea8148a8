#!/usr/bin/env bash
# small_openssl.sh FOLDER: the OpenSSL of tw-board, as FOLDER/ARCHITECTURE/lib{ssl,crypto}.a: TLS 1.3 by a secret, and what
# OpenSSL does not build without. The system's archives have a part in everything that TLS ever was: 2 MB more in the board.
# Debian's sources, with its patches, of the release whose headers are installed, or of the newest one where a mirror has
# moved on: releases of one series fit each other's headers. Their lists are kept apart and removed again.
set -euo pipefail

without="shared module dso engine static-engine dynamic-engine padlockeng devcryptoeng afalgeng capieng tests legacy autoload-config async
  comp ct dgram dtls tls1 tls1_1 tls1_2 weak-ssl-ciphers cmp cms ocsp ts rfc3779 srp srtp nextprotoneg ssl-trace ui-console filenames
  stdio posix-io aria bf blake2 camellia cast cmac des dsa ec2m gost idea md4 mdc2 ocb rc2 rc4 rmd160 scrypt seed siphash siv sm2 sm3 sm4
  whirlpool multiblock deprecated"
# X25519 is asked for first: P-256 needs no table of 150 KB.
flags="-Os -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -UECP_NISTZ256_ASM"

mkdir -p "$(dirname "$1")"
folder=$(readlink -f "$1")
new=$(dirname "$folder")/.openssl.$$
trap 'rm -rf "$new"' EXIT
mkdir -p "$new"/apt/{lists,archives}/partial "$new"/{lists,source,built}
: > "$new/apt/status"

of_sources() {  # of_sources apt-get ARGS
  "$1" -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$new/lists" -o APT::Sandbox::User= -o Acquire::Languages=none \
    -o Dir::State="$new/apt" -o Dir::State::status="$new/apt/status" -o Dir::Cache="$new/apt" "${@:2}"
}

fetch() {
  local list
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    case $list in
      *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" > "$new/lists/$(basename "$list")" ;;
      *.list) [ ! -e "$list" ] || sed -n 's/^deb /deb-src /p' "$list" > "$new/lists/$(basename "$list")" ;;
    esac
  done
  of_sources apt-get update || true  # not every list has sources
  cd "$new"
  # A mirror may lack the patches of a security update: then upstream's release is taken as it is.
  of_sources apt-get source --download-only "openssl=$(dpkg-query -W -f '${source:Version}' libssl-dev)" 2>/dev/null ||
    of_sources apt-get source --download-only openssl || true
  if ! dpkg-source --no-check --extract openssl_*.dsc source/openssl >/dev/null 2>&1; then
    rm -rf source/openssl
    mkdir source/openssl
    tar -x -f openssl_*.orig.tar.gz -C source/openssl --strip-components 1
    echo "small_openssl.sh: without Debian's patches: they could not be had" >&2
  fi
}

build() {  # build ARCHITECTURE [OPTION]
  mkdir -p "$new/objects/$1" "$new/built/$1"
  cd "$new/objects/$1"
  # shellcheck disable=SC2086
  perl "$new/source/openssl/Configure" "linux-$1" "${@:2}" $(printf 'no-%s ' $without) $flags >log 2>&1 && make -s -j"$(nproc)" build_libs >log 2>&1 ||
    { tail -20 log >&2; return 1; }
  mv libssl.a libcrypto.a "$new/built/$1"
}

fetch
here=$(uname -m)
build "$here"
[ "$here" = aarch64 ] || ! command -v aarch64-linux-gnu-gcc >/dev/null || build aarch64 --cross-compile-prefix=aarch64-linux-gnu-
rm -rf "$folder"
mv "$new/built" "$folder"
