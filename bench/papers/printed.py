"""Published numbers with their decimals."""

from decimal import Decimal
from math import isfinite
from typing import Any

import yaml
from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from bench.files.yaml_file import Loader, construct_value


class Printed(float):
    """A published number with its decimals: 0.20 differs from 0.2."""

    decimals: int = 0

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of a number that keeps its decimals."""

        def read(value: Any, check: core_schema.ValidatorFunctionWrapHandler) -> Printed:
            number = check(value)
            return value if isinstance(value, cls) else cls(number)

        number = core_schema.float_schema(strict=True, allow_inf_nan=False)
        return core_schema.no_info_wrap_validator_function(read, number)


class PrintedLoader(Loader):
    """YAML loader that keeps the decimals of numbers."""


def _construct_printed(loader: Any, node: yaml.ScalarNode) -> Printed:
    number = Printed(construct_value(loader, node))
    if isfinite(number):
        number.decimals = max(0, -int(Decimal(node.value).as_tuple().exponent))
    return number


PrintedLoader.add_constructor("tag:yaml.org,2002:float", _construct_printed)
