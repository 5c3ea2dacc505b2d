"""layers.py SOURCE BUILD - who may know whom in src/, as docs/inside/architecture.md says it.

Reads every #include of src/ and, by nm, the symbols of the objects in BUILD. Fails if a file names
one of a higher layer, if src/cpu and src/gpu name each other, if the drop-in names more than the
public header and host/elf.h, which is all inline, if modules (a .c or .cu with the .h of its name)
stand in a circle, or if a header declares what another module defines.
"""

import os
import re
import subprocess
import sys

# From the top. Modules in one tuple do not know each other.
LAYERS = [('blas', 'graph'), ('api',), ('call',), ('choice',), ('data',), ('cpu', 'gpu'),
          ('host',), ('',)]
RANK = {folder: i for i, layer in enumerate(LAYERS) for folder in layer}
INLINE_FOR_ALL = 'host/elf.h'
ENDINGS = ('.c', '.h', '.cu', '.cuh')


def layer_of(path):
    """The folder of src/ that a path relative to it is in; '' is src/ itself."""
    return path.split('/')[0] if '/' in path else ''


def module_of(path):
    """device.c, device.cu and device.h are one module."""
    return re.sub(r'\.\w+$', '', path)


def sources(root):
    found = []
    for folder, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(folder, n), root) for n in names
                  if n.endswith(ENDINGS)]
    return sorted(found)


def may_name(here, there):
    """May a file of the layer `here` name what is in the layer `there`?"""
    if here == 'blas':
        return there == 'blas'
    return here == there or RANK[there] > RANK[here]


def circles(edges):
    """The modules that can be reached from themselves."""
    def reach(start):
        seen, left = set(), list(edges.get(start, ()))
        while left:
            module = left.pop()
            if module not in seen:
                seen.add(module)
                left += edges.get(module, ())
        return seen
    return sorted(m for m in edges if m in reach(m))


def includes(root, paths):
    for path in paths:
        with open(os.path.join(root, path), encoding='utf-8') as file:
            for line in file:
                named = re.match(r'\s*#include "([^"]+)"', line)
                if named:
                    yield path, named.group(1)


def objects(build, paths):
    """Objects of the library's C sources with every symbol visible, and of CUDA: path, source. A
    build folder may still have those of sources that are gone."""
    for target in ('duoblas_internal_objects', 'duoblas_cuda'):
        root = os.path.join(build, 'CMakeFiles', target + '.dir', 'src')
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                origin = os.path.relpath(path, root)[:-len('.o')]
                if name.endswith('.o') and origin in paths:
                    yield path, origin


def symbols(path):
    """Global duo_ symbols that an object defines, and those that it takes from others."""
    out = subprocess.run(['nm', '-g', '--format=posix', path], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    defined, taken = set(), set()
    for line in out.splitlines():
        name, kind = line.split()[:2]
        if name.startswith('duo_'):
            (taken if kind == 'U' else defined).add(name)
    return defined, taken


def main(source, build):
    root = os.path.join(source, 'src')
    paths = sources(root)
    wrong, edges, checked = [], {}, 0

    for path, named in includes(root, paths):
        if named not in paths:
            if named != 'duoblas.h':
                wrong.append(f'{path}: there is no src/{named}; includes are by path from src/')
            continue
        checked += 1
        if named == INLINE_FOR_ALL:
            continue
        if not may_name(layer_of(path), layer_of(named)):
            wrong.append(f'{path} includes {named}, of a layer it may not know')
        if module_of(path) != module_of(named):
            edges.setdefault(module_of(path), set()).add(module_of(named))

    home, takes = {}, {}
    for path, origin in objects(build, paths):
        defined, taken = symbols(path)
        home.update((name, origin) for name in defined)
        takes[origin] = taken
    for origin, taken in takes.items():
        for name in taken & home.keys():
            checked += 1
            if not may_name(layer_of(origin), layer_of(home[name])):
                wrong.append(f'{origin} takes {name} of {home[name]}, of a layer it may not know')
            if module_of(origin) != module_of(home[name]):
                edges.setdefault(module_of(origin), set()).add(module_of(home[name]))
    round_about = circles(edges)
    wrong += [f'{module} includes or calls itself by way of others' for module in round_about]

    declared = re.compile(r'^[a-z][\w \*]*?\b(duo_\w+)\(', re.M)
    for path in paths:
        # A header without a source of its own declares functions of several sources.
        if not any(path == module_of(p) + '.h' for p in paths if p.endswith(('.c', '.cu'))):
            continue
        with open(os.path.join(root, path), encoding='utf-8') as file:
            text = file.read()
        for name in declared.findall(text):
            if name in home and module_of(home[name]) != module_of(path):
                wrong.append(f'{path} declares {name}, which {home[name]} defines')

    for line in sorted(set(wrong)):
        print(line)
    print(f'{len(paths)} files, {len(takes)} objects, {checked} names: '
          f'{len(round_about)} in circles, {len(set(wrong))} wrong')
    return 1 if wrong or not takes or checked < 200 else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
