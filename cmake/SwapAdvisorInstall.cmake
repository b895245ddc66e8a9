# What `cmake --install` gives besides the folders' libraries and headers: the program, and the package that
# `find_package(swapadvisor)` finds.
include(CMakePackageConfigHelpers)

# All folders: what a program links.
add_library(swapadvisor_all INTERFACE)
target_link_libraries(swapadvisor_all INTERFACE swapadvisor_train)
set_target_properties(swapadvisor_all PROPERTIES EXPORT_NAME swapadvisor)
add_library(swapadvisor::swapadvisor ALIAS swapadvisor_all)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/swapadvisor)
configure_package_config_file(cmake/swapadvisor-config.cmake.in ${PROJECT_BINARY_DIR}/swapadvisor-config.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before version 1 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/swapadvisor-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(TARGETS swapadvisor_all EXPORT swapadvisor-targets)
install(TARGETS swapadvisor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT swapadvisor-targets NAMESPACE swapadvisor:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/swapadvisor-config.cmake ${PROJECT_BINARY_DIR}/swapadvisor-config-version.cmake
        DESTINATION ${package_dir})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
