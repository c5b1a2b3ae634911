#!/bin/sh
# A Ray cluster of three nodes on one machine, each in a network namespace with an address of its own: `up`, `cut NAME`,
# `join NAME`, `down`. Root, iproute2 and a Python with Ray ($PYTHON) are needed. Nodes: learner (the head, 10.77.0.1),
# env (10.77.0.2), engine (10.77.0.3). Run the driver with `ip netns exec molt-learner`.
set -eu
PYTHON="${PYTHON:-python}"
RAY="$PYTHON -m ray.scripts.scripts"
BRIDGE=molt-bridge
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0 RAY_health_check_initial_delay_ms=2000 RAY_health_check_period_ms=1000
export RAY_health_check_timeout_ms=2000 RAY_health_check_failure_threshold=3
# A node that comes back takes part again under a new name: Ray never takes a dead one back.

address() { case "$1" in learner) echo 10.77.0.1 ;; env) echo 10.77.0.2 ;; engine) echo 10.77.0.3 ;; esac; }

node() {
    ip netns add "molt-$1"
    ip link add "molt-$1" type veth peer name eth0 netns "molt-$1"
    ip link set "molt-$1" master $BRIDGE up
    ip -n "molt-$1" addr add "$(address "$1")/24" dev eth0
    ip -n "molt-$1" link set eth0 up
    ip -n "molt-$1" link set lo up
}

start() {
    case "$1" in
    learner) where="--head --port=6379 --include-dashboard=false --temp-dir=/tmp/molt-ray" ;;
    *) where="--address=$(address learner):6379" ;;
    esac
    # shellcheck disable=SC2086
    ip netns exec "molt-$1" $RAY start $where --node-ip-address="$(address "$1")" --num-cpus=2 \
        --object-store-memory=200000000 --disable-usage-stats --resources="{\"molt_$1\": 1}" </dev/null
}

end() {
    while pids=$(ip netns pids "molt-$1" 2>/dev/null) && [ -n "$pids" ]; do
        for pid in $pids; do kill -9 "$pid" 2>/dev/null || true; done
        sleep 0.1
    done
}

case "${1:-}" in
up)
    ip link add $BRIDGE type bridge
    ip link set $BRIDGE up
    for name in learner env engine; do node $name; done
    for name in learner env engine; do start $name; done
    ;;
cut) ip link set "molt-$2" down ;;
join)
    ip link set "molt-$2" up
    end "$2"
    start "$2"
    ;;
down)
    for name in engine env learner; do
        end $name
        ip link del molt-$name 2>/dev/null || true
        ip netns del molt-$name 2>/dev/null || true
    done
    ip link del $BRIDGE 2>/dev/null || true
    rm -rf /tmp/molt-ray
    ;;
*)
    echo "usage: $0 up | cut NAME | join NAME | down" >&2
    exit 2
    ;;
esac
