#!/usr/bin/env bash
# cmake/SwapAdvisorCommit.cmake: builds follow the commits without another configuration, touch nothing when there is no new
# one, and say "unknown" outside a checkout.
# usage: commit_test.sh SOURCE_DIR CXX
set -euo pipefail
source_dir=$1 cxx=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/swapadvisor-commit.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
fail() { echo "commit: $*" >&2; exit 1; }

project="$work/outer/a project"
mkdir -p "$project"
cat >"$project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(p LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
list(APPEND CMAKE_MODULE_PATH "$source_dir/cmake")
include(SwapAdvisorCommit)
add_executable(p main.cpp)
target_include_directories(p PRIVATE "\${PROJECT_SOURCE_DIR}")
swapadvisor_commit(p HEADER commit.h NAMESPACE some NAME commit)
END
cat >"$project/commit.h" <<'END'
#include <string_view>
namespace some { extern const std::string_view commit; }
END
cat >"$project/main.cpp" <<'END'
#include <cstdio>
#include "commit.h"
int main() { std::puts(some::commit.data()); }
END

generator=$(command -v ninja >/dev/null && echo Ninja || echo "Unix Makefiles")
cmake -S "$project" -B "$work/build" -G "$generator" -DCMAKE_CXX_COMPILER="$cxx" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
# What the program says after a build.
built() {
  cmake --build "$work/build" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
  "$work/build/p"
}
expect() { [[ $1 == "$2" ]] || fail "$3: '$1', not '$2'"; }
git_() { git -C "$project" -c user.name=t -c user.email=t@example.org "$@" >/dev/null; }
head() { git -C "$project" rev-parse --short=10 HEAD; }

expect "$(built)" unknown "no repository"
if ! command -v git >/dev/null; then
  echo "commit: no git here, checked only what a build says without one"
  exit 0
fi
git_ init -q
expect "$(built)" unknown "a repository without commits"
git_ add . && git_ commit -q -m one
first=$(head)
expect "$(built)" "$first" "the first commit"
before=$(stat -c %Y.%y "$work/build/p")
sleep 1.1
built >"$work/said"
expect "$(stat -c %Y.%y "$work/build/p")" "$before" "linked again without a reason"
git_ commit -q --allow-empty -m two
[[ $(head) != "$first" ]] || fail "the second commit is the first"
expect "$(built)" "$(head)" "a later commit, without configuring"
git_ tag -a v9 -m tagged
expect "$(built)" "$(head)" "a tag"
echo "// more" >>"$project/main.cpp"
expect "$(built)" "$(head)-dirty" "a changed file"
git_ commit -q -a -m three
expect "$(GIT_DIR=/nowhere built)" "$(head)" "built from a hook of another repository"
mkdir "$work/empty"
for tool in bash cmake make ninja "$cxx" as ld stat rm cat env sh; do
  path=$(command -v "$tool") && ln -sf "$path" "$work/empty/$(basename "$tool")"
done
expect "$(PATH=$work/empty built)" unknown "no git installed"
rm -rf "$project/.git"
expect "$(built)" unknown "a tarball"
git -C "$work/outer" init -q
expect "$(built)" unknown "unpacked inside another repository"
echo "commit: builds follow the commits"
