# swapadvisor_embed(TARGET HEADER header NAMESPACE ns TEXT name file... [TEXT name file...]): text files as constants of a
# source file that is made when they change. Each TEXT is `const std::string_view NS::NAME`, its files one after the other.
function(swapadvisor_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 EMBED "" "HEADER;NAMESPACE" "")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cpp)
  set(texts ${EMBED_UNPARSED_ARGUMENTS})
  set(files ${texts})
  list(FILTER files INCLUDE REGEX "[.]")
  list(TRANSFORM files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(JOIN texts "|" texts)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_text.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${EMBED_HEADER} -DNAMESPACE=${EMBED_NAMESPACE}
            -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} "-DTEXTS=${texts}" -P ${script}
    DEPENDS ${files} ${script}
    COMMENT "Embedding text files in ${target}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
