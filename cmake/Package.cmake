# cpack -G DEB: Debian packages of the three components, from a build by the preset deb
# (docs/guide/packages.md). packaging/debian has the files that only Debian wants.

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()

find_program(DUOBLAS_FILE file DOC "Without it cpack fails, at its end")
mark_as_advanced(DUOBLAS_FILE)
if(NOT DUOBLAS_FILE)
    message(STATUS "No Debian packages can be made: there is no command file"
        " (scripts/install-dependencies --packages installs it)")
endif()

set(duo_debian "${PROJECT_SOURCE_DIR}/packaging/debian")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME duoblas)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each component has a summary, its first line
set(CPACK_PACKAGE_CONTACT "The DuoBLAS authors <duoblas@duoblas.invalid>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_COMPONENTS_ALL runtime dev tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS "${duo_debian}/finish.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
string(REPLACE "-" "~" CPACK_DEBIAN_PACKAGE_VERSION "${duo_version}") # before the release itself
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(runtime libduoblas${duo_soversion})
set(same_version "${runtime} (= ${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(what "DuoBLAS runs sgemm, sasum, ssum and sdot where they finish first: on the CPU
or on an NVIDIA GPU.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "BLAS calls on the CPU or a GPU (libraries)
${what}
.
This package holds the library and the drop-in with BLAS's own names, which can
be chosen as the system's libblas.so.3.")
if(TARGET duoblas_libblas)
    foreach(script IN ITEMS postinst prerm)
        configure_file("${duo_debian}/${script}.in" "debian/${script}" @ONLY)
        list(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
            "${PROJECT_BINARY_DIR}/debian/${script}")
    endforeach()
endif()
list(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${duo_debian}/triggers")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libduoblas-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${same_version}, libinih-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "BLAS calls on the CPU or a GPU (development files)
${what}
.
This package holds the headers for C and C++, the Fortran module, the archive,
the files of pkg-config and CMake, the documents and the examples.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME duoblas-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "BLAS calls on the CPU or a GPU (command-line tool)
${what}
.
This package holds the tool duoblas, which measures from what size on a GPU
pays, explains choices, and runs programs on the drop-in.")

if(CMAKE_LIBRARY_ARCHITECTURE AND CMAKE_INSTALL_LIBDIR MATCHES "${CMAKE_LIBRARY_ARCHITECTURE}")
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_MULTIARCH same)
endif()

# Debian's changelog of the package; the project's own is among the documents.
string(TIMESTAMP duo_today "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file("${duo_debian}/changelog.in" debian/changelog @ONLY)
set(CPACK_DUO_CHANGELOG "${PROJECT_BINARY_DIR}/debian/changelog")
set(CPACK_DUO_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
if(DUOBLAS_CUDA)
    file(REAL_PATH "${CUDAToolkit_BIN_DIR}/.." CPACK_DUO_CUDA_TOOLKIT)
endif()

include(CPack)
