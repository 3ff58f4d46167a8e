"""The schema files of this package, from the models: `python -m scenarios.schema`."""

import json

from scenarios.schema import json_schema
from scenarios.schema.export import schema_file
from scenarios.sweep.points import json_schema as sweep_schema

if __name__ == "__main__":
    for kind, schema in (("scenario", json_schema()), ("sweep", sweep_schema())):
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        schema_file("sweep" if kind == "sweep" else "scenario").write_text(text, encoding="utf-8")
