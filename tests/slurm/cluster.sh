#!/usr/bin/env bash
# A throw-away real Slurm cluster on one machine: no systemd, no cgroups, nothing under /etc or /var.
#   cluster.sh install           apt packages (root)
#   cluster.sh start             start; prints the environment to export
#   cluster.sh stop              cancel the jobs, end every daemon by its recorded pid
#   cluster.sh kill-slurmd NODE  kill -9 the slurmd; the jobs on it run on (as on a real node)
#   cluster.sh kill-node NODE    kill -9 the slurmd and all that runs under it, and mark the node DOWN: a crash
#   cluster.sh start-slurmd NODE the node comes back
# Settings (environment):
#   SLURM_CI_DIR    state directory, short path (unix sockets: < 80 characters)   [/tmp/slurm-ci]
#   SLURM_CI_NODES  number of slurmd "nodes" on this host                         [1]
#   SLURM_CI_CPUS   CPUs each node claims, may exceed what the machine has        [8]
#   SLURM_CI_ARRAY  MaxArraySize                                                  [1001]
#   SLURM_CI_PORT   first of the TCP ports used (16817..)                         [16817]
set -euo pipefail
D=${SLURM_CI_DIR:-/tmp/slurm-ci}
ME=$(id -un); HOST=$(hostname -s)
PATH=$PATH:/usr/sbin:/sbin

load() { # settings: what start recorded wins over the environment
  [ ! -f "$D/settings" ] || . "$D/settings"
  NODES=${SLURM_CI_NODES:-1} CPUS=${SLURM_CI_CPUS:-8} PORT=${SLURM_CI_PORT:-16817}
}
say() { echo "cluster.sh: $*" >&2; }
die() { say "$*"; exit 1; }
node_names() { if [ "$NODES" = 1 ]; then echo localhost; else for i in $(seq "$NODES"); do echo "127.0.0.$((i + 1))"; done; fi; }
running() { # by pid; a zombie (its new parent, pid 1, may be slow to reap it) has ended
  local st; st=$(ps -o stat= -p "$1" 2>/dev/null) && [[ $st != Z* ]]
}
alive() { # alive NAME: its recorded pid runs, and is still that daemon (not a pid used again)
  local pid; [ -s "$D/pid/$1" ] || return 1
  pid=$(cat "$D/pid/$1"); running "$pid" && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "${1%%-*}" ]
}
spawn() { # spawn NAME CMD...: own session, foreground daemon, its pid recorded
  local name=$1 i; shift
  setsid "$@" </dev/null >>"$D/log/$name.out" 2>&1 &
  echo $! >"$D/pid/$name"
  for ((i = 0; i < 100; i++)); do alive "$name" && break; sleep 0.01; done # until the exec has happened
}
end() { # end SECONDS NAME...: TERM to all of them, then KILL to what is left, by recorded pid only
  local n=$(( $1 * 20 )) i name left; shift
  for name; do alive "$name" && kill -TERM "$(cat "$D/pid/$name")" 2>/dev/null || true; done
  for ((i = 0; i < n; i++)); do
    left=; for name; do alive "$name" && left="$left $name" || true; done
    [ -n "$left" ] || break; sleep 0.05
  done
  for name in $left; do say "$name had to be killed"; kill -KILL "$(cat "$D/pid/$name")" 2>/dev/null || true; done
  for name; do rm -f "$D/pid/$name"; done
}
all_alive() {
  local p; for p in "$D"/pid/*; do
    [ ! -e "$p" ] || alive "$(basename "$p")" || { say "$(basename "$p") died"; return 1; }
  done
}
until_ok() { # until_ok SECONDS WHAT CMD...
  local stop=$((SECONDS + $1)) what=$2 f; shift 2
  while [ $SECONDS -lt $stop ]; do
    "$@" >/dev/null 2>&1 && return 0
    all_alive || break
    sleep 0.05
  done
  for f in "$D"/log/*; do say "--- $f"; tail -5 "$f" >&2; done
  die "$what: not ready; logs in $D/log; end what runs with: $0 stop"
}

write_conf() {
  local i=0 n
  {
    cat <<CONF
ClusterName=ci
FirstJobId=$(((RANDOM << 10) + 1))
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$PORT
SlurmdPort=$((PORT + 1))
SlurmUser=$ME
SlurmdUser=$ME
AuthType=auth/munge
CredType=cred/munge
CONF
    # a requeued job waits cred_expire + 1 seconds (BeginTime); the default is 120
    echo "AuthInfo=socket=$D/munge/munge.sock,cred_expire=5"
    cat <<CONF
StateSaveLocation=$D/ctld
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd-%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
# nothing that needs cgroups or a kernel privilege
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
# CPUs only (no memory accounting); config_overrides: claim more CPUs and memory than the machine has
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
# answer fast
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0
# faults and requeues within a test's patience
ReturnToService=0
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
KillWait=5
MaxArraySize=${SLURM_CI_ARRAY:-1001}
MinJobAge=300
JobRequeue=1
# real preemption: a job in "high" requeues one in "low" after GraceTime, USR2 at its start
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
AccountingStorageType=accounting_storage/none
CONF
    echo "JobCompType=jobcomp/none"
    for n in $(node_names); do
      echo "NodeName=$n NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$((PORT + 10 + i)) CPUs=$CPUS RealMemory=1000000 State=UNKNOWN"
      i=$((i + 1))
    done
    cat <<CONF
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=low Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=15
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=100 PreemptMode=OFF
CONF
  } >"$D/slurm.conf"
}

start_munge() {
  local m=$D/munge
  [ -f "$m/munge.key" ] || (umask 077; head -c 1024 /dev/urandom >"$m/munge.key")
  spawn munged munged --foreground --force --key-file="$m/munge.key" --socket="$m/munge.sock" \
    --pid-file="$m/munged.pid" --log-file="$D/log/munged.log" --seed-file="$m/munged.seed"
  until_ok 10 munged sh -c "munge -S '$m/munge.sock' -n | unmunge -S '$m/munge.sock'"
}
start_slurmd() {
  mkdir -p "$D/spool/$1"
  spawn "slurmd-$1" slurmd -D -N "$1" -f "$D/slurm.conf"
}
up() { # every node idle
  [ "$(SLURM_CONF=$D/slurm.conf timeout 3 sinfo -h -N -p main -o '%T' 2>/dev/null | grep -cx idle)" = "$NODES" ]
}
step_pids() { # what runs on node $1 ("*": any): its slurmstepds, known by their open log file, and their sessions
  local f p
  for f in /proc/[0-9]*/fd/3; do
    # shellcheck disable=SC2053
    [[ $(readlink "$f" 2>/dev/null) == $D/log/slurmd-$1.log ]] || continue
    p=${f#/proc/}; p=${p%%/*}
    [ "$(cat "/proc/$p/comm" 2>/dev/null)" = slurmstepd ] || continue
    ps -o pid= -s "$(ps -o sid= -p "$p" | tr -d ' ')"
  done 2>/dev/null || true
}
return_node() { # a node that was DOWN comes back only here (ReturnToService=0)
  local st # not sinfo: it shows a DOWN node that has had CPUs allocated as "mixed"
  st=$(scontrol -o show node "$1" | grep -o ' State=[^ ]*')
  case $st in
    *NOT_RESPONDING*|*\**|*UNKNOWN*|'') return 1 ;; # not registered yet
    *DOWN*) sleep 2; scontrol update nodename="$1" state=resume; return 1 ;; # its orphans get killed meanwhile
  esac
}
print_env() { echo "export SLURM_CONF=$D/slurm.conf"; }

start() {
  [ "${#D}" -lt 80 ] || die "SLURM_CI_DIR is too long for unix sockets"
  load
  [ ! -f "$D/settings" ] || die "already started in $D (stop first)"
  mkdir -p "$D"/{log,pid,run,munge,ctld,spool}; chmod 755 "$D" "$D/munge"
  declare -p NODES CPUS PORT | sed -E 's/^declare -- /SLURM_CI_/' >"$D/settings"
  write_conf
  start_munge
  export SLURM_CONF=$D/slurm.conf
  spawn slurmctld slurmctld -D -f "$D/slurm.conf"
  for n in $(node_names); do start_slurmd "$n"; done
  until_ok 60 "nodes idle" up
  print_env
}
stop() {
  load; [ -f "$D/settings" ] || { say "not started in $D"; return 0; }
  export SLURM_CONF=$D/slurm.conf
  local p i
  if alive slurmctld && scancel --user="$ME" 2>/dev/null; then
    for ((i = 0; i < 200; i++)); do [ -z "$(squeue -h -t running,completing,configuring 2>/dev/null)" ] && break; sleep 0.1; done
  fi
  end 15 slurmctld $(cd "$D/pid" && ls -d slurmd-* 2>/dev/null || true)
  for p in $(step_pids '*'); do kill -9 "$p" 2>/dev/null || true; done
  end 5 munged
  rm -f "$D/settings"
}

case "${1:-}" in
  install) export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge ;;
  start) start ;;
  stop) stop ;;
  kill-slurmd) load; alive "slurmd-$2" && kill -9 "$(cat "$D/pid/slurmd-$2")" ;;
  kill-node) load; export SLURM_CONF=$D/slurm.conf
    kill -9 $(alive "slurmd-$2" && cat "$D/pid/slurmd-$2") $(step_pids "$2") 2>/dev/null || true
    # noticed at once; without this line the controller takes about 28 s (SlurmdTimeout=10)
    scontrol update nodename="$2" state=down reason=kill-node ;;
  start-slurmd) load; export SLURM_CONF=$D/slurm.conf; start_slurmd "$2"; until_ok 40 "node $2" return_node "$2" ;;
  *) sed -n 2,13p "${BASH_SOURCE[0]}"; exit 2 ;;
esac
