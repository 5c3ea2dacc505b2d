# Run at every build, as cmake -DSOURCE=FOLDER -DOUTPUT=FILE [-DCOMMIT=NAME] -P Commit.cmake: writes
# a C file that holds the short commit of the sources, with -dirty behind it where tracked files
# differ from it, or "unknown" where git or its folder is missing. Measurements carry it. The file
# stays as it is if nothing has changed.

set(commit unknown)
find_package(Git QUIET)
if(COMMIT)
    set(commit "${COMMIT}")
elseif(GIT_FOUND AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --exclude=*
        WORKING_DIRECTORY "${SOURCE}"
        OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed)
        set(commit "${found}")
    endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
/* Made by cmake/Commit.cmake. */
extern const char duo_tool_commit[];
const char duo_tool_commit[] = "@commit@";
]] @ONLY)
