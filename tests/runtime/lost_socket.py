"""A traced program whose socket is lost, as that of one which has closed all its descriptors: it cuts off who comes,
and a second later has a new socket, by which it answers who it is.

    lost_socket.py FOLDER    the directory of the sockets; says its pid when it has one"""

import os
import socket
import sys
import time

os.chdir(sys.argv[1])
NAME = str(os.getpid())


def listen():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("." + NAME)
    listener.listen()
    os.rename("." + NAME, NAME)
    return listener


lost = listen()
print(NAME, flush=True)
client, _ = lost.accept()
client.recv(100)
client.close()
os.unlink(NAME)
lost.close()
time.sleep(1)
listener = listen()
while True:
    client, _ = listener.accept()
    for request in client.makefile():
        assert request == "hello\n", request
        body = b"program remade\nversion 1\nmode discard\n"
        client.sendall(b"ok %d\n" % len(body) + body)
    client.close()
