"""conf.py - how Sphinx makes the manual's pages (see make.py)."""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

here = Path(__file__).parent

project = "DuoBLAS"
version = re.search('DUO_VERSION_STRING "(.+?)"', (here / "../../include/duoblas.h").read_text())[1]
html_title = f"DuoBLAS {version}"
extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "none"
smartquotes = False
rst_prolog = """
.. role:: direction
"""

html_theme = "furo"
html_static_path = [str(here / "static")]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_domain_indices = False


class LinkNames(SphinxTransform):
    """Names of the interface that stand as code in a text become links to what they name."""

    default_priority = 200

    def apply(self):
        for literal in list(self.document.findall(nodes.literal)):
            name = re.fullmatch(r"(duo_\w+|DUO_\w+|DUOBLAS_\w+)(?:\(.*\)|=\S+)?",
                                literal.astext())
            if not name or isinstance(literal.parent, (nodes.reference, addnodes.pending_xref)):
                continue
            variable = name[1].startswith("DUOBLAS_")
            link = addnodes.pending_xref(
                "", refdomain="std" if variable else "c",
                reftype="envvar" if variable else "identifier", reftarget=name[1],
                refdoc=self.env.docname, refwarn=False)
            literal.replace_self(link)
            link += literal


def setup(app):
    app.add_transform(LinkNames)
