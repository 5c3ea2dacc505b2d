# The HTML manual, by Sphinx: cmake --build BUILD --target manual, then BUILD/manual/html. Missing
# programs are told when it is made.

option(DUOBLAS_MANUAL "Make the HTML manual with all else, and install it" OFF)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
    set(Python3_EXECUTABLE python3)
endif()
if(DUOBLAS_MANUAL)
    set(duo_manual_wanted ALL)
    install(DIRECTORY "${PROJECT_BINARY_DIR}/manual/html" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        COMPONENT doc OPTIONAL)
endif()
if(PROJECT_IS_TOP_LEVEL OR DUOBLAS_MANUAL)
    add_custom_target(manual ${duo_manual_wanted}
        COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/docs/manual/make.py" --optional
            "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/manual"
        COMMENT "Making the HTML manual"
        VERBATIM)
endif()
