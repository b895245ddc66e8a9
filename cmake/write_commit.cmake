# Writes OUTPUT, if that changes it: what swapadvisor_commit promises. SOURCE: top folder of the source.
cmake_minimum_required(VERSION 3.25)
# A hook of git builds with these set, maybe for another repository.
foreach(variable GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX)
  unset(ENV{${variable}})
endforeach()
set(commit unknown)
# A prefix: the source was unpacked somewhere inside another repository, whose commit says nothing.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix RESULT_VARIABLE failed OUTPUT_VARIABLE prefix
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed STREQUAL "0" AND prefix STREQUAL "")
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=* OUTPUT_VARIABLE described
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(described MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// Made by cmake/write_commit.cmake.
#include <@HEADER@>

namespace @NAMESPACE@ {

const std::string_view @NAME@ = \"@commit@\";

}  // namespace @NAMESPACE@
")
