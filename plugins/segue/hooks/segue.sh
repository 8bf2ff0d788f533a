#!/bin/sh
# The plugin's hooks, all of them: `segue.sh EVENT`. What is to be done stands in one script that Segue itself writes into
# its data folder; this only finds that script. Where `segue init` has put its own hooks into the settings, those run it
# already, and this does nothing. Whatever goes wrong here, the agent goes on.
event=$1

if [ -n "$SEGUE_HOME" ]; then
  case $SEGUE_HOME in
  '~'/*) data=$HOME/${SEGUE_HOME#??}/data ;;
  *) data=$SEGUE_HOME/data ;;
  esac
elif [ -n "$XDG_DATA_HOME" ]; then
  data=$XDG_DATA_HOME/segue
elif [ -d "$HOME/Library/Application Support" ]; then
  data="$HOME/Library/Application Support/segue"
else
  data=$HOME/.local/share/segue
fi
# A name that is not whole leads into whichever project the agent works in: what lies there is a stranger's.
case $data in
/*) ;;
*) exit 0 ;;
esac
script=$data/hook.sh

settings=${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json
# The hook of this event, that is: the status line names the script too.
[ -r "$settings" ] && grep -qF -e "$script $event claude" -e "$script' $event claude" "$settings" 2>/dev/null && exit 0

if [ "$event" = start ]; then
  program=$(command -v segue)
  if [ -n "$program" ]; then
    # Once, and again after an update: the script names the Python that runs Segue.
    [ -x "$script" ] && [ "$script" -nt "$program" ] ||
      "$program" init claude --plugin </dev/null >/dev/null 2>&1
  elif [ ! -x "$script" ] && [ -n "$CLAUDE_PLUGIN_DATA" ] && [ ! -e "$CLAUDE_PLUGIN_DATA/told" ]; then
    mkdir -p "$CLAUDE_PLUGIN_DATA" 2>/dev/null && : >"$CLAUDE_PLUGIN_DATA/told" 2>/dev/null || exit 0
    echo '{"systemMessage": "The plugin segue does nothing yet: there is no program of that name on PATH. Its README says how to install it."}'
    exit 0
  fi
fi

[ -x "$script" ] || exit 0
exec "$script" "$event" claude
