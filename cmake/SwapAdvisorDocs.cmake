# Target docs: the API reference of the installed headers, where doxygen is installed.
find_program(SWAPADVISOR_DOXYGEN doxygen)
mark_as_advanced(SWAPADVISOR_DOXYGEN)
if(NOT SWAPADVISOR_DOXYGEN)
  return()
endif()
get_property(headers GLOBAL PROPERTY SWAPADVISOR_PUBLIC_HEADERS)
set(SWAPADVISOR_DOCS_INPUT "\"${PROJECT_SOURCE_DIR}/docs/api.md\"")
foreach(header ${headers})
  string(APPEND SWAPADVISOR_DOCS_INPUT " \\\n                         \"${PROJECT_SOURCE_DIR}/${header}\"")
endforeach()
configure_file(docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
add_custom_target(docs COMMAND ${SWAPADVISOR_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
                  COMMENT "API reference in ${PROJECT_BINARY_DIR}/docs/html" VERBATIM)
