#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes the application `groove` in a Corundum tree, from the tree's own template: copies it, puts
# the core in place of the pass-through of one receive stream and of the example's register RAM.
#
#   ./make_app.sh CORUNDUM
set -eu
[ $# -eq 1 ] || { echo "usage: $0 CORUNDUM" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
from=$1/fpga/app/template
to=$1/fpga/app/groove
[ -f "$from/rtl/mqnic_app_block.v" ] || {
    echo "error: $from has no rtl/mqnic_app_block.v" >&2
    echo "help: name the root of a Corundum tree" >&2
    exit 2
}
[ ! -e "$to" ] || {
    echo "error: $to is there already" >&2
    echo "help: remove it, or keep it" >&2
    exit 2
}
block=$from/rtl/mqnic_app_block.v
for line in '^axil_ram #(' '^assign m_axis_STREAM_tdata = s_axis_STREAM_tdata;' '^endmodule' 12340001; do
    grep -q "$line" "$block" || {
        echo "error: $block has no line \`$line\`" >&2
        echo "help: this template is another one than the plug-in knows; change it by hand" >&2
        exit 4
    }
done
cp -r "$from" "$to"
cp "$here"/rtl/* "$to/rtl/"
sed -e '/^axil_ram #(/,/^);/d' -e '/^assign [ms]_axis_STREAM_t[a-z]* = /d' \
    -e 's/12340001/47520001/g' -e 's/^endmodule/`include "groove_app_inst.vh"\
\
endmodule/' "$block" > "$to/rtl/mqnic_app_block.v"
echo "$to: written" >&2
