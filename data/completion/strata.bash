# bash completion for strata. Verbs, options and choices are taken from what `strata --help` and
# `strata VERB --help` say, so that they are always those of the strata that is completed.

_strata()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local strata=${COMP_WORDS[0]} verb=${COMP_WORDS[1]}
    local help words

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$("$strata" --help 2>/dev/null | sed -n 's/^  \([a-z_]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words help --help --version" -- "$cur")
        return
    fi
    if [ "$verb" = help ]; then
        words=$("$strata" --help 2>/dev/null | sed -n 's/^  \([a-z_]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    help=$("$strata" "$verb" --help 2>/dev/null)

    # --format=text|json|csv: bash splits words at the "=".
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    if [ "${prev#-}" != "$prev" ]; then
        words=$(printf '%s\n' "$help" | sed -n "s/^  .*${prev}[,=][^|]*=\([a-z]*|[a-z|]*\).*/\1/p; s/^  .*${prev}=\([a-z]*|[a-z|]*\).*/\1/p")
        if [ -n "$words" ]; then
            mapfile -t COMPREPLY < <(compgen -W "${words//|/ }" -- "$cur")
            return
        fi
    fi

    case $cur in
    -*)
        words=$(printf '%s\n' "$help" | sed -n 's/^  .*\(--[a-z-]*=\{0,1\}\).*/\1/p')
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
complete -F _strata strata
