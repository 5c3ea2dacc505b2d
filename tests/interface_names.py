"""interface_names.py FOLDER - the names that stay in all of 1.x (docs/reference/stability.md).

test_tool_interface.sh puts the tool's answers and some sources into FOLDER. Their names are written
to FOLDER/tool.txt, FOLDER/duoblas.hpp.txt and FOLDER/duoblas.f90.txt, one a line:

    option explain --path=auto      with a value, where the help lists all of them
    json crossover cases[].n        [] is every element of a list
    csv crossover 1 operation       the first column
    duo::context::set_path          public members, also those of a base in duo::detail
    duo_sgemm(beta=)                an argument; in Fortran its name is part of the interface
"""

import csv
import json
import os
import re
import sys

# ---- The tool ----


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def tool_options(folder):
    """Commands and options of the help texts, each in a file of its command's name."""
    for command in os.listdir(os.path.join(folder, 'help')):
        yield 'command ' + command
        options = re.findall(r'^ +(?:(-\w), )?(--[a-z-]+)(\[?)(=?)(\S*)',
                             read(folder, 'help', command), re.M)
        for short, name, optional, takes, value in options:
            name = '%s %s' % (command, name)
            if short:
                yield 'option %s %s' % (command, short)
            yield 'option %s%s' % (name, '[=]' if optional else takes)
            values = value.replace('[,...]', '').split('|')
            if takes and all(re.fullmatch('[a-z0-9-]+', word) for word in values):
                yield from ('option %s=%s' % (name, word) for word in values)


def variables(folder):
    """Our variables of the table, but for those of scripts, and their values."""
    for line in read(folder, 'environment.md').splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if len(cells) == 5 and cells[0].startswith('`DUOBLAS_') and cells[4] != 'scripts':
            name = cells[0].strip('`')
            yield 'variable ' + name
            yield from ('variable %s=%s' % (name, value)
                        for value in re.findall('`([^`]*)`', cells[1]))


def key_paths(value, path=''):
    """The environment's keys are variables."""
    if isinstance(value, list):
        for item in value:
            yield from key_paths(item, path + '[]')
    elif isinstance(value, dict):
        for key, item in value.items():
            where = '%s.%s' % (path, key) if path else key
            yield where
            if where != 'environment':
                yield from key_paths(item, where)


def tool_names(folder):
    yield from tool_options(folder)
    yield from variables(folder)
    for name in os.listdir(folder):
        command = re.split('[-.]', name)[0]
        if name.endswith('.json'):
            yield from ('json %s %s' % (command, path)
                        for path in key_paths(json.loads(read(folder, name))))
        if name.endswith('.csv'):
            lines = [x for x in read(folder, name).splitlines() if not x.startswith('#')]
            for i, column in enumerate(next(csv.reader(lines)), start=1):
                yield 'csv %s %d %s' % (command, i, column)


# ---- duoblas.hpp ----

OPENING, CLOSING = '([{<', ')]}>'


class Tokens:
    """Words and signs of C++, without comments, preprocessor and literals."""

    def __init__(self, text):
        text = re.sub(r'/\*.*?\*/|//[^\n]*|^ *#(?:[^\n]*\\\n)*[^\n]*', ' ', text,
                      flags=re.S | re.M)
        text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'', '0', text)
        self.all = re.findall(r'\w+|::|->|&&|[^\w\s]', text)
        self.at = 0

    def next(self):
        self.at += 1
        return self.all[self.at - 1]

    def skip_braces(self):
        """From behind the opening one."""
        depth = 1
        while depth > 0:
            depth += {'{': 1, '}': -1}.get(self.next(), 0)

    def head(self):
        """A declaration up to its ; or body, or to the } of its scope; and that sign."""
        taken, depth = [], 0
        while True:
            token = self.next()
            if depth == 0 and token in (';', '{', '}'):
                return taken, token
            depth += {'(': 1, ')': -1}.get(token, 0)
            taken.append(token)
            if taken in (['public', ':'], ['private', ':'], ['protected', ':']):
                return taken, ':'


def outside(tokens):
    """The tokens outside all brackets, and each outermost opening one."""
    depth, kept = 0, []
    for token in tokens:
        if token in OPENING:
            if depth == 0:
                kept.append(token)
            depth += 1
        elif token in CLOSING:
            depth -= 1
        elif depth == 0:
            kept.append(token)
    return kept


def without_template(tokens):
    while tokens and tokens[0] == 'template':
        depth = 0
        for i, token in enumerate(tokens[1:], start=1):
            depth += {'<': 1, '>': -1}.get(token, 0)
            if depth == 0:
                break
        tokens = tokens[i + 1:]
    return tokens


def declared(tokens):
    """The names that a declaration of functions or variables brings."""
    if tokens[-2:] == ['=', 'delete']:
        return []
    if 'operator' in tokens:
        rest = tokens[tokens.index('operator') + 1:]
        return ['operator ' + ' '.join(rest[:rest.index('(', 1)])]
    kept = outside(tokens)
    if kept[:1] in (['using'], ['friend'], ['static_assert']):
        return [kept[1]] if kept[0] == 'using' and '=' in kept else []
    if '(' in kept and '=' not in kept[:kept.index('(')]:
        before = kept[:kept.index('(')]
        return [] if '~' in before else before[-1:]
    names, name, value = [], None, False
    for token in kept + [',']:
        if token == ',':
            names.append(name)
            value = False
        elif token == '=':
            value = True
        elif re.fullmatch(r'[A-Za-z_]\w*', token) and not value:
            name = token
    return names


def scan(tokens, scope, found, bases, hidden=False, of=None):
    """Notes the names of a scope that is open: its own, and those of scopes in it."""
    while tokens.at < len(tokens.all):
        head, end = tokens.head()
        if end == ':':
            hidden = head[0] != 'public'
            continue
        if end == '}':
            return
        plain = without_template(head)
        kind = next((word for word in outside(plain) if word in ('namespace', 'class', 'struct')),
                    None)
        if kind == 'namespace':
            inner = scope + [plain[-1]]
            found.add('namespace ' + '::'.join(inner))
            scan(tokens, inner, found, bases)
        elif kind is not None and '(' not in outside(plain):
            name = '::'.join(scope + [plain[plain.index(kind) + 1]])
            if not hidden:
                found.add(name)
            base = re.search(r': public (detail :: \w+)', ' '.join(plain))
            if base:
                bases[name] = 'duo::' + base[1].replace(' ', '')
            if end == '{':
                scan(tokens, name.split('::'), found if not hidden else set(), bases,
                     kind == 'class', name.split('::')[-1])
                tokens.head()  # the ; behind it
        else:
            if end == '{':
                tokens.skip_braces()
            for name in declared(plain):
                if not hidden and name != of:
                    found.add('::'.join(scope + [name]))
            alias = re.match(r'using (\w+) = (detail :: \w+)', ' '.join(plain))
            if alias:
                bases['::'.join(scope + [alias[1]])] = 'duo::' + alias[2].replace(' ', '')


def hpp_names(folder):
    tokens, found, bases = Tokens(read(folder, 'duoblas.hpp')), set(), {}
    while tokens.at < len(tokens.all):
        scan(tokens, [], found, bases)
    for name, base in bases.items():
        found |= {name + x[len(base):] for x in found if x.startswith(base + '::')}
    return {name for name in found if re.search(r'\bduo\b(?!::detail\b)', name)}


# ---- duoblas.f90 ----


def entities(text):
    """The names of a list behind ::."""
    bare = re.sub(r'\([^)]*\)', '', text)
    return [re.sub('=.*', '', part).strip() for part in bare.split(',')]


def f90_names(folder):
    text = re.sub(r'!.*', '', read(folder, 'duoblas.f90'))
    text = re.sub(r'&\s*\n\s*&?', '', text)
    arguments = {name: entities(inside) for name, inside in
                 re.findall(r'(?:subroutine|function) (\w+)\(([^)]*)\)', text)}
    generic = {name: entities(inside) for name, inside in
               re.findall(r'interface (\w+)\n\s*module procedure ([^\n]*)', text)}
    for name in entities(','.join(re.findall(r'\bpublic\b[^:\n]*:: *([^\n]*)', text))):
        yield name
        for specific in generic.get(name, [name]):
            yield from ('%s(%s=)' % (name, argument) for argument in arguments.get(specific, [])
                        if argument)
    for name, inside in re.findall(r'type,[^:\n]*public :: (\w+)\n(.*?)end type', text, re.S):
        for line in inside.splitlines():
            if '::' in line:
                yield from ('%s%%%s' % (name, part) for part in entities(line.split('::')[1]))


def main(folder):
    for file, names in (('tool.txt', tool_names), ('duoblas.hpp.txt', hpp_names),
                        ('duoblas.f90.txt', f90_names)):
        lines = sorted(set(names(folder)))
        with open(os.path.join(folder, file), 'w', encoding='utf-8') as to:
            to.writelines(line + '\n' for line in lines)


main(sys.argv[1])
