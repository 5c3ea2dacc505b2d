# cmake --install: header, libraries, tool, pkg-config modules, the CMake package and the documents.
# All of it may be moved afterwards: nothing in it names the prefix. Components: runtime (for
# running programs), dev (for building them) and tools.

set(duo_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/duoblas")
add_custom_target(duoblas_installed) # builds what is installed
add_dependencies(duoblas_installed duoblas duoblas_static duoblas_blas)
foreach(name IN ITEMS duoblas_libblas duoblas_fortran duoblas_tool)
    if(TARGET ${name})
        add_dependencies(duoblas_installed ${name})
    endif()
endforeach()

install(FILES include/duoblas.h include/duoblas.hpp include/duoblas.f90
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
install(TARGETS duoblas duoblas_static duoblas_blas EXPORT duoblasTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
if(TARGET duoblas_libblas) # beside the libraries, not among them: it is chosen by name
    install(TARGETS duoblas_libblas LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/duoblas"
        COMPONENT runtime NAMELINK_SKIP)
endif()
if(TARGET duoblas_fortran) # .mod files are of one compiler; for others the source is there
    install(TARGETS duoblas_fortran EXPORT duoblasTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
    install(FILES "${duo_fortran_folder}/duoblas.mod"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/duoblas/fortran" COMPONENT dev)
endif()
if(DUOBLAS_TOOL)
    install(TARGETS duoblas_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
endif()
install(FILES README.md CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE SECURITY.md
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev OPTIONAL)
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev OPTIONAL
    PATTERN CMakeLists.txt EXCLUDE PATTERN manual EXCLUDE PATTERN scoreboard.json EXCLUDE)
install(CODE "get_filename_component(duo_docdir
    \"${CMAKE_INSTALL_DOCDIR}\" ABSOLUTE BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")" COMPONENT dev)
install(SCRIPT cmake/InstalledLinks.cmake COMPONENT dev)

# A folder with only the archive, for pkg-config --static: from a folder with both, the linker takes
# the shared library.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/static")
file(CREATE_LINK ../../libduoblas.a "${PROJECT_BINARY_DIR}/static/libduoblas.a" SYMBOLIC)
install(FILES "${PROJECT_BINARY_DIR}/static/libduoblas.a"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/duoblas/static" COMPONENT dev)

# pkg-config. The prefix is found from where the file lies.
file(RELATIVE_PATH duo_pc_prefix
    "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" duo_pc_prefix "${duo_pc_prefix}")
set(names ${duo_static_names})
list(REMOVE_ITEM names inih) # a module of its own
set(duo_pc_libs_private)
if(duo_cuda_libraries)
    set(duo_pc_libs_private "-lcudart_static -lrt")
    # A package of the system is used on other machines, where the toolkit may be elsewhere.
    if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
        string(PREPEND duo_pc_libs_private "-L${CUDAToolkit_LIBRARY_DIR} ")
    endif()
endif()
foreach(name IN LISTS names)
    string(APPEND duo_pc_libs_private " -l${name}")
endforeach()
string(STRIP "${duo_pc_libs_private}" duo_pc_libs_private)
foreach(module IN ITEMS duoblas duoblas-folder duoblas-static duoblas-blas)
    configure_file(pkgconfig/${module}.pc.in ${module}.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${module}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)
endforeach()

# find_package(duoblas)
configure_package_config_file(cmake/duoblasConfig.cmake.in duoblasConfig.cmake
    INSTALL_DESTINATION "${duo_package_dir}")
write_basic_package_version_file(duoblasConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/duoblasConfig.cmake"
    "${PROJECT_BINARY_DIR}/duoblasConfigVersion.cmake"
    DESTINATION "${duo_package_dir}" COMPONENT dev)
install(EXPORT duoblasTargets NAMESPACE duoblas:: DESTINATION "${duo_package_dir}" COMPONENT dev)

# Takes away the files of the last cmake --install from this folder.
if(PROJECT_IS_TOP_LEVEL)
    add_custom_target(uninstall
        COMMAND "${CMAKE_COMMAND}" "-DBUILD=${PROJECT_BINARY_DIR}"
            -P "${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake"
        COMMENT "Removing what was installed"
        VERBATIM)
endif()

# The Python package's wheel (python/pyproject.toml) takes the library, the drop-in and the compiled
# module, each as one file: a wheel holds no links. Its CPU's BLAS is in the package
# scipy-openblas32, two folders above.
if(SKBUILD)
    set_target_properties(duoblas PROPERTIES
        VERSION ${duo_soversion}
        INSTALL_RPATH "$ORIGIN/../../scipy_openblas32/lib")
    set_target_properties(duoblas_blas PROPERTIES VERSION ${duo_soversion})
    install(TARGETS duoblas duoblas_blas
        LIBRARY DESTINATION duoblas/lib COMPONENT python NAMELINK_SKIP)
    install(FILES LICENSE DESTINATION "${SKBUILD_METADATA_DIR}/licenses" COMPONENT python)
    add_custom_target(duoblas_python) # by Ninja, duoblas is the tool
    add_dependencies(duoblas_python duoblas duoblas_blas)
    if(NOT TARGET duoblas_direct)
        message(FATAL_ERROR "the wheel needs the header files of Python and NumPy")
    endif()
    install(TARGETS duoblas_direct LIBRARY DESTINATION duoblas/lib COMPONENT python)
    add_dependencies(duoblas_python duoblas_direct)
endif()
