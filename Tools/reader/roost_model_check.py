"""The check of a model store: whether indexes, links and counts say what the records say (SPEC.md 16, 17)."""

import math

import roost_history
import roost_keys
import roost_records
from roost_cbor import DECIMAL, CodedError, Tagged, decimal, encode
from roost_format import hash64
from roost_records import CODED, DECIMAL_FIELD, Damage, Date, Schema, as_current

KEPT = 900  # bytes of an index key's components that are kept


def check_models(store):
    """The problems as lines of text, none when the model layer's tables agree with each other."""
    if b'\0schema' not in store.tables:
        return []
    try:
        schema = Schema(store)
    except (CodedError, KeyError) as problem:
        return [f'schema: {problem!r}']
    problems, entities = [], {}
    for name in schema.entities:
        records = list(schema.records(name))
        for record in records:
            for field, value in record.values.items():
                if isinstance(value, Damage):
                    problems.append(f'{name} {record.identifier}, {field}: {value.why}')
        entities[name] = {record.identifier: as_current(schema, record) for record in records}
        problems += _check_counts(schema, name, records)
    problems += _check_identifiers(store, entities)
    problems += _check_history(store, schema)
    problems += _check_families(store, schema)
    for name, shape in schema.entities.items():
        for kind in ('index', 'unique'):
            for names in shape.row.get('indexes' if kind == 'index' else 'uniques', ()):
                problems += _check_index(store, shape, kind, names, entities[name])
        for item in shape.properties:
            if 'relationship' in item:
                problems += _check_relationship(schema, shape, item, entities)
    return problems


def _check_counts(schema, name, records):
    """[M-8]"""
    problems = []
    for number, count in schema.counts.items():
        if schema.shapes[number].lineage == schema.entities[name].lineage:
            found = sum(record.shape == number for record in records)
            if found != count:
                problems.append(f'{name}: {found} records have shape {number}, its count says {count}')
    for number in {record.shape for record in records}:
        if number != schema.entities[name].number and number not in schema.counts:
            problems.append(f'{name}: records have shape {number}, which has no count')
    return problems


def _check_identifiers(store, entities):
    """[R-2]"""
    problems, owners = [], {}
    counters = dict(store.tables[b'counters'].items()) if b'counters' in store.tables else {}
    following = int.from_bytes(counters.get(b'next number', b'\xff' * 8), 'big')
    newest = int.from_bytes(counters.get(b'commit', b'\xff' * 8), 'big')
    for name, records in entities.items():
        for identifier, record in records.items():
            if identifier in owners:
                problems.append(f'identifier {identifier} is in {owners[identifier]} and {name}')
            owners[identifier] = name
            if not 1 <= identifier < following:
                problems.append(f'{name} {identifier}: the identifier was never given out')
            if record.commit > newest:
                problems.append(
                    f'{name} {identifier}: written by commit {record.commit}, the newest is {newest}'
                )
    return problems


def _check_history(store, schema):
    """[R-20, R-21, R-23]"""
    problems = []
    counters = dict(store.tables[b'counters'].items()) if b'counters' in store.tables else {}
    newest = int.from_bytes(counters.get(b'commit', b'\xff' * 8), 'big')
    try:
        for commit, save in roost_history.saves(store):
            if not 1 <= commit <= newest:
                problems.append(f'history: commit {commit}, the newest is {newest}')
            for changes in save.changes:
                if changes.shape not in schema.shapes:
                    problems.append(f'history of commit {commit}: shape {changes.shape}, which is not known')
                    continue
                count = len(schema.shapes[changes.shape].properties)
                places = [place for _, places in changes.updated for place in places]
                places += [place for _, values in changes.deleted for place in values]
                if any(place >= count for place in places):
                    problems.append(f'history of commit {commit}: a property that the shape does not have')
    except roost_history.HistoryError as problem:
        problems.append(f'history: {problem}')
    return problems


def _check_families(store, schema):
    """[R-19] No value of a uniqueness rule is in the tables of two entities of a family."""
    problems, families = [], {}
    for shape in schema.entities.values():
        for names in shape.row.get('uniques', ()):
            top = shape
            while (parent := schema.entities.get(top.row.get('parent'))) and names in parent.row.get('uniques', ()):
                top = parent
            families.setdefault((top.name, tuple(names)), []).append(shape.name)
    for (_, names), members in families.items():
        owners = {}
        for member in members:
            table = f'unique/{member}/{",".join(names)}'.encode('utf-8')
            for key, _ in store.tables[table].items() if len(members) > 1 and table in store.tables else ():
                if key in owners:
                    problems.append(f'unique {names}: a value is in {owners[key]} and {member}')
                owners[key] = member
    return problems


def _component(item, value):
    """[R-14]"""
    if isinstance(value, Tagged) and item['type'] == DECIMAL_FIELD:
        return roost_keys.decimal(decimal(value.value))
    if value is not None and item['type'] == CODED:
        return roost_keys.component(encode(value))
    if isinstance(value, Date):
        return roost_keys.component(roost_keys.Date(value.seconds))
    if value is not None and item['type'] == roost_records.REFERENCE:
        return roost_keys.component(roost_keys.Identifier(value))
    return roost_keys.component(value)


def _equals_nothing(value):
    """[R-15] nil and NaN."""
    if isinstance(value, Date):
        value = value.seconds
    if value is None or (isinstance(value, Tagged) and value.tag == DECIMAL and value.value is None):
        return True
    return isinstance(value, float) and math.isnan(value)


def _index_row(kind, items, record):
    """[R-1, R-16] The key and value of a record's row, or None when it has none."""
    values = [record.values.get(item['name']) for item in items]
    if kind == 'unique' and any(map(_equals_nothing, values)):
        return None
    components = b''.join(_component(item, value) for item, value in zip(items, values))
    kept, cut = components[:KEPT], components[KEPT:]
    number = record.identifier.to_bytes(8, 'big')
    if kind == 'index':
        return kept + roost_keys.component(roost_keys.Identifier(record.identifier)), b''
    return kept + (roost_keys.integer(hash64(cut, 0)) if cut else b''), number


def _check_index(store, shape, kind, names, records):
    """[R-15] An index has exactly the rows of its records."""
    table_name = f'{kind}/{shape.name}/{",".join(names)}'.encode('utf-8')
    schema_rows = dict(store.tables[b'\0schema'].items())
    if b'index' + table_name in schema_rows:
        return []
    by_name = {item['name']: item for item in shape.properties}
    if not by_name.keys() >= set(names):
        return [f'{shape.name}: {kind} of {names}, which are not all properties']
    items = [by_name[name] for name in names]
    wanted = {}
    for record in records.values():
        if not any(isinstance(record.values.get(name), Damage) for name in names):
            row = _index_row(kind, items, record)
            if row:
                wanted[row[0]] = row[1]
    found = dict(store.tables[table_name].items()) if table_name in store.tables else {}
    problems = []
    what = table_name.decode('utf-8')
    for key in sorted(wanted.keys() - found.keys())[:4]:
        problems.append(f'{what}: no row {key.hex()}')
    for key in sorted(found.keys() - wanted.keys())[:4]:
        problems.append(f'{what}: row {key.hex()} of no record')
    for key in sorted(wanted.keys() & found.keys()):
        if wanted[key] != found[key]:
            problems.append(f'{what}: row {key.hex()} leads to {found[key].hex()}')
    return problems


def _targets(record, item):
    value = record.values.get(item['name'])
    return value if isinstance(value, list) else [] if value is None or isinstance(value, Damage) else [value]


def _is_kind_of(schema, name, ancestor):
    while name is not None and name != ancestor:
        name = schema.entities[name].row.get('parent') if name in schema.entities else None
    return name is not None


def _check_relationship(schema, shape, item, entities):
    """[R-3, R-18] Members exist, and the inverse leads back."""
    relation, problems = item['relationship'], []
    for name, other in ((shape.name, item['name']), (relation['to'], relation.get('inverse'))):
        if f'links/{name}/{other}'.encode('utf-8') in schema.building:
            return []
    destination = {}
    for name in schema.entities:
        if _is_kind_of(schema, name, relation['to']):
            destination.update(entities[name])
    inverse = None
    if relation.get('inverse') and relation['to'] in schema.entities:
        inverse = next(
            (p for p in schema.entities[relation['to']].properties if p['name'] == relation['inverse']), None
        )
    may_dangle = not relation.get('inverse') or bool(
        inverse and item['kind'] == 'toOne' and inverse['relationship']['delete'] == 'noAction'
    )
    for record in entities[shape.name].values():
        for target in _targets(record, item):
            what = f'{shape.name} {record.identifier}, {item["name"]}'
            if schema.waits(schema.shapes[record.shape]):
                continue
            if target not in destination:
                if not may_dangle or any(target in records for records in entities.values()):
                    problems.append(f'{what}: leads to {relation["to"]} {target}, which does not exist')
            elif inverse and record.identifier not in _targets(destination[target], inverse):
                problems.append(f'{what}: {relation["to"]} {target} does not lead back by {inverse["name"]}')
    return problems
