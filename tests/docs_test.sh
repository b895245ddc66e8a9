#!/usr/bin/env bash
# Checks the documentation: every C++ block of the walkthroughs is code of the examples, and the API reference builds
# without warnings and leaves no class, enumeration or function without a comment.
# usage: docs_test.sh SOURCE_DIR [DOXYGEN DOXYFILE]
set -euo pipefail
source_dir=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/swapadvisor-docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
complain() { echo "docs: $*" >&2; failures=$((failures + 1)); }

# One file per block, named PAGE.NUMBER.
blocks=0
for page in write_a_model write_an_op; do
  awk -v out="$work/$page" '/^```cpp$/ { file = out "." ++n; next } /^```$/ { file = "" } file { print > file }' \
    "$source_dir/docs/$page.md"
done
shopt -s nullglob
for block in "$work"/write_*; do
  blocks=$((blocks + 1))
  text=$(<"$block") found=
  for code in "$source_dir"/examples/*/*.{h,cpp}; do
    [[ $(<"$code") != *"$text"* ]] || found=yes
  done
  [[ $found ]] || complain "no example has this block of ${block##*/}: $text"
done
((blocks >= 6)) || complain "only $blocks C++ blocks in the walkthroughs"

if [[ $# -ge 3 ]]; then
  doxygen=$2 doxyfile=$3
  { cat "$doxyfile"; echo "OUTPUT_DIRECTORY = $work/reference"; } >"$work/Doxyfile"
  "$doxygen" "$work/Doxyfile" >"$work/log" 2>&1 || complain "doxygen: $(cat "$work/log")"
  [[ -s $work/reference/html/classswapadvisor_1_1Session.html ]] || complain "no page for Session in the reference"
  # The same again, listing what has no comment. Members of documented classes may go without.
  { cat "$work/Doxyfile"; printf '%s\n' 'WARN_IF_UNDOCUMENTED = YES' 'WARN_AS_ERROR = NO' 'GENERATE_HTML = NO' \
      'GENERATE_XML = YES'; } >"$work/Doxyfile.all"
  "$doxygen" "$work/Doxyfile.all" >"$work/log" 2>&1
  undocumented=$(grep 'is not documented' "$work/log" |
    grep -v -E 'of namespace swapadvisor::names|Member [a-z_]+< |Member [^ ]+.* \((variable|function|enumvalue|typedef|friend)\) of (class|struct) ' || true)
  [[ -z $undocumented ]] || complain "without a comment:"$'\n'"$undocumented"
fi
((failures == 0)) && echo "docs: $blocks blocks of the walkthroughs are code of the examples"
