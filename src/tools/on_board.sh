# What tw board does on a board: sh -c THIS tw-board WHAT ARGUMENTS. For any POSIX shell, busybox's too; as root, but for
# `look` and `take`.
#
# All lies in /opt/tensorwright and is root's, but for the secret, which is the user's that tw-board runs as. Where systemd
# is, a unit keeps it running; elsewhere a loop does, whose number is in a file and whose output is in another.
set -eu
home=/opt/tensorwright
user=tw-board
unit=/etc/systemd/system/tw-board.service
init=/etc/init.d/S99tw-board

has_systemd() { [ -d /run/systemd/system ]; }

put() { # put FILE MODE, from stdin: replaced at once or not at all
  cat >"$1.new"
  chmod "$2" "$1.new"
  mv "$1.new" "$1"
}

make_user() {
  id "$user" >/dev/null 2>&1 && return
  if command -v useradd >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir "$home" --shell /bin/false "$user"
  elif command -v adduser >/dev/null; then
    adduser -S -D -H -h "$home" -s /bin/false "$user"
  else
    echo "there is neither useradd nor adduser: make a user $user, and install again" >&2
    exit 1
  fi
}

write_start() { # write_start HOST PORT KEY NAME
  put "$home/start" 755 <<END
#!/bin/sh
# The tracker's name is resolved here, at each start: tw-board is static and resolves none.
host=$1
case \$host in
  *:*) address=\$host ;;
  *[!0-9.]*)
    if command -v getent >/dev/null; then
      address=\$({ getent ahostsv4 "\$host" || getent ahosts "\$host"; } | { read -r first rest; echo "\$first"; })
    else
      address=\$(nslookup "\$host" | sed -n '/^Name/,\$ s/^Address[^:]*: *\([0-9a-f.:]*\).*/\1/p' | head -n 1)
    fi ;;
  *) address=\$host ;;
esac
[ -n "\$address" ] || { echo "tw-board: the name \$host of the tracker has no address" >&2; exit 1; }
case \$address in *:*) address="[\$address]" ;; esac
exec $home/tw-board --tracker "\$address:$2" --give-up 60 --key $3 --name $4 --secret $home/secret
END
}

write_unit() {
  put "$unit" 644 <<END
[Unit]
Description=Tensorwright: measures tuning candidates for clients of a tracker
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
User=$user
ExecStart=$home/start
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
END
  systemctl daemon-reload
}

as_user() { # what begins a command as the user, in this group of processes
  if setpriv --version >/dev/null 2>&1; then
    echo "setpriv --reuid=$user --regid=$user --clear-groups"
  else
    echo "su -s /bin/sh $user"
  fi
}

write_loop() {
  put "$home/loop" 755 <<END
#!/bin/sh
# Keeps tw-board running, as its own user.
echo \$\$ >$home/pid
while :; do
  [ ! -f $home/log ] || [ "\$(wc -c <$home/log)" -lt 1000000 ] || mv $home/log $home/log.old
  $(as_user) $home/start >>$home/log 2>&1 </dev/null || true
  sleep 2
done
END
  [ -e /etc/init.d/rcS ] || { echo "note it does not start by itself after a reboot: have this system start $home/loop"; return 0; }
  put "$init" 755 <<END
#!/bin/sh
case \${1:-} in
  start) setsid $home/loop >/dev/null 2>&1 </dev/null & ;;
  stop) kill -TERM "-\$(cat $home/pid)" ;;
esac
END
}

begin() {
  if has_systemd; then
    systemctl enable --quiet tw-board
    systemctl restart tw-board
  else
    setsid "$home/loop" >/dev/null 2>&1 </dev/null &
  fi
}

end() {
  if has_systemd; then
    systemctl stop tw-board 2>/dev/null || true
  elif [ -f "$home/pid" ]; then
    all=-$(cat "$home/pid")
    kill -TERM "$all" 2>/dev/null || true
    for tenth in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
      kill -0 "$all" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$all" 2>/dev/null || true
    rm -f "$home/pid"
  fi
}

is_there() {
  [ -x "$home/tw-board" ] || { echo "nothing is installed here: tw board install does" >&2; exit 1; }
}

what=$1
shift
case $what in
  look) # machine, name, root or sudo or neither, a folder for what comes
    uname -m
    uname -n
    if [ "$(id -u)" = 0 ]; then echo root; elif sudo -n true 2>/dev/null; then echo sudo; else echo neither; fi
    umask 077
    mktemp -d /tmp/tw-board.XXXXXX ;;
  take) # take FILE MODE
    umask 077
    put "$1" "$2" ;;
  install) # install FOLDER HOST PORT KEY NAME
    make_user
    end
    mkdir -p "$home"
    put "$home/tw-board" 755 <"$1/tw-board"
    umask 077
    put "$home/secret" 600 <"$1/secret"
    chown "$user" "$home/secret"
    umask 022
    write_start "$2" "$3" "$4" "$5"
    if has_systemd; then write_unit; else write_loop; fi
    begin ;;
  update) # update FOLDER
    is_there
    end
    put "$home/tw-board" 755 <"$1/tw-board"
    begin ;;
  logs) # logs LINES [-f]
    is_there
    if has_systemd; then journalctl --unit tw-board --no-pager --lines "$@"; else tail -n "$@" "$home/log"; fi ;;
  remove)
    is_there
    end
    if has_systemd; then
      systemctl disable --quiet tw-board
      rm -f "$unit"
      systemctl daemon-reload
    fi
    rm -rf "$home" "$init"
    for program in userdel deluser; do
      command -v "$program" >/dev/null || continue
      "$program" "$user"
      break
    done ;;
esac
