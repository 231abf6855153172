#!/bin/busybox sh
# First process of the guest: loads modules, runs the command, sends back what it wrote.
# /guest/modules: files in order; /guest/command; /guest/outputs: paths to send back.
# Results go to the second serial line, as lines and as files of a length that is said before.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ TERM=${TERM:-linux}
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts none /dev/pts
mount -t tmpfs none /dev/shm
mount -t tmpfs none /tmp
results=/dev/ttyS1
stty -F $results raw -echo
exec 3>$results
echo "up $(cut -d ' ' -f 1 /proc/uptime)" >&3
while read -r module; do
  insmod "/guest/modules/$module" || echo "refused $module" >&3
done </guest/modules.list
cd /
echo # the firmware's last line has no end
sh /guest/command 3>&-
echo "exit $?" >&3
while read -r path; do
  [ -f "$path" ] || continue
  echo "file $(stat -c %s "$path") $path" >&3
  cat "$path" >&3
done </guest/outputs
echo "end" >&3
exec 3>&-
poweroff -f
