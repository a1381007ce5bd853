# Sourced, after golden.sh. reserve_port: $port is a port of 127.0.0.1 that no other program is given, and at which one that
# asks for it may listen (with SO_REUSEADDR, as all do): a socket, in process $reserved, has it and does not listen.
# shellcheck shell=sh
# shellcheck disable=SC2034 # what others use
reserve_port() {
    : >reserved-port
    python3 -c 'import signal, socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
signal.pause()' >reserved-port &
    reserved=$!
    wait_for '[ -s reserved-port ]'
    port=$(cat reserved-port)
}
