# The tool, and the oracles that it shares with the tests.

add_library(duoblas_reference STATIC ${duo_reference_sources})
target_include_directories(duoblas_reference PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(duoblas_reference PUBLIC duoblas_build OpenMP::OpenMP_C)

# All of the tool except main.c: tests link the parts that they need.
add_library(duoblas_tool_parts STATIC ${duo_tool_sources})
target_link_libraries(duoblas_tool_parts PUBLIC duoblas_reference duoblas_build
    PRIVATE PkgConfig::cjson)
add_executable(duoblas_tool bench/tool/main.c)
set_target_properties(duoblas_tool PROPERTIES OUTPUT_NAME duoblas LINKER_LANGUAGE C)
set(compiler "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
if(DUOBLAS_CUDA)
    string(APPEND compiler ", nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
endif()
file(RELATIVE_PATH duo_library_folder "/prefix/${CMAKE_INSTALL_BINDIR}"
    "/prefix/${CMAKE_INSTALL_LIBDIR}")
target_compile_definitions(duoblas_tool_parts PRIVATE DUO_COMPILER="${compiler}"
    DUO_LIBRARY_FOLDER="${duo_library_folder}"
    DUO_DROP_IN="libduoblas-blas.so.${duo_soversion}")
add_custom_target(duoblas_commit
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
        "-DOUTPUT=${PROJECT_BINARY_DIR}/commit.c" "-DCOMMIT=${DUOBLAS_COMMIT}"
        -P "${PROJECT_SOURCE_DIR}/cmake/Commit.cmake"
    BYPRODUCTS "${PROJECT_BINARY_DIR}/commit.c"
    COMMENT "Looking up the commit"
    VERBATIM)
add_dependencies(duoblas_tool_parts duoblas_commit)
target_sources(duoblas_tool_parts PRIVATE "${PROJECT_BINARY_DIR}/commit.c")
target_link_libraries(duoblas_tool PRIVATE duoblas_tool_parts duoblas_static)
if(DUOBLAS_CUDA)
    # Only peers, and only for the tool; CUB's headers drag iostreams in.
    target_sources(duoblas_tool PRIVATE ${duo_tool_cuda_sources})
    target_compile_features(duoblas_tool PRIVATE cuda_std_17)
    set_target_properties(duoblas_tool PROPERTIES CUDA_EXTENSIONS OFF CUDA_RUNTIME_LIBRARY Static)
    target_compile_options(duoblas_tool PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
        $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${DUOBLAS_WERROR}>>:-Xcompiler=-Werror>
        $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${DUOBLAS_WERROR}>>:--Werror=all-warnings>)
    target_link_libraries(duoblas_tool PRIVATE stdc++)
else()
    target_sources(duoblas_tool PRIVATE bench/reference/exact_product_none.c)
endif()
