# Sourced by every shell script of this folder before it does anything (scripts/test: for --help alone, ctest judges the rest),
# with the script's own arguments: --help prints the comment at the script's head; an option that is not in $options, and more
# or fewer other words than $words says ("LEAST MOST"), are refused.
answer_help() {
  local name word least most count=0
  name=scripts/$(basename "$0")
  for word in "$@"; do
    case $word in
      -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
      -*)
        if [[ " ${options:-} " != *" $word "* ]]; then
          echo "$name: there is no option '$word'; $name --help says what it takes" >&2
          exit 2
        fi
        ;;
      *) count=$((count + 1)) ;;
    esac
  done
  read -r least most <<< "$words"
  if ((count < least || count > most)); then
    echo "$name: found $count words, expected $least to $most; $name --help says which" >&2
    exit 2
  fi
}
answer_help "$@"
