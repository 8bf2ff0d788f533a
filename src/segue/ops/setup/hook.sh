#!/bin/sh
# Written by `segue init`, removed by `segue init --undo`. The agent waits for this script, so Python starts only when
# there is something to report, and no error here stops the agent.
#
#   start    a conversation starts: show a handoff that waits for this agent
#   prompt   the user sends a message: show a warning about limits; check for new ones once a minute
#   edit     a tool is about to run: refuse it while another agent holds the worktree
#   compact  the conversation is about to be compacted: record the time
#   end      the conversation ends: record the time
#   line     draw the status line, followed by the output of the user's own command
data=@data@
python=@python@
root=@root@
load='import sys; sys.path.insert(0, sys.argv[1]); from segue.faces import hook; hook.run(sys.argv[2:])'
@environment@
umask 077
event=$1 agent=$2 given='' said=''

answer() {
  # Not exec: agents may take an exit code as a refusal, and Python exits with one if Segue is not installed.
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
  # The file of the last check is dated one minute ahead: a check is due when a file created now is newer.
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
  # Written as one line at once, so that lines of several agents do not mix; line breaks become blanks.
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
  # If Segue is no longer installed for that Python, show the user's own line.
  "$python" -E -P -m segue statusline "$@" || [ -z "$own" ] || sh -c "$own"
  ;;
esac 2>/dev/null
exit 0
