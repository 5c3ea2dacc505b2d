#!/usr/bin/env python3
"""make.py [--optional] SOURCE BUILD - the HTML manual, in BUILD/html.

Its pages are README.md, CHANGELOG.md, CONTRIBUTING.md, docs/ and examples/ as they are, the files
that they refer to, and what comments.py and header.py make of the headers. They are put into
BUILD/pages, each at its own place, so that what they refer to is where they say. Sphinx does the
rest.

Exit status: 77 where Sphinx, MyST or Furo is missing, or 0 if --optional.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import comments
import header

MODULES = {"sphinx": "python3-sphinx", "myst_parser": "python3-myst-parser", "furo": "furo"}
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cu": "cuda", ".f90": "fortran",
             ".py": "python", ".sh": "bash"}
LINK = re.compile(r"\[([^]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


class Pages:
    def __init__(self, source, target):
        self.source, self.target = source, target
        self.todo, self.made = [], set()
        self.listed = set()  # files whose pages are in the side bar
        self.below = {}  # what is put below a page

    def write(self, name, text):
        path = self.target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.made.add(name)

    def page_of(self, file):
        """The page of a file of the source: for the headers that of their interface."""
        if file == "README.md":
            return "index.md"
        if file in ("include/duoblas.h", "include/duoblas.hpp", "include/duoblas.f90"):
            return {"h": "c/index", "hpp": "cpp", "f90": "fortran"}[file.split(".")[-1]] + ".rst"
        if Path(file).suffix in LANGUAGES or Path(file).name == "LICENSE":
            return file + ".rst"
        return file

    def linked(self, text, folder):
        """A page's text, with links to pages of files where it has links to the files."""
        def replace(found):
            path = os.path.normpath(os.path.join(folder, found[2]))
            if (self.source / path / "README.md").is_file():
                path += "/README.md"
            if (self.source / path).is_dir():
                return found[1]  # no page lists a folder
            if path.startswith("..") or not (self.source / path).is_file():
                return found[0]
            self.todo.append(path)
            page = os.path.relpath(self.page_of(path), folder or ".")
            return f"[{found[1]}]({page}{found[3] or ''})"
        return LINK.sub(replace, text)

    def add(self, file):
        page = self.page_of(file)
        if page in self.made:
            return
        source = self.source / file
        if source.suffix == ".md":
            alone = "" if file in self.listed else "---\norphan: true\n---\n\n"
            self.write(page, alone + self.linked(source.read_text(encoding="utf-8"),
                                                 os.path.dirname(file))
                       + self.below.get(file, ""))
        elif page != file:
            self.write(page, source_page(source))
        else:
            self.made.add(page)
            (self.target / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.target / page)

    def add_all(self, files):
        self.listed |= set(files)
        self.todo += files
        while self.todo:
            self.add(self.todo.pop())


def source_page(file):
    code = file.read_text(encoding="utf-8").rstrip().split("\n")
    title = file.name.replace("LICENSE", "License")
    return "\n".join([":orphan:", "", title, "=" * len(title), ""]
                     + comments.code_block(code, LANGUAGES.get(file.suffix, "text")))


def contents(title, names):
    """A part of the side bar, as MyST has it."""
    caption = [f":caption: {title}"] if title else []
    return "\n".join(["", "```{toctree}", ":hidden:", *caption, "", *names, "```", ""])


def function_list(parsed):
    """The functions by groups, each with the first sentence about it."""
    lines = ["All functions", "=============", ""]
    for group in parsed.groups:
        functions = [part for part in group.parts if header.is_function(part[1])]
        if functions:
            lines += [group.title, "-" * len(group.title), "", ".. rst-class:: duo-functions", ""]
        for comment, declaration in functions:
            name = header.name_of(declaration)
            about = " ".join(parsed.described(comment, name)[0].lines).replace(comments.BREAK, "")
            sentence = re.split(r"(?<=\.)\s", about)[0]
            lines += [f"``{name}``", "   " + comments.formatted(sentence, parsed.names), ""]
    return lines


def interface_pages(pages):
    """The C interface: a page of the header's head, one for each group, and a list of functions."""
    text = (pages.source / "include/duoblas.h").read_text(encoding="utf-8")
    parsed = header.Header(text)
    first, *groups = parsed.groups
    names = [header.page_name(group.title) for group in groups]
    lines = ["C: duoblas.h", "============", ""]
    lines += comments.head_text(parsed.head, parsed.names)
    lines += ["The header itself: :doc:`duoblas.h </include/duoblas.h>`.", ""]
    lines += ["Version", "-------", ""]
    for comment, declaration in first.parts:
        lines += parsed.entry(comment, declaration)
    lines += [".. toctree::", "   :hidden:", "", *comments.indented(["functions", *names])]
    pages.write("c/index.rst", "\n".join(lines) + "\n")
    for group, name in zip(groups, names):
        pages.write(f"c/{name}.rst", "\n".join(parsed.group_page(group)) + "\n")
    pages.write("c/functions.rst", "\n".join(function_list(parsed)) + "\n")
    pages.write("include/duoblas.h.rst", source_page(pages.source / "include/duoblas.h"))

    for name, file in (("C++", "duoblas.hpp"), ("Fortran", "duoblas.f90")):
        source_text = (pages.source / "include" / file).read_text(encoding="utf-8")
        comment = re.match(r"(?:/\*.*?\*/\n|(?:![^\n]*\n)+)", source_text, re.S)[0].rstrip()
        code = source_text[len(comment):].strip().split("\n")
        title = f"{name}: {file}"
        lines = [title, "=" * len(title), ""] + comments.head_text(comment, parsed.names)
        lines += ["The source", "----------", ""]
        lines += comments.code_block(code, LANGUAGES[Path(file).suffix])
        pages.write(pages.page_of("include/" + file), "\n".join(lines) + "\n")


def documents_of(folder, readme, source):
    """Documents in the order in which README.md lists them, and then all others."""
    listed = re.findall(rf"\]\((docs/{folder}/[\w-]+)\.md\)",
                        readme.partition("\n## Documents\n")[2])
    there = sorted(f"docs/{folder}/{file.stem}" for file in source.glob(f"docs/{folder}/*.md"))
    return list(dict.fromkeys(listed + there))


def make_pages(source, target):
    pages = Pages(source, target)
    readme = (source / "README.md").read_text(encoding="utf-8")
    documents = {folder: documents_of(folder, readme, source)
                 for folder in ("guide", "reference", "inside")}
    examples = sorted(f"examples/{file.name}" for file in source.glob("examples/*")
                      if file.suffix in LANGUAGES)
    pages.below["examples/README.md"] = contents("", [file.split("/")[1] for file in examples])
    interface_pages(pages)
    pages.write("index.md", pages.linked(readme, "")
                + contents("Guide", [*documents["guide"], "examples/README"])
                + contents("Reference", ["c/index", "cpp", "fortran", *documents["reference"],
                                         "Index <genindex>"])
                + contents("Inside", documents["inside"])
                + contents("Project", ["CHANGELOG", "CONTRIBUTING", "LICENSE"]))
    pages.add_all(["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "examples/README.md",
                   *(f"{name}.md" for name in sum(documents.values(), [])), *examples])


def main():
    source, build = (Path(argument).resolve() for argument in sys.argv[-2:])
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        print(f"The manual is left out: {sys.executable} has no {', '.join(missing)}.\n"
              f"apt-get install {' '.join(MODULES.values())}, or in an environment of Python "
              "pip install -r docs/manual/requirements.txt")
        return 0 if sys.argv[1] == "--optional" else 77
    for folder in ("pages", "html"):
        shutil.rmtree(build / folder, ignore_errors=True)
    make_pages(source, build / "pages")
    return subprocess.call([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E",
                            "-c", Path(__file__).parent, "-d", build / "doctrees",
                            build / "pages", build / "html"])


if __name__ == "__main__":
    sys.exit(main())
