"""The JSON schema of suite files: editors check and complete with it."""

from typing import Any

from bench.cells import CELLS
from bench.suites.shared_scales import shipped_scales
from bench.suites.suite_file import SuiteFile


def suite_schema() -> dict[str, Any]:
    """Return the schema: a suite's keys, and for each experiment the settings it takes."""
    schema = SuiteFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "A suite of bench"
    like = schema["$defs"]["ScaleEntry"]["properties"]["like"]
    like["examples"] = list(shipped_scales())  # one's own beside the suites are allowed too
    schema["properties"]["experiment"] = {"enum": list(CELLS)}
    schema["allOf"] = [_rule(name) for name in CELLS]
    return schema


def _rule(experiment: str) -> dict[str, Any]:
    """Return: where this is the only experiment, settings are those of its cells."""
    kind = CELLS[experiment]
    full = kind.model_json_schema()
    names = kind.setting_names()
    settings = {name: full["properties"][name] for name in names}
    axes = {name: {"type": "array", "items": value} for name, value in settings.items()}
    closed = {"type": "object", "additionalProperties": False}
    return {
        "if": {
            "properties": {"experiment": {"const": experiment}},
            "not": {"required": ["grids"]},
        },
        "then": {
            "properties": {
                "fixed": closed | {"properties": settings},
                "assumed": closed | {"properties": dict.fromkeys(names, True)},
                "grid": closed | {"properties": axes},
            }
        },
    }
