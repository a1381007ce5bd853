# Sourced: mount namespaces, also where / is not a mount point, as in a plain chroot. There `unshare --mount` alone fails,
# because it makes / private. What is mounted below a / that is shared would be seen outside.
#
#     has_mount_namespace DIR...       something can be mounted over these directories, unseen from outside; if not,
#                                      $no_namespace says why
#     in_mount_namespace COMMAND...    runs COMMAND in a mount namespace of its own; mounts are private where they can be
#
# $namespace_options: more options for unshare (--map-root-user).
# shellcheck shell=sh
namespace_options=

in_mount_namespace() {
    # shellcheck disable=SC2016,SC2086 # for that shell; words
    unshare --mount --propagation unchanged $namespace_options sh -c '
        mount --make-rprivate / 2>/dev/null || while read -r id parent device root dir rest; do
            mount --make-private "$dir" 2>/dev/null || :
        done </proc/self/mountinfo
        exec "$@"' sh "$@"
}

has_mount_namespace() {
    # A directory over itself hides nothing where it is seen outside.
    # shellcheck disable=SC2016 # for that shell
    no_namespace=$(in_mount_namespace sh -c 'for dir; do
            dir=$(cd "$dir" && pwd -P) && mount --bind "$dir" "$dir" || exit
            id=$(sed -n "s/^mnt_id:[^0-9]*//p" /proc/self/fdinfo/0 <"$dir")
            if grep -q "^$id .* shared:" /proc/self/mountinfo; then
                umount "$dir"
                echo "mounts over $dir would be seen outside: / is shared, but not a mount point"
                exit 1
            fi
            mount -t tmpfs none "$dir" && umount "$dir" || exit
        done' sh "$@" 2>&1) || {
        no_namespace=$(printf '%s\n' "${no_namespace:-unshare failed}" | head -n 1)
        return 1
    }
}
