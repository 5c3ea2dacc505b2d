"""header.py - the groups and declarations of duoblas.h as reStructuredText."""

import re
from dataclasses import dataclass, field

from comments import blocks, code_block, comment_lines, indented, text_of


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
    """A header, read, and what the pages say of it."""

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
        parsed = self.described(comment, name)
        sections = {section for block in parsed if block.kind == "sections"
                    for section, _ in block.lines}
        if is_function(declaration) and "Since" not in sections:
            raise ValueError(f"the comment of {name} has no section Since")
        body = text_of(parsed, self.names)
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


def page_name(title):
    """The page of a group: its first word."""
    return re.sub(r"\W.*", "", title).lower()
