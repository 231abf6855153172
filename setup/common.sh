# Shared by the scripts beside it: finds the project, checks Rust, installs missing system packages.
# Sourced, not run.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

RUST_NEEDED=1.95
VERILATOR_NEEDED=5.006

say() { printf 'setup: %s\n' "$*" >&2; }

fail() { # what is wrong, what to do about it
    printf 'error: %s\nhelp: %s\n' "$1" "$2" >&2
    exit 5
}

older() { # is version $1 older than version $2?
    local first
    first=$(printf '%s\n%s\n' "$1" "$2" | sort --version-sort | head -n 1)
    [ "$1" != "$2" ] && [ "$first" = "$1" ]
}

need_rust() {
    local advice="'rustup update stable' installs it; https://rustup.rs if there is no rustup yet"
    # A shell that was open while rustup ran has no cargo in its path yet.
    command -v cargo >/dev/null || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
    command -v cargo >/dev/null || fail "no cargo: Groove needs Rust $RUST_NEEDED or newer" "$advice"
    local found
    # Both: rustup's own stand-ins are there even where the toolchain behind them is not.
    cargo --version >/dev/null 2>&1 && found=$(rustc --version 2>/dev/null) ||
        fail "cargo is there but does not run ('rustc --version' shows why)" "$advice"
    found=$(cut -d ' ' -f 2 <<<"$found")
    if older "${found%%-*}" "$RUST_NEEDED"; then
        fail "Rust $found is too old: Groove needs $RUST_NEEDED or newer" "$advice"
    fi
}

need_packages() { # arguments: command:package, or /path/of/a/file:package
    local pair missing=() become=()
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null || [ -f "${pair%%:*}" ] || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -eq 0 ] && return
    local install=(apt-get install --yes --no-install-recommends "${missing[@]}")
    say "missing system packages: ${missing[*]}"
    command -v apt-get >/dev/null ||
        fail "no apt-get to install them with" "install ${missing[*]} by your system's own means"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "installing needs root, and there is no sudo" \
            "run as root: apt-get update && ${install[*]}"
        become=(sudo)
    fi
    say "running: ${become[*]:+${become[*]} }apt-get update"
    "${become[@]}" apt-get update >&2 || say "apt-get update failed; trying with the lists that are here"
    say "running: ${become[*]:+${become[*]} }${install[*]}"
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >&2 ||
        fail "apt-get could not install ${missing[*]}" "repair apt, then run this script again"
}

need_verilator() { # Debian 12 and Ubuntu 24.04 carry a new enough one; older releases do not
    local found
    found=$(verilator --version | cut -d ' ' -f 2)
    if older "$found" "$VERILATOR_NEEDED"; then
        fail "Verilator $found is too old: Groove needs $VERILATOR_NEEDED or newer" \
            "use Debian 12, Ubuntu 24.04 or newer, or put a newer verilator first in PATH"
    fi
}
