"""header.py - the comments of duoblas.h, and of its sisters, as reStructuredText.

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


def entry(first, rest):
    """The lines of an item or section: those below it are indented further."""
    return [first] + dedent(rest)


def blocks(lines, headings=False):
    """The blocks of a comment's lines; with headings, as the file's head has them: a line above
    others that are indented by two."""
    found = []
    lines = list(split_since(lines))
    at = 0

    def take(while_true):
        nonlocal at
        begin = at
        while at < len(lines) and while_true(lines[at]):
            at += 1
        while at > begin and not lines[at - 1]:
            at -= 1
        return lines[begin:at]

    def add_entry(kind, name, entry_lines):
        if not found or found[-1].kind != kind:
            found.append(Block(kind))
        found[-1].lines.append((name, entry_lines))

    while at < len(lines):
        line = lines[at]
        section, item = SECTION.match(line), ITEM.match(line)
        if not line:
            at += 1
        elif section:
            at += 1
            add_entry("sections", section[1],
                      entry(section[2], take(lambda l: not l or indent_of(l) >= 8)))
        elif item:
            at += 1
            add_entry("items", item[1],
                      entry(item[2], take(lambda l: l and indent_of(l) > indent_of(line))))
        elif indent_of(line) >= 4:
            code = take(lambda l: not l or indent_of(l) >= 4)
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
        r"|(?P<document>docs/(?P<page>[\w-]+)\.md)"
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


# ---- The declarations of the header ----


@dataclass
class Group:
    title: str
    about: str = ""  # its comment
    parts: list = field(default_factory=list)  # (comment or "", declaration)


GROUP = re.compile(r"/\* ---- (.*?) -+ \*/\n")
SKIPPED = re.compile(r"#if(?:def)? .*?\n#endif.*?\n|#(?:include|ifndef|endif).*?\n", re.S)
DEFINE = re.compile(r"#define (?:.*\\\n)*.*\n")
COMMENT = re.compile(r"/\*.*?\*/\n", re.S)


def declaration_end(text, at):
    """Behind the semicolon that no brace, parenthesis or comment encloses."""
    depth = 0
    for found in re.compile(r"/\*.*?\*/|[{}();]", re.S).finditer(text, at):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(found[0], 0)
        if found[0] == ";" and depth == 0:
            return found.end()
    raise ValueError("a declaration does not end: " + text[at:at + 60])


def read(text):
    """The comment at the head of a C header, and its groups."""
    head = COMMENT.match(text)
    groups = [Group("Version")]
    at, comment = head.end(), ""
    while at < len(text):
        if text[at] == "\n":
            at, comment = at + 1, ""
        elif group := GROUP.match(text, at):
            at = group.end()
            groups.append(Group(group[1]))
            if about := COMMENT.match(text, at):
                groups[-1].about, at = about[0].rstrip(), about.end()
        elif found := COMMENT.match(text, at):
            comment, at = found[0].rstrip(), found.end()
        elif found := SKIPPED.match(text, at):
            at, comment = found.end(), ""
        elif found := DEFINE.match(text, at):
            at = found.end()
            groups[-1].parts.append((comment, found[0].rstrip()))
            comment = ""
        else:
            end = declaration_end(text, at)
            groups[-1].parts.append((comment, text[at:end]))
            at, comment = end, ""
    return head[0].rstrip(), groups


def name_of(declaration):
    if found := re.match(r"#define (\w+)", declaration):
        return found[1]
    if found := re.match(r"typedef .*?\(\*(\w+)\)\(", declaration):
        return found[1]
    if declaration.startswith("typedef"):
        return re.search(r"(\w+);$", declaration)[1]
    return re.search(r"(\w+)\(", declaration)[1]


def is_function(declaration):
    return declaration.startswith("DUO_API")


def enumerators_of(declaration, statuses):
    """(name, value or "", comment or "") of an enumeration."""
    body = declaration[declaration.index("{"):]
    if "DUO_STATUS_LIST" in body:
        return statuses
    return re.findall(r"(DUO_\w+)(?: = (-?\d+))?,?(?: */\* *(.*?) *\*/)?", body)


class Header:
    """A header, read; pages() makes its pages."""

    def __init__(self, text):
        self.head, self.groups = read(text)
        self.statuses = [(name, value, text.replace('"', "")) for name, value, text in
                         re.findall(r'X\((DUO_\w+), (-?\d+), ("[^"]*")\)', text)]
        self.names = set(re.findall(r"^ \*   (DUOBLAS_[A-Z_]+) ", text, re.M))
        for group in self.groups:
            group.parts = [part for part in group.parts
                           if name_of(part[1]) not in ("DUOBLAS_H", "DUO_API", "DUO_STATUS_LIST")]
            for _, declaration in group.parts:
                self.names.add(name_of(declaration))
                if declaration.startswith("typedef enum"):
                    self.names |= {e[0] for e in enumerators_of(declaration, self.statuses)}

    def described(self, comment, name):
        """What a comment says, without the name that a function's begins with."""
        lines = comment_lines(comment) if comment else []
        if lines and lines[0].startswith(name + " - "):
            first = lines[0].removeprefix(name + " - ")
            lines[0] = first if first.startswith("DUO") else first[0].upper() + first[1:]
        return blocks(lines)

    def enumeration(self, comment, declaration):
        name = name_of(declaration)
        parsed = self.described(comment, name)
        told = {item: lines for block in parsed if block.kind == "items"
                for item, lines in block.lines}
        lines = [f".. c:enum:: {name}", ""]
        lines += indented(text_of([b for b in parsed if b.kind != "items"], self.names))
        for member, value, text in enumerators_of(declaration, self.statuses):
            lines += [f"   .. c:enumerator:: {member}" + (f" = {value}" if value else ""), ""]
            about = blocks(told[member]) if member in told else blocks([text] if text else [])
            lines += indented(text_of(about, self.names), 6)
        return lines

    def entry(self, comment, declaration):
        name = name_of(declaration)
        if declaration.startswith("typedef enum"):
            return self.enumeration(comment, declaration)
        body = text_of(self.described(comment, name), self.names)
        flat = " ".join(declaration.split()).rstrip(";")
        if is_function(declaration):
            signature = "c:function:: " + flat.removeprefix("DUO_API ")
        elif declaration.startswith("#define"):
            signature = "c:macro:: " + name
            body += code_block(declaration.split("\n"), "c")
        elif "{" in declaration:
            signature = "c:struct:: " + name
            body += code_block(declaration.split("\n"), "c")
        elif declaration.startswith("typedef struct"):
            signature = "c:struct:: " + name
        else:
            signature = "c:type:: " + flat.removeprefix("typedef ")
        return [".. " + signature, ""] + indented(body)

    def group_page(self, group):
        lines = [group.title, "=" * len(group.title), ""]
        if group.about:
            lines += text_of(blocks(comment_lines(group.about)), self.names)
        for comment, declaration in group.parts:
            lines += self.entry(comment, declaration) + [""]
        return lines

    def head_text(self, comment=None):
        lines = [line for line in comment_lines(comment or self.head)
                 if not line.startswith("SPDX")]
        return text_of(blocks(lines[1:], headings=True), self.names)


def page_name(title):
    return re.sub(r"\W.*", "", title).lower()
