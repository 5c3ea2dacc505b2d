# Sets duo_commit to the short commit of the sources, "unknown" where git or its folder is missing.
# Measurements carry it. A new commit makes CMake configure again.

set(duo_commit unknown)
find_package(Git QUIET)
if(DUOBLAS_COMMIT)
    set(duo_commit "${DUOBLAS_COMMIT}")
elseif(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
    execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --short HEAD
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed)
        set(duo_commit "${found}")
    endif()
    if(EXISTS "${PROJECT_SOURCE_DIR}/.git/logs/HEAD")
        set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
            CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.git/logs/HEAD")
    endif()
endif()
