# swapadvisor_folder(NAME [LINK targets...]): one library per folder, every *.cpp in it. What a folder links is what
# it may include: the folder rules hold at link time.
function(swapadvisor_folder name)
  cmake_parse_arguments(FOLDER "" "" "LINK;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(excluded ${FOLDER_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  add_library(swapadvisor_${name} STATIC ${sources})
  target_include_directories(swapadvisor_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
                                                        $<INSTALL_INTERFACE:include>)
  target_link_libraries(swapadvisor_${name} PUBLIC ${FOLDER_LINK})
  swapadvisor_options(swapadvisor_${name})
endfunction()

# Warnings, sanitizers: for every target of ours.
function(swapadvisor_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                                           $<$<BOOL:${SWAPADVISOR_WERROR}>:-Werror>)
  if(SWAPADVISOR_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SWAPADVISOR_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SWAPADVISOR_SANITIZE})
  endif()
endfunction()
