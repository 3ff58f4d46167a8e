"""The file of `netsim deploy --agents-on`: which agent runs where."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from netsim.errors import ScenarioError
from netsim.readers.deployed import hosts
from scenarios.files import mistakes
from scenarios.files.document import keys_of
from scenarios.files.library import read_fields, read_text
from scenarios.schema.spec import OF_TYPE, Spec


class PlaceSpec(Spec, of=hosts.Place): ...


class HostSpec(Spec, of=hosts.Host): ...


OF_TYPE[hosts.Place], OF_TYPE[hosts.Host] = PlaceSpec, HostSpec


class HostsSpec(Spec, of=hosts.Hosts): ...


def load_hosts(path: Path) -> hosts.Hosts:
    """Hosts of a YAML file. You get one `ScenarioError` with all its mistakes: file, line, field, value, what is
    allowed."""
    file = str(path)
    tree = read_fields(read_text(path), file, "coordinator: {address: …, port: …}, agents: […]")
    spec = mistakes.validated(cast("Any", HostsSpec), tree, file)
    try:
        return spec.build()
    except ScenarioError as error:
        place = mistakes.where(tree, keys_of(error.field), file)
        raise replace(error, file=place.file, line=place.line) from None
