"""From a stack file, or from what the engine hands over, to plain values with their places.

Nothing here judges what a fleet means. What is refused is what two readers would understand differently: the engine
retypes unquoted dates and odd numbers, sorts keys, flattens merge keys and drops tags when it rewrites the file.
"""

from berth.loader.locate import locate
from berth.loader.positions import SourceMap, sort_by_place
from berth.loader.stack_file import StackFile, read_config, read_stack

__all__ = ["SourceMap", "StackFile", "locate", "read_config", "read_stack", "sort_by_place"]
