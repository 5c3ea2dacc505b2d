# Turns a profile into a C file that holds it: const duo_built_in NAME (src/choice/built_in.h).
#
#   cmake -DINPUT=file.ini -DOUTPUT=file.c -DNAME=symbol -P EmbedProfile.cmake

file(STRINGS "${INPUT}" lines REGEX "^[^;]")
set(entries "")
set(points "")
set(section "")
set(curve "")
foreach(line IN LISTS lines)
    if(line MATCHES "^\\[algorithm (.+)\\]$")
        set(curve "false, DUO_${CMAKE_MATCH_1}")
    elseif(line MATCHES "^\\[all threads (.+)\\]$")
        set(curve "true, DUO_${CMAKE_MATCH_1}")
    elseif(line MATCHES "^\\[(.+)\\]$")
        set(curve "")
        set(section "${CMAKE_MATCH_1}")
    elseif(curve AND line MATCHES "^([0-9]+) = ([0-9]+)$")
        string(APPEND points "    {${curve}, ${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}},\n")
    elseif(line MATCHES "^([^=]+) = (.+)$")
        set(name "${CMAKE_MATCH_1}")
        set(value "${CMAKE_MATCH_2}")
        string(APPEND entries "    {\"${section}\", \"${name}\", \"${value}\"},\n")
        set("${section}_${name}" "${value}")
    else()
        message(FATAL_ERROR "${INPUT}: ${line}: not understood")
    endif()
endforeach()
get_filename_component(source "${INPUT}" NAME)
file(WRITE "${OUTPUT}"
    "/* Made from ${source}; change that file instead. */\n"
    "#include \"choice/built_in.h\"\n\n"
    "static const duo_entry entries[] = {\n${entries}};\n\n"
    "static const duo_point points[] = {\n${points}};\n\n"
    "const duo_built_in ${NAME} = {\n"
    "    .cpu_id = \"${machine_cpu_id}\",\n"
    "    .threads = ${machine_threads},\n"
    "    .entry = entries,\n"
    "    .entries = sizeof entries / sizeof entries[0],\n"
    "    .point = points,\n"
    "    .points = sizeof points / sizeof points[0],\n"
    "};\n")
