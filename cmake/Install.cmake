# cmake --install: header, libraries, tool, pkg-config modules, the CMake package and the documents.
# All of it may be moved afterwards: nothing in it names the prefix.

set(duo_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/duoblas")

install(FILES include/duoblas.h include/duoblas.hpp include/duoblas.f90
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS duoblas duoblas_static duoblas_blas EXPORT duoblasTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET duoblas_libblas) # beside the libraries, not among them: it is chosen by name
    install(TARGETS duoblas_libblas LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/duoblas"
        NAMELINK_SKIP)
endif()
if(TARGET duoblas_fortran) # .mod files are of one compiler; for others the source is there
    install(TARGETS duoblas_fortran EXPORT duoblasTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(FILES "${duo_fortran_folder}/duoblas.mod"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/duoblas/fortran")
endif()
install(TARGETS duoblas_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES README.md CHANGELOG.md CITATION.cff LICENSE SECURITY.md
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)
install(DIRECTORY docs examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL
    PATTERN CMakeLists.txt EXCLUDE)

# pkg-config. The prefix is found from where the file lies.
file(RELATIVE_PATH duo_pc_prefix
    "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" duo_pc_prefix "${duo_pc_prefix}")
set(names ${duo_static_names})
list(REMOVE_ITEM names inih) # a module of its own
set(duo_pc_libs_private)
if(duo_cuda_libraries)
    set(duo_pc_libs_private "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
endif()
foreach(name IN LISTS names)
    string(APPEND duo_pc_libs_private " -l${name}")
endforeach()
string(STRIP "${duo_pc_libs_private}" duo_pc_libs_private)
foreach(module IN ITEMS duoblas duoblas-static duoblas-blas)
    configure_file(pkgconfig/${module}.pc.in ${module}.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${module}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# find_package(duoblas)
configure_package_config_file(cmake/duoblasConfig.cmake.in duoblasConfig.cmake
    INSTALL_DESTINATION "${duo_package_dir}")
write_basic_package_version_file(duoblasConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/duoblasConfig.cmake"
    "${PROJECT_BINARY_DIR}/duoblasConfigVersion.cmake"
    DESTINATION "${duo_package_dir}")
install(EXPORT duoblasTargets NAMESPACE duoblas:: DESTINATION "${duo_package_dir}")
