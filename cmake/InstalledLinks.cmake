# InstalledLinks.cmake - run by the installation, with duo_docdir. Links of installed documents to
# files that are not installed become their text; those that stand alone in brackets go, and so do
# pictures.
set(link "\\[([^]]*)\\]\\((\\.\\./)*(bench|include|packaging|scripts|src|tests)(/[^)]*)?\\)")
file(GLOB_RECURSE documents "$ENV{DESTDIR}${duo_docdir}/*.md")
foreach(document IN LISTS documents)
    file(READ "${document}" text)
    string(REGEX REPLACE "!${link}\n*" "" text "${text}")
    string(REGEX REPLACE "[ \n]+\\(${link}\\)" "" text "${text}")
    string(REGEX REPLACE "${link}" "\\1" text "${text}")
    file(WRITE "${document}" "${text}")
endforeach()
