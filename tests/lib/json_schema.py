# SPDX-License-Identifier: MIT
"""Checks JSON against a schema: what data/analysis.schema.json uses of JSON Schema, draft 7. A keyword that is not known
fails, so that none is ignored."""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
         "null": type(None)}
NO_RULE = ("$schema", "title", "description", "definitions")


class Mismatch(Exception):
    pass


def has_type(value, name):
    # true is an int in Python.
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


class Checker:
    def __init__(self, schema):
        self.schema = schema

    def definition(self, name):
        return self.schema["definitions"][name]

    def fits(self, value, schema):
        try:
            self.check(value, schema)
        except Mismatch:
            return False
        return True

    def check(self, value, schema, path="$"):
        """Raises Mismatch where VALUE does not fit SCHEMA."""
        for keyword, rule in schema.items():
            if keyword not in NO_RULE:
                getattr(self, "check_" + keyword.replace("$", ""))(value, rule, schema, path)

    def require(self, fits, path, what):
        if not fits:
            raise Mismatch(f"{path}: {what}")

    def check_ref(self, value, rule, _, path):
        assert rule.startswith("#/definitions/"), rule
        self.check(value, self.definition(rule.removeprefix("#/definitions/")), path)

    def check_type(self, value, rule, _, path):
        names = [rule] if isinstance(rule, str) else rule
        self.require(any(has_type(value, name) for name in names), path, f"{value!r} is not of type {names}")

    def check_enum(self, value, rule, _, path):
        self.require(value in rule, path, f"{value!r} is none of {rule}")

    def check_const(self, value, rule, _, path):
        self.require(value == rule, path, f"{value!r} is not {rule!r}")

    def check_minimum(self, value, rule, _, path):
        self.require(not has_type(value, "number") or value >= rule, path, f"{value} is less than {rule}")

    def check_required(self, value, rule, _, path):
        for name in rule if isinstance(value, dict) else ():
            self.require(name in value, path, f"has no member {name}")

    def check_properties(self, value, rule, _, path):
        for name, member in value.items() if isinstance(value, dict) else ():
            if name in rule:
                self.check(member, rule[name], f"{path}.{name}")

    def check_patternProperties(self, value, rule, _, path):
        for name, member in value.items() if isinstance(value, dict) else ():
            for pattern, schema in rule.items():
                if re.search(pattern, name):
                    self.check(member, schema, f"{path}.{name}")

    def check_additionalProperties(self, value, rule, schema, path):
        for name, member in value.items() if isinstance(value, dict) else ():
            if name in schema.get("properties", {}) or \
                    any(re.search(pattern, name) for pattern in schema.get("patternProperties", {})):
                continue
            self.require(rule is not False, path, f"the member {name} is not in the schema")
            self.check(member, rule, f"{path}.{name}")

    def check_propertyNames(self, value, rule, _, path):
        for name in value if isinstance(value, dict) else ():
            self.check(name, rule, f"{path}, the name {name}")

    def check_items(self, value, rule, _, path):
        for i, item in enumerate(value if isinstance(value, list) else ()):
            self.check(item, rule, f"{path}[{i}]")

    def check_minItems(self, value, rule, _, path):
        self.require(not isinstance(value, list) or len(value) >= rule, path, f"has less than {rule} items")

    def check_maxItems(self, value, rule, _, path):
        self.require(not isinstance(value, list) or len(value) <= rule, path, f"has more than {rule} items")

    def check_allOf(self, value, rule, _, path):
        for schema in rule:
            self.check(value, schema, path)

    def check_anyOf(self, value, rule, _, path):
        self.require(any(self.fits(value, schema) for schema in rule), path, "fits none of anyOf")

    def check_if(self, value, rule, schema, path):
        if self.fits(value, rule):
            self.check(value, schema["then"], path)

    def check_then(self, *_):
        pass  # of `if`
