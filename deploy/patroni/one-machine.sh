#!/usr/bin/env bash
# Starts three database nodes and HAProxy on this machine, from the files of this folder, in a temporary folder and on
# free ports. Ctrl-C stops everything and removes the folder.
#
#   ./one-machine.sh              prints DATABASE_URL when the cluster is up
#   ./one-machine.sh node N DIR   starts node N again after it was killed; DIR is the folder that was printed
#
# NAMESPACES and ADDRESSES (three words each) put each node into a network namespace; test/failover uses them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
patroni=${PATRONI:-/opt/patroni/bin/patroni}
names=(node1 node2 node3)

fail() { echo "one-machine.sh: $*" >&2; exit 2; }

# As the user postgres if this is root, because Postgres refuses to run as root.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi
}

in_background() { # LOG COMMAND...: in a session of its own, so that Ctrl-C reaches only this script
  local log=$1; shift
  setsid "$@" >> "$log" 2>&1 < /dev/null &
  echo $!
}

is_running() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2> /dev/null; }

# etcd and Patroni of one node, as on one host, unless they run.
start_node() {
  local n=$1 dir=$2 prefix=()
  # shellcheck source=/dev/null
  set -a; . "$dir/node$n.env"; set +a
  [ -z "${NAMESPACE:-}" ] || prefix=(ip netns exec "$NAMESPACE")
  local run=(env)
  [ "$(id -u)" != 0 ] || run=(setpriv --reuid=postgres --regid=postgres --init-groups)
  is_running "$dir/etcd$n.pid" ||
    in_background "$dir/etcd$n.log" "${prefix[@]}" "${run[@]}" etcd > "$dir/etcd$n.pid"
  is_running "$dir/patroni$n.pid" ||
    in_background "$dir/patroni$n.log" "${prefix[@]}" "${run[@]}" "$patroni" "$dir/patroni.yml" > "$dir/patroni$n.pid"
}

if [ "${1:-}" = node ]; then (start_node "$2" "$3"); exit; fi

bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1) || true
[ -x "${bin:-}/postgres" ] || fail "no /usr/lib/postgresql/*/bin: apt-get install postgresql"
for program in etcd haproxy setsid; do
  command -v $program > /dev/null || [ -x /usr/sbin/$program ] || fail "no $program: apt-get install etcd-server haproxy"
done
[ -x "$patroni" ] || fail "no $patroni: see README.md, step 1"
PATH=$PATH:/usr/sbin

dir=$(mktemp -d "${TMPDIR:-/tmp}/tapwire-patroni-XXXXXX")
chmod 755 "$dir" # the user postgres must be able to pass through

stop_all() {
  trap - EXIT
  [ -z "${sleeper:-}" ] || kill "$sleeper"
  trap '' INT TERM # a second Ctrl-C must not leave processes behind
  for part in haproxy patroni1 patroni2 patroni3; do signal TERM $part; done
  for part in haproxy patroni1 patroni2 patroni3; do wait_for $part; done
  for n in 1 2 3; do stop_postgres "$dir/data$n"; signal KILL "patroni$n"; signal KILL "etcd$n"; done
  rm -rf "$dir"
}
signal() { [ ! -s "$dir/$2.pid" ] || kill -"$1" "$(cat "$dir/$2.pid")" 2> /dev/null || true; }
wait_for() { # at most 15 s: Patroni stops its Postgres first
  for _ in $(seq 150); do
    is_running "$dir/$1.pid" || return 0
    sleep 0.1
  done
}
stop_postgres() { # that a killed Patroni has left behind
  [ ! -s "$1/postmaster.pid" ] || as_postgres "$bin/pg_ctl" stop -m immediate -D "$1" > /dev/null 2>&1 || true
}
trap stop_all EXIT
trap 'exit 0' INT TERM

read -ra addresses <<< "${ADDRESSES:-127.0.0.1 127.0.0.1 127.0.0.1}"
read -ra namespaces <<< "${NAMESPACES:-}"
# Four for each node and one for HAProxy. Held until all are chosen, so that they differ.
read -ra ports <<< "$(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(13)]
print(*[each.getsockname()[1] for each in held])')"
password() { head -c 18 /dev/urandom | base64 | tr '+/' '-_'; }
superuser=$(password); replication=$(password); rewind=$(password); api=$(password); tapwire=$(password)

etcd_clients=(); etcd_members=()
for i in 0 1 2; do
  etcd_clients+=("${addresses[i]}:${ports[i * 4 + 2]}")
  etcd_members+=("${names[i]}=http://${addresses[i]}:${ports[i * 4 + 3]}")
done
comma() { local IFS=,; echo "$*"; }

for i in 0 1 2; do
  n=$((i + 1)); address=${addresses[i]}
  postgres=$address:${ports[i * 4]}; rest=$address:${ports[i * 4 + 1]}
  cat > "$dir/node$n.env" <<END
NAMESPACE=${namespaces[i]:-}
PATRONI_NAME=${names[i]}
PATRONI_RESTAPI_LISTEN=$rest
PATRONI_RESTAPI_CONNECT_ADDRESS=$rest
PATRONI_RESTAPI_USERNAME=patroni
PATRONI_RESTAPI_PASSWORD=$api
PATRONI_POSTGRESQL_LISTEN=$postgres
PATRONI_POSTGRESQL_CONNECT_ADDRESS=$postgres
PATRONI_POSTGRESQL_DATA_DIR=$dir/data$n
PATRONI_POSTGRESQL_BIN_DIR=$bin
PATRONI_POSTGRESQL_PGPASS=$dir/data$n.pgpass
PATRONI_ETCD3_HOSTS=$(comma "${etcd_clients[@]}")
PATRONI_SUPERUSER_PASSWORD=$superuser
PATRONI_REPLICATION_PASSWORD=$replication
PATRONI_REWIND_PASSWORD=$rewind
ETCD_NAME=${names[i]}
ETCD_DATA_DIR=$dir/etcd$n
ETCD_LISTEN_CLIENT_URLS=http://${etcd_clients[i]}
ETCD_ADVERTISE_CLIENT_URLS=http://${etcd_clients[i]}
ETCD_LISTEN_PEER_URLS=${etcd_members[i]#*=}
ETCD_INITIAL_ADVERTISE_PEER_URLS=${etcd_members[i]#*=}
ETCD_INITIAL_CLUSTER=$(comma "${etcd_members[@]}")
ETCD_INITIAL_CLUSTER_STATE=new
ETCD_INITIAL_CLUSTER_TOKEN=tapwire
END
  chmod 600 "$dir/node$n.env"
  cat >> "$dir/haproxy.env" <<END
NODE${n}_POSTGRES=$postgres
NODE${n}_ADDRESS=$address
NODE${n}_API_PORT=${ports[i * 4 + 1]}
END
done
echo "TAPWIRE_DB_LISTEN=127.0.0.1:${ports[12]}" >> "$dir/haproxy.env"
# A watchdog would reset this machine when a node is frozen.
sed 's/^\( *mode:\) automatic$/\1 off/' "$here/patroni.yml" > "$dir/patroni.yml"
if [ "$(id -u)" = 0 ]; then chown postgres "$dir"; fi

echo "folder: $dir"
for n in 1 2 3; do (start_node $n "$dir"); done
(set -a; . "$dir/haproxy.env"; in_background "$dir/haproxy.log" haproxy -db -f "$here/haproxy.cfg") > "$dir/haproxy.pid"

admin="postgres://postgres:$superuser@127.0.0.1:${ports[12]}/postgres"
ask() { PGCONNECT_TIMEOUT=3 "$bin/psql" "$admin" -qtAX "$@"; }
for _ in $(seq 120); do
  [ "$(ask -c "select count(*) from pg_stat_replication where sync_state = 'quorum'" 2> /dev/null)" != 2 ] || break
  sleep 1
done
[ "$(ask -c "select count(*) from pg_stat_replication where sync_state = 'quorum'")" = 2 ] ||
  { tail -n 5 "$dir"/*.log >&2; fail "the cluster is not complete after two minutes"; }
ask -v password="$tapwire" -f "$here/create-database.sql" > /dev/null
url="postgres://tapwire:$tapwire@127.0.0.1:${ports[12]}/tapwire"
printf 'DATABASE_URL=%s\nADMIN_URL=%s\nPATRONI_API=patroni:%s\n' "$url" "$admin" "$api" > "$dir/cluster.env"
chmod 600 "$dir/cluster.env"

echo "members: $(dirname "$patroni")/patronictl -c $dir/patroni.yml list   (after: set -a; . $dir/node1.env)"
echo "DATABASE_URL=$url"
echo "Ctrl-C stops everything and removes the folder."
sleep infinity > /dev/null 2>&1 & sleeper=$!
wait $sleeper
