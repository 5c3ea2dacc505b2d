# Turns a text file into a C file that holds it: const char NAME[] = "...";
#
#   cmake -DINPUT=file.ini -DOUTPUT=file.c -DNAME=symbol -P EmbedText.cmake

file(READ "${INPUT}" text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
get_filename_component(source "${INPUT}" NAME)
file(WRITE "${OUTPUT}"
    "/* Made from ${source}; change that file instead. */\n"
    "extern const char ${NAME}[];\n"
    "const char ${NAME}[] =\n    \"${text}\";\n")
