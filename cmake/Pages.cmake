# Manual pages and completions. man/make-pages writes the tool's pages, which are part of the
# sources.

install(FILES man/duoblas.3 DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT dev)
if(DUOBLAS_TOOL)
    install(FILES
        man/duoblas.1
        man/duoblas-info.1
        man/duoblas-crossover.1
        man/duoblas-explain.1
        man/duoblas-bench.1
        man/duoblas-run.1
        DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
    install(FILES completions/duoblas
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT tools)
    install(FILES completions/_duoblas
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT tools)
endif()
