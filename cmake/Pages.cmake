# Manual pages and completions. The tool's pages are made from its --help by help2man, where that is
# there and the tool can run here.

find_program(DUOBLAS_HELP2MAN help2man DOC "Makes the tool's manual pages")
mark_as_advanced(DUOBLAS_HELP2MAN)
if(DUOBLAS_TOOL AND DUOBLAS_HELP2MAN AND NOT CMAKE_CROSSCOMPILING AND NOT DUOBLAS_SANITIZE)
    set(duo_pages "${PROJECT_BINARY_DIR}/man1")
    add_custom_command(OUTPUT "${duo_pages}/duoblas.1"
        COMMAND "${PROJECT_SOURCE_DIR}/man/make-pages" "$<TARGET_FILE:duoblas_tool>"
            "${duo_version}" "${duo_pages}"
        DEPENDS duoblas_tool man/make-pages man/tool.h2m
        COMMENT "Making the tool's manual pages"
        VERBATIM)
    add_custom_target(duoblas_pages ALL DEPENDS "${duo_pages}/duoblas.1")
    add_dependencies(duoblas_installed duoblas_pages)
    install(DIRECTORY "${duo_pages}" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT tools)
elseif(DUOBLAS_TOOL AND NOT DUOBLAS_HELP2MAN)
    message(STATUS "No manual pages of the tool: there is no help2man"
        " (scripts/install-dependencies installs it)")
endif()
install(FILES man/duoblas.3 DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT dev)
if(DUOBLAS_TOOL)
    install(FILES completions/duoblas
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT tools)
    install(FILES completions/_duoblas
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT tools)
endif()
