# bash completion for strata. Verbs, options and choices are taken from what `strata --help` and
# `strata VERB --help` say, so that they are always those of the strata that is completed.

# Processes of the KINDs, separated by "\|", that strata list shows.
_strata_processes()
{
    "$strata" list --format json 2>/dev/null | sed -n "s/^{\"pid\":\([0-9]*\),\"kind\":\"\($1\)\".*/\1/p"
}

# The directories of running recordings.
_strata_recordings()
{
    "$strata" list --format json 2>/dev/null |
        sed -n 's/^{"pid":[0-9]*,"kind":"recording",.*"directory":"\([^" \\]*\)".*/\1/p'
}

# strata ctl PID|NAME|DIR COMMAND [PATTERN...], strata ctl --qmp SOCKET COMMAND [PATTERN...]
_strata_ctl()
{
    local target=() command= i words=

    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -f | --format)
            [ "${COMP_WORDS[i + 1]}" = = ] && ((i++))
            ((i++))
            ;;
        --qmp) # "=" is a word of its own
            [ "${COMP_WORDS[i + 1]}" = = ] && ((i++))
            target=(--qmp "${COMP_WORDS[++i]}")
            ;;
        *)
            if [ ${#target[@]} -eq 0 ]; then
                target=("${COMP_WORDS[i]}")
            else
                command=${command:-${COMP_WORDS[i]}}
            fi
            ;;
        esac
    done
    if [ ${#target[@]} -eq 0 ]; then
        words=$(
            _strata_processes 'program\|qemu'
            _strata_recordings
        )
    elif [ -z "$command" ]; then
        words=$(printf '%s\n' "$help" | sed -n '/^    [a-z]/ { s/,.*//; s/^    \([a-z]*\).*/\1/p }' | awk '!seen[$0]++')
        words="$words off"
    else
        case $command in
        list | on | off)
            words=$("$strata" ctl "${target[@]}" list 2>/dev/null | sed 's/^[a-z]*  *\([^ ]*\).*/\1/')
            ;;
        snapshot | file)
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            compopt -o filenames 2>/dev/null
            return
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

# Offers WORDS, separated by blanks, for the last part of a list with commas.
_strata_list()
{
    local before=

    [ "${cur%,*}" = "$cur" ] || before=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
    compopt -o nospace 2>/dev/null
}

_strata()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local strata=${COMP_WORDS[0]} verb=${COMP_WORDS[1]}
    local help words i

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("$strata" --help 2>/dev/null | sed -n 's/^  \([a-z_]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words help version --help --version -V" -- "$cur")
        return
    fi
    if [ "$verb" = help ]; then
        words=$("$strata" --help 2>/dev/null | sed -n 's/^  \([a-z_]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    help=$("$strata" "$verb" --help 2>/dev/null)

    # strata record ... -- COMMAND...
    if [ "$verb" = record ]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            [ "${COMP_WORDS[i]}" = -- ] || continue
            if [ $((i + 1)) -eq "$COMP_CWORD" ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            compopt -o filenames 2>/dev/null
            return
        done
    fi

    # strata record --attach PID
    if [ "$verb" = record ] && [ "${cur#-}" = "$cur" ]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            -a | --attach)
                [ "${prev#-}" = "$prev" ] || [ "$i" -eq $((COMP_CWORD - 1)) ] || break
                words=$(_strata_processes 'program\|qemu')
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur" && compgen -f -- "$cur")
                compopt -o filenames 2>/dev/null
                return
                ;;
            esac
        done
    fi

    # --format=text|json|csv: bash splits words at the "=".
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    if [ "$verb" = record ] && [ "$prev" = --libvirt ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(virsh list --name 2>/dev/null)" -- "$cur")
        return
    fi
    case $verb:$prev in
    *:--layer)
        _strata_list 'vmm hypervisor guest host program'
        return
        ;;
    record:--for)
        _strata_list 'exits sched io irq'
        return
        ;;
    record:-e | record:--event)
        # As the installed QEMU declares them.
        words=$(sed -n 's/^\(disable \|vcpu \)*\([a-z][A-Za-z0-9_]*\)(.*/\2/p' \
            "${STRATA_EVENTS:-/usr/share/qemu/trace-events-all}" 2>/dev/null)
        _strata_list "$words"
        return
        ;;
    stat:-b | stat:--by)
        _strata_list 'event cpu task layer vcpu source-event'
        return
        ;;
    sql:-q | sql:--query)
        words=$("$strata" sql --list --format=csv 2>/dev/null | sed -n '1d; s/^\([a-z-]*\),.*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
        ;;
    esac
    if [ "${prev#-}" != "$prev" ]; then
        # A list of choices may go on in the next line.
        words=$(printf '%s\n' "$help" | sed -e ':a' -e '/|$/ { N; s/\n *//; ba' -e '}' |
            sed -n "s/^  .*${prev}[,=][^|]*=\([a-z.-]*|[a-z.|-]*\).*/\1/p; s/^  .*${prev}=\([a-z.-]*|[a-z.|-]*\).*/\1/p")
        if [ -n "$words" ]; then
            mapfile -t COMPREPLY < <(compgen -W "${words//|/ }" -- "$cur")
            return
        fi
    fi

    # Programs, commands and events of strata ctl.
    if [ "$verb" = ctl ] && [ "${cur#-}" = "$cur" ] && [ "$prev" != --qmp ]; then
        _strata_ctl
        return
    fi

    # Recordings of strata top, and directories.
    if [ "$verb" = top ] && [ "${cur#-}" = "$cur" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_strata_recordings)" -- "$cur"; compgen -d -- "$cur")
        compopt -o filenames 2>/dev/null
        return
    fi

    case $cur in
    -*)
        words=$(printf '%s\n' "$help" | sed -n 's/^  \(-.,\|   \) \(--[a-z-]*=\{0,1\}\).*/\2/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        [ "${#COMPREPLY[@]}" -eq 1 ] && [ "${COMPREPLY[0]%=}" != "${COMPREPLY[0]}" ] &&
            compopt -o nospace 2>/dev/null
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        ;;
    esac
}
# strata-agent [OPTION...] [--run COMMAND [ARGUMENT...]]
_strata_agent()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local i

    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" = --run ] || continue
        if [ $((i + 1)) -eq "$COMP_CWORD" ]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
        compopt -o filenames 2>/dev/null
        return
    done
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    case $prev in
    -k | --key | -p | --ports | -t | --tracefs)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        ;;
    -l | --listen | -c | --connect)
        mapfile -t COMPREPLY < <(compgen -W 'tcp: vsock: unix:' -- "$cur")
        compopt -o nospace 2>/dev/null
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null |
            sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p')" -- "$cur")
        ;;
    esac
}

complete -F _strata strata
complete -F _strata_agent strata-agent
