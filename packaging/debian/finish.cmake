# Run by CPack between installing into its own folders and packing them: adds what Debian's policy
# wants in each package, its copyright and its changelog, and compresses the manual pages. A build
# with CUDA has NVIDIA's runtime in its programs and shared libraries: its terms stand below the
# copyright. Archives lose what a linker does not need: nvcc notes the names of its temporary files
# there, which differ in each build.

find_program(gzip gzip REQUIRED)
find_program(strip strip REQUIRED)
string(REPEAT "-" 72 rule)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER "${component}" upper)
    set(share "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share")
    set(doc "${share}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    file(MAKE_DIRECTORY "${doc}")
    file(COPY_FILE "${CPACK_DUO_LICENSE}" "${doc}/copyright")
    if(CPACK_DUO_CUDA_TOOLKIT AND NOT component STREQUAL dev)
        # Where NVIDIA's own packages, and those for Python, have them.
        file(GLOB terms "${CPACK_DUO_CUDA_TOOLKIT}/EULA.txt"
            "${CPACK_DUO_CUDA_TOOLKIT}/dist-info/nvidia_cuda_runtime-*/licenses/*")
        if(NOT terms)
            message(FATAL_ERROR "${CPACK_DUO_CUDA_TOOLKIT} has no licence of the CUDA runtime,"
                " which is in the package")
        endif()
        list(GET terms 0 terms)
        file(READ "${terms}" text)
        file(APPEND "${doc}/copyright" "\n${rule}\nThis package contains NVIDIA's CUDA runtime"
            " (cudart_static). NVIDIA's terms for it:\n\n${text}")
    endif()
    file(COPY_FILE "${CPACK_DUO_CHANGELOG}" "${doc}/changelog.Debian")
    file(REMOVE "${doc}/LICENSE")
    file(GLOB plain "${doc}/changelog.Debian" "${share}/man/man*/*")
    execute_process(COMMAND "${gzip}" -9nf ${plain} COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB_RECURSE archives "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/lib/*.a")
    if(archives)
        execute_process(COMMAND "${strip}" --strip-unneeded --enable-deterministic-archives
            ${archives} COMMAND_ERROR_IS_FATAL ANY)
    endif()
endforeach()
