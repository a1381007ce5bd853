# The work of tests/layers.sh: reads the table in docs/architecture.md, whose rows look like
#
#   | `event/` | what it holds | base | jansson |
#
# (layer, contents, layers it may use, libraries besides libc), then the sources, and prints each
# include that the table does not allow. A file belongs to the longest directory of its path that has a row.
# A layer may use itself and the directories above it; a directory in the third column stands for those below
# it, too, and a file in it for itself alone; "everything" and "-" mean what they say.

BEGIN {
    n = split("assert ctype dirent dlfcn endian errno fcntl float fnmatch getopt glob inttypes limits " \
        "cpuid emmintrin linux/fs linux/futex linux/limits linux/magic locale malloc math poll pthread sched semaphore signal spawn stdalign stdarg stdatomic stdbool stddef stdint " \
        "stdio stdlib string strings syslog sys/file sys/ioctl sys/mman sys/mount sys/random sys/prctl sys/resource sys/signalfd sys/socket sys/stat sys/statfs sys/statvfs sys/syscall sys/sysinfo sys/sysmacros sys/time " \
        "grp langinfo linux/audit linux/capability linux/filter linux/landlock linux/netlink linux/openat2 linux/rtnetlink linux/seccomp linux/sock_diag linux/unix_diag pwd regex " \
        "sys/types sys/uio sys/un sys/utsname sys/wait termios time unistd wchar " \
        "arpa/inet linux/perf_event linux/vm_sockets netdb netinet/in netinet/tcp sys/epoll sys/eventfd sys/inotify sys/timerfd", names, " ")
    for (i = 1; i <= n; i++)
        libc[names[i] ".h"] = 1
    library["editline/readline.h"] = "libedit"
    library["curses.h"] = "ncurses"
    library["term.h"] = "ncurses"
    library["jansson.h"] = "jansson"
    library["microhttpd.h"] = "libmicrohttpd"
    library["pcre2.h"] = "libpcre2"
    library["xxhash.h"] = "xxhash"
    library["protobuf-c/protobuf-c.h"] = "protobuf-c"
    library["Python.h"] = "python3"
    library["structmember.h"] = "python3"
    library["curl/curl.h"] = "libcurl"
    library["sqlite3.h"] = "sqlite3"
    library["zlib.h"] = "zlib"
    library["zstd.h"] = "zstd"
    library["zstd_errors.h"] = "zstd"
    bad = 0
}

function fail(what) {
    print FILENAME ":" FNR ": " what
    bad++
}

function words(text, layer, table,    n, i, list) {
    gsub(/[`,]/, " ", text)
    n = split(text, list, " ")
    for (i = 1; i <= n; i++)
        table[layer, list[i]] = 1
}

# The layer of PATH, which is named from src/; "": none.
function layer_of(path) {
    while (sub(/\/[^\/]*$/, "", path))
        if (path in layers)
            return path
    return ""
}

function may_use(layer, used) {
    if (index(layer "/", used "/") == 1 || may[layer, "everything"])
        return 1
    do {
        if (may[layer, used])
            return 1
    } while (sub(/\/[^\/]*$/, "", used))
    return 0
}

FILENAME ~ /architecture\.md$/ {
    if (match($0, /^\| `[a-z0-9_\/]+\/` +\|/)) {
        split($0, cell, "|")
        layer = cell[2]
        gsub(/[` ]/, "", layer)
        sub(/\/$/, "", layer)
        layers[layer] = 1
        words(cell[4], layer, may)
        words(cell[5], layer, may_library)
        n_layers++
    }
    next
}

FNR == 1 {
    if (!n_layers) {
        print "docs/architecture.md holds no table of layers"
        exit 1
    }
    layer = layer_of(substr(FILENAME, length("src/") + 1))
    if (layer == "")
        fail("its directory is not in the table of docs/architecture.md")
    n_files++
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    n_includes++
    if (target ~ /^strata\//) { # the public headers
        if (!may[layer, "include"])
            fail(layer " may not use the public headers")
        next
    }
    if (target !~ /^([a-z0-9_]+\/)+[a-z0-9_]+(\.pb-c)?\.(h|inc)$/) { # .pb-c.h: what protoc-c makes
        fail("\"" target "\": name it from src/, as \"layer/file.h\"")
        next
    }
    used = layer_of(target)
    if (used == "")
        fail("\"" target "\": its directory is not in the table of docs/architecture.md")
    else if (layer != "" && !may_use(layer, used) && !may[layer, target])
        fail(layer " may not use " used)
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    target = $0
    sub(/^[^<]*</, "", target)
    sub(/>.*/, "", target)
    n_includes++
    name = library[target]
    if (name != "") {
        if (!may_library[layer, name])
            fail(layer " may not use the library " name)
    } else if (!(target in libc)) {
        fail("<" target "> is not known to be libc's; tests/layers.awk lists those that are used")
    }
}

END {
    if (bad)
        exit 1
    if (n_files < 10 || n_includes < 10) {
        print "found only " n_files " files with " n_includes " includes: is this the tree?"
        exit 1
    }
    print n_files " files, " n_includes " includes, " n_layers " layers"
}
