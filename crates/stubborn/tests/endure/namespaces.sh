#!/usr/bin/env bash
# Runs a command of several processes, each in a network namespace of its own, over lines with delay
# and loss: namespaces.sh PROCESSES PROGRAM ARGUMENTS... (without --processes). Says what the leader
# says, and then what the lines did. Status 77: namespaces cannot be made here, and why.
set -u
processes=$1
shift
name="stubborn-$$"
skip() { echo "skipped: $*" >&2; exit 77; }
command -v ip > /dev/null && command -v tc > /dev/null || skip "there is no ip and tc (iproute2)"
mine=()
cleanup() {
  for pid in $(jobs -p); do kill "$pid" 2> /dev/null; done
  for one in "${mine[@]}"; do ip netns del "$one" 2> /dev/null; done
}
trap cleanup EXIT
make() { ip netns add "$1" 2> /dev/null && mine+=("$1"); }
make "$name-hub" || skip "namespaces cannot be made (that takes root)"
in_hub() { ip -n "$name-hub" "$@"; }
in_hub link add hub type bridge || skip "there are no bridges"
in_hub link set hub up
lines=""
for ((at = 0; at < processes; at++)); do
  own="$name-$at"
  make "$own" || skip "namespaces cannot be made"
  in_hub link add "port$at" type veth peer name line netns "$own" || skip "there are no veth pairs"
  in_hub link set "port$at" master hub up
  ip -n "$own" addr add "10.77.0.$((at + 1))/24" dev line
  ip -n "$own" link set line up
  ip -n "$own" link set lo up
  # Where the kernel has no netem, a slow line with a short queue delays and loses as well.
  if tc -n "$own" qdisc add dev line root netem delay 3ms 1ms loss 1% 2> /dev/null; then
    lines="netem"
  elif tc -n "$own" qdisc add dev line root tbf rate 40mbit burst 16k latency 8ms; then
    lines="tbf"
  else
    skip "lines cannot be made slow"
  fi
done
STUBBORN_TOKEN=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
export STUBBORN_TOKEN
address="10.77.0.1:7000"
for ((at = 1; at < processes; at++)); do
  ip netns exec "$name-$at" "$@" --join "$address" > /dev/null 2>&1 &
done
ip netns exec "$name-0" "$@" --processes "$processes" --listen "$address"
status=$?
for ((at = 0; at < processes; at++)); do
  tc -n "$name-$at" -s qdisc show dev line | grep -o 'Sent.*requeues' | sed "s/^/$lines: /" >&2
done
exit $status
