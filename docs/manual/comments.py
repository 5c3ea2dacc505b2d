"""comments.py - the comments of duoblas.h, and of its sisters, as reStructuredText.

The layout of a comment, without its stars:

    duo_name - what it does, in a sentence.        one declaration, or none in the file's head

        a formula, or code                         indented by four or more

      m, n     >= 0. A parameter, or several.      indented by two; the rest of its text further
    Overlap    A section: its name takes 11        also "Since 0.1" behind three spaces
               columns, and so does the margin
               of its text.

A sentence or a bound that ends its line, although the next word had fitted into 100 columns, ends
the line on the page, too.
"""

import re
from dataclasses import dataclass, field

COLUMNS = 100
SECTION_MARGIN = 11
BREAK = "\v"  # the mark of a line that ends on the page, too

SECTION = re.compile(r"^(?=.{11}\S)([A-Z][a-z]+(?: [a-z]+)?) {2,}(\S.*)$")
ITEM = re.compile(r"^(?:  (?=\S)|(?=DUO(?:BLAS)?_\w+  ))(\S+(?:, \S+)*) {2,}(.*)$")
SINCE = re.compile(r"^(.*\S) {3}Since +(\S+)$")
NAME = re.compile(r"\b(?:duo_\w+|DUO_[A-Z0-9_]+|DUOBLAS_[A-Z_]+)\b(?:\(\)|=\w+)?")
# Where the comments say "see ...": pages.
SEE = {"Conventions": "/c/index", "Residency": "/c/residency"}


# ---- The blocks of a comment ----


@dataclass
class Block:
    kind: str  # heading, text, code, items, sections
    lines: list = field(default_factory=list)  # of items and sections: (name, lines)


def comment_lines(comment):
    """The lines of a C or Fortran comment without its marks; BREAK where one ends early."""
    raw = comment.split("\n")
    text = []
    for line, following in zip(raw, raw[1:] + [""]):
        line = re.sub(r"\s*\*/$", "", line)
        bare = re.sub(r"^(?:/\*\*?| \*/?|!) ?", "", line).rstrip()
        word = (re.sub(r"^ \*/?|^!", "", following).split() or [""])[0]
        fits = word and len(line) + 1 + len(word) <= COLUMNS
        ends = fits and (bare.endswith(".") or "|error|" in (bare.split()[:1] + [word]))
        text.append(bare + BREAK if bare and ends else bare)
    while text and not text[0]:
        text.pop(0)
    while text and not text[-1]:
        text.pop()
    return text


def indent_of(line):
    return len(line) - len(line.lstrip(" "))


def dedent(lines):
    margin = min((indent_of(line) for line in lines if line), default=0)
    return [line[margin:] for line in lines]


def split_since(lines):
    """A "Since" behind three spaces gets a line of its own."""
    for line in lines:
        found = SINCE.match(line.rstrip(BREAK))
        yield from (found[1], "Since      " + found[2]) if found else (line,)


def blocks(lines, headings=False):
    """The blocks of a comment's lines; with headings, as the file's head has them: a line above
    others that are indented by two."""
    found = []
    lines = list(split_since(lines))
    at = 0

    def take(belongs):
        nonlocal at
        begin = at
        while at < len(lines) and belongs(lines[at]):
            at += 1
        while at > begin and not lines[at - 1]:
            at -= 1
        return lines[begin:at]

    def add_entry(kind, match, below):
        if not found or found[-1].kind != kind:
            found.append(Block(kind))
        found[-1].lines.append((match[1], [match[2]] + dedent(below)))

    while at < len(lines):
        line = lines[at]
        section, item = SECTION.match(line), ITEM.match(line)
        if not line:
            at += 1
        elif section:
            at += 1
            add_entry("sections", section, take(lambda l: not l or indent_of(l) >= 8))
        elif item:
            at += 1
            add_entry("items", item, take(lambda l: l and indent_of(l) > indent_of(line)))
        elif indent_of(line) >= 4:
            code = take(lambda l: not l or indent_of(l) >= 4)
            if indent_of(line) == SECTION_MARGIN and found and found[-1].kind == "text":
                raise ValueError(f"this looks like a section, and is none: {found[-1].lines[-1]}")
            found.append(Block("code", [l.rstrip(BREAK) for l in dedent(code)]))
        elif indent_of(line) == 2:
            found.append(Block("text", dedent(take(lambda l: l and indent_of(l) == 2))))
        elif headings and at + 1 < len(lines) and indent_of(lines[at + 1]) == 2:
            found.append(Block("heading", [line.rstrip(BREAK)]))
            at += 1
            found += blocks(dedent(take(lambda l: not l or indent_of(l) >= 2)))
        else:
            at += 1
            rest = take(lambda l: l and indent_of(l) == 0 and not SECTION.match(l)
                        and not ITEM.match(l))
            found.append(Block("text", [line] + rest))
    return found


# ---- Text ----


def escaped(text):
    return re.sub(r"([\\*`|_:<>\[\]])", r"\\\1", text)


def formatted(text, names):
    """A run of words, with code, names, powers and documents marked as such."""
    mark = re.compile(
        r"`(?P<quoted>[^`]+)`"
        r"|(?P<name>" + NAME.pattern + ")"
        r"|(?P<document>docs/(?P<page>\w+/[\w-]+)\.md)"
        r"|(?<=see )(?P<see>" + "|".join(SEE) + r")\b"
        r"|(?P<code>\b\w+(?:->\w+|(?:::\w+)+|\[[^]]+\]))"
        r"|\b(?P<base>\d+)\^(?P<power>-?\d+|[a-z]\b)"
        r"|(?P<direction>\[(?:in|out|in,out)\])")
    parts, at = [], 0
    for found in mark.finditer(text):
        literal = found["quoted"] or found["code"]
        if found["name"] and re.match(r"\w+", found["name"])[0] in names:
            literal = found["name"]
        if literal:
            role = f"``{literal}``"
        elif found["document"]:
            role = f":doc:`{found['document']} </docs/{found['page']}>`"
        elif found["see"]:
            role = f":doc:`{found['see']} <{SEE[found['see']]}>`"
        elif found["base"]:
            role = f"{found['base']}\\ :sup:`{found['power']}`"
        elif found["direction"]:
            role = f":direction:`{found['direction'][1:-1]}`"
        else:
            continue
        parts += [escaped(text[at:found.start()]), "\\ ", role, "\\ "]
        at = found.end()
    return "".join(parts) + escaped(text[at:])


def paragraph(lines, names):
    pieces = [" ".join(piece.split()) for piece in " ".join(lines).split(BREAK)]
    pieces = [piece for piece in pieces if piece]
    # A bound that has its line is a formula.
    shown = [f"``{p}``" if re.match(r"^\|error\| <= [^.,;]*\.?$", p) else formatted(p, names)
             for p in pieces]
    if len(shown) == 1:
        return shown + [""]
    return [f"| {piece}" for piece in shown] + [""]


def indented(lines, by=3):
    return [" " * by + line if line else "" for line in lines]


def code_block(lines, language):
    return [f".. code-block:: {language}", ""] + indented(lines) + [""]


def terms(name_text, names, literal):
    if literal and name_text != "others":
        return ", ".join(f"``{name}``" for name in name_text.split(", "))
    return formatted(name_text, names)


def definitions(kind, entries, names):
    """Parameters, or sections, as a list of definitions that the style sheet lays out."""
    lines = [f".. rst-class:: duo-{kind}", ""]
    for name, body in entries:
        lines += [terms(name, names, kind == "items")] + indented(text_of(blocks(body), names))
    return lines


def variables(entries, names):
    """The environment: name, values behind it, and what they do behind those."""
    lines = []
    for name, body in entries:
        values, _, first = body[0].partition("   ")
        told = [f"`{values.strip()}`{BREAK}", first.strip()] + body[1:]
        lines += [f".. envvar:: {name}", ""] + indented(text_of(blocks(told), names))
    return lines


def text_of(parsed, names):
    lines = []
    for block in parsed:
        if block.kind == "heading":
            title, _, more = block.lines[0].partition(" (")
            lines += [title, "-" * len(title), ""]
            if more:
                lines += [formatted(more[0].upper() + more[1:].rstrip(")") + ".", names), ""]
        elif block.kind == "code":
            lines += code_block(block.lines, "c" if ";" in "".join(block.lines) else "none")
        elif block.kind == "text":
            lines += paragraph(block.lines, names)
        elif block.kind == "items" and block.lines[0][0].startswith("DUOBLAS_"):
            lines += variables(block.lines, names)
        else:
            lines += definitions(block.kind, block.lines, names)
    return lines


def head_text(comment, names):
    """The comment at the head of a file, without its first line, which is the title."""
    lines = [line for line in comment_lines(comment) if not line.startswith("SPDX")]
    return text_of(blocks(lines[1:], headings=True), names)
