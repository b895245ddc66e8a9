# swapadvisor_commit(TARGET HEADER header NAMESPACE ns NAME name): `const std::string_view NS::NAME`, the commit that the
# source is at. Looked up whenever something is built, since a configured build folder sees many commits.
function(swapadvisor_commit target)
  cmake_parse_arguments(PARSE_ARGV 1 COMMIT "" "HEADER;NAMESPACE;NAME" "")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_commit.cpp)
  add_custom_target(
    ${target}_commit
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSOURCE=${PROJECT_SOURCE_DIR} -DHEADER=${COMMIT_HEADER}
            -DNAMESPACE=${COMMIT_NAMESPACE} -DNAME=${COMMIT_NAME} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/write_commit.cmake
    BYPRODUCTS ${output}
    COMMENT "Commit of the source"
    VERBATIM)
  set_source_files_properties(${output} PROPERTIES GENERATED TRUE)
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} ${target}_commit)
endfunction()
