import sys
from pathlib import Path

# Attempts of a Monty program to get out. See README.md. Paths are put together,
# since a request that spells them is refused before it runs.
tried = 0
slash = chr(47)


def say(name, got, want):
    print(name + ' | ' + got + ' | ' + want)


def host(*parts):
    return slash + slash.join(parts)


# What must work: else the refusals below would mean nothing.
tried += 1
Path(host('out', 'control')).write_text('control')
got = Path(host('in', 'control')).read_text() + Path(host('out', 'control')).read_text()
say('control', got, 'inputcontrol')

for name, path in [
    ('passwd', host('etc', 'passwd')),
    ('shadow', host('etc', 'shadow')),
    ('environ', host('proc', 'self', 'environ')),
    ('init-environ', host('proc', '1', 'environ')),
    ('memory', host('proc', 'self', 'mem')),
    ('maps', host('proc', 'self', 'maps')),
    ('gate-job', host('gate', 'job.json')),
    ('init-program', host('gate-init')),
    ('interpreter', host('usr', 'bin', 'monty')),
    ('sysrq', host('proc', 'sysrq-trigger')),
    ('null', host('dev', 'null')),
    ('dotdot', host('in', '..', 'etc', 'passwd')),
    ('dotdot-out', host('out', '..', '..', 'etc', 'passwd')),
    ('double-slash', slash + host('etc', 'passwd')),
    ('dot', host('in', '.', '..', 'gate', 'job.json')),
    ('relative', '..' + host('etc', 'passwd')),
    ('nul', host('in', chr(0), 'x')),
    ('tmp', host('tmp', 'x')),
    ('prefix', host('input')),
    ('prefix-out', host('output')),
]:
    tried += 1
    try:
        Path(path).read_text()
        say('read-' + name, 'POSSIBLE', 'refused')
    except Exception as e:
        say('read-' + name, 'refused', 'refused')
    tried += 1
    try:
        Path(path).write_text('x')
        say('write-' + name, 'POSSIBLE', 'refused')
    except Exception as e:
        say('write-' + name, 'refused', 'refused')
    tried += 1
    try:
        with open(path) as f:
            f.read()
        say('open-' + name, 'POSSIBLE', 'refused')
    except Exception as e:
        say('open-' + name, 'refused', 'refused')
    tried += 1
    try:
        found = Path(path).exists()
        say('exists-' + name, 'POSSIBLE' if found else 'no', 'no|refused')
    except Exception as e:
        say('exists-' + name, 'refused', 'no|refused')

tried += 1
try:
    Path(host('in', 'new')).write_text('x')
    say('write-in', 'POSSIBLE', 'refused')
except Exception as e:
    say('write-in', 'refused', 'refused')
tried += 1
try:
    Path(host('out')).rename(Path(host('in', 'out')))
    say('rename-out', 'POSSIBLE', 'refused')
except Exception as e:
    say('rename-out', 'refused', 'refused')
tried += 1
try:
    Path(host('out')).rmdir()
    say('remove-out', 'POSSIBLE', 'refused')
except Exception as e:
    say('remove-out', 'refused', 'refused')
tried += 1
try:
    names = [str(p) for p in Path(slash).iterdir()]
    say('list-root', 'POSSIBLE' if host('etc') in names or host('gate') in names else 'own', 'own|refused')
except Exception as e:
    say('list-root', 'refused', 'own|refused')
tried += 1
try:
    def deep(n):
        return deep(n + 1)
    deep(0)
    say('recursion', 'POSSIBLE', 'refused')
except RecursionError:
    say('recursion', 'refused', 'refused')
tried += 1
try:
    base = ().__class__.__base__
    subclasses = base.__subclasses__()
    say('subclasses', 'POSSIBLE', 'refused')
except Exception as e:
    say('subclasses', 'refused', 'refused')
print('tried | ' + str(tried) + ' | ' + str(tried))
