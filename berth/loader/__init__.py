"""Load stack files, or the config that Pulumi passes on, as plain values with positions.

This package does not check what a fleet means. It reports YAML that two parsers would read differently: Pulumi changes
the type of unquoted dates and odd numbers, sorts keys, flattens merge keys and drops tags when it rewrites the file.
"""

from berth.loader.locate import locate
from berth.loader.positions import SourceMap
from berth.loader.stack_file import StackFile, read_config, read_stack
from berth.loader.team_defaults import with_team_defaults

__all__ = ["SourceMap", "StackFile", "locate", "read_config", "read_stack", "with_team_defaults"]
