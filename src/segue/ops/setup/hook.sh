#!/bin/sh
# Made by `segue init`, removed by `segue init --undo`. An agent runs this at certain moments, and waits for it:
# so Python is started only where there is something to tell, and nothing that goes wrong here stops the agent.
#
#   start    a conversation begins: a handoff that waits for this agent is given to it
#   prompt   the person says something: a warning about limits is shown; once a minute it is looked for new ones
#   edit     a tool is about to be used: refused while another agent holds the worktree
#   compact  the conversation is about to be shortened, or
#   end      it ends: that is noted
#   line     the status line is drawn, with the person's own command behind it
data=@data@
python=@python@
root=@root@
load='import sys; sys.path.insert(0, sys.argv[1]); from segue.faces import hook; hook.run(sys.argv[2:])'
@environment@
umask 077
event=$1 agent=$2 given='' said=''

answer() {
  # Not exec: some agents take an exit code for a no, and a Python that finds nothing to run has one of its own.
  [ -x "$python" ] && "$python" -I -S -c "$load" "$root" "$data" "$event" "$agent" 2>/dev/null
  exit 0
}

case $event in
edit)
  for note in "$data"/leases/*.json; do
    [ -e "$note" ] || continue
    answer
  done
  ;;

start)
  [ -z "$SEGUE_HANDOFF" ] || exit 0
  for note in "$data"/waiting/*.json; do
    [ -e "$note" ] || continue
    answer
  done
  ;;

prompt)
  for note in "$data"/warnings/"$agent"-*; do
    [ -e "$note" ] || continue
    [ -n "$given" ] || given=$(head -c 65536)
    session=${note##*/"$agent"-}
    case $given in
    *'"session_id":"'"$session"'"'* | *'"session_id": "'"$session"'"'*)
      IFS= read -r said <"$note"
      rm -f "$note" && printf '%s' "$said"
      break
      ;;
    esac
  done
  # The stamp of the last look lies a minute ahead: it is due again when a file that is made now is newer.
  [ -d "$data" ] && [ -x "$python" ] || exit 0
  echo >"$data/now" || exit 0
  if ! [ "$data/tended" -nt "$data/now" ]; then
    "$python" -E -P -m segue.faces.hook "$data" tend "$agent" </dev/null >/dev/null 2>&1 &
  fi
  ;;

compact | end)
  [ -d "$data" ] || exit 0
  moments=$data/spool/moments
  [ -d "$data/spool" ] || mkdir "$data/spool" || exit 0
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  # One line at one go, so that those of several agents do not mix; line breaks become blanks.
  set -f
  IFS='
'
  set -- $(head -c 7000)
  IFS=' '
  printf '%s %s %s %s\n' "$now" "$event" "$agent" "$*" >>"$moments"
  ;;

line)
  own=$2
  shift $#
  [ -z "$own" ] || set -- -- sh -c "$own"
  # Where Segue is gone from that Python, the person's own line is still to be shown.
  "$python" -E -P -m segue statusline "$@" || [ -z "$own" ] || sh -c "$own"
  ;;
esac 2>/dev/null
exit 0
