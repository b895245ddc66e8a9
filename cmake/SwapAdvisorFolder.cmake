# swapadvisor_folder(NAME [LINK targets...] [INTERNAL headers...]): one library per folder, every *.cpp in it. What a
# folder links is what it may include: the folder rules hold at link time. Installed as swapadvisor::NAME with its
# headers, except the INTERNAL ones.
function(swapadvisor_folder name)
  cmake_parse_arguments(FOLDER "" "" "LINK;EXCLUDE;INTERNAL" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(excluded ${FOLDER_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  add_library(swapadvisor_${name} STATIC ${sources})
  add_library(swapadvisor::${name} ALIAS swapadvisor_${name})
  target_include_directories(swapadvisor_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(swapadvisor_${name} PUBLIC cxx_std_20)
  target_link_libraries(swapadvisor_${name} PUBLIC ${FOLDER_LINK})
  swapadvisor_options(swapadvisor_${name})

  set_target_properties(swapadvisor_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS swapadvisor_${name} EXPORT swapadvisor-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  foreach(internal ${FOLDER_INTERNAL})
    list(REMOVE_ITEM headers ${CMAKE_CURRENT_SOURCE_DIR}/${internal})
  endforeach()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/swapadvisor/${folder})
  foreach(header ${headers})
    file(RELATIVE_PATH header ${PROJECT_SOURCE_DIR} ${header})
    set_property(GLOBAL APPEND PROPERTY SWAPADVISOR_PUBLIC_HEADERS ${header})
  endforeach()
endfunction()

# swapadvisor_header_only(NAME target): a header-only library that the sources of folder NAME use and its headers do not:
# nobody who links the installed folder needs it.
function(swapadvisor_header_only name target)
  target_link_libraries(swapadvisor_${name} PRIVATE $<BUILD_INTERFACE:${target}>)
endfunction()

# Warnings, sanitizers: for every target of ours.
function(swapadvisor_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                                           $<$<BOOL:${SWAPADVISOR_WERROR}>:-Werror>)
  if(SWAPADVISOR_SANITIZE)
    # GCC's check for uninitialized variables misfires in instrumented code of the standard library.
    target_compile_options(${target} PRIVATE -fsanitize=${SWAPADVISOR_SANITIZE} -fno-omit-frame-pointer
                                             $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PUBLIC -fsanitize=${SWAPADVISOR_SANITIZE})
  endif()
endfunction()
