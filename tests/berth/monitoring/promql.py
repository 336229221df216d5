"""Expressions of PromQL, parsed: which series they select, with which labels, and inside which functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser
from msgspec import Struct

_RANGE_FUNCTIONS = ("rate", "increase", "delta", "sum_over_time", "avg_over_time", "count_over_time")


class Selection(Struct, frozen=True):
    """A selector: the series, the labels it is matched by, and the function over its range (empty without a range)."""

    series: str
    labels: tuple[str, ...]
    function: str = ""


def selections(text: str) -> list[Selection]:
    """Every selector of an expression; raises ValueError where the text is no PromQL."""
    return list(_walk(promql_parser.parse(text)))


def _walk(node: Any, function: str = "") -> Iterator[Selection]:
    match node:
        case promql_parser.VectorSelector():
            yield Selection(node.name or "", tuple(each.name for each in node.matchers.matchers), function)
        case promql_parser.MatrixSelector():
            yield from _walk(node.vector_selector, function)
        case promql_parser.Call():
            inner = node.func.name if node.func.name in _RANGE_FUNCTIONS else ""
            for argument in node.args:
                yield from _walk(argument, inner)
        case promql_parser.BinaryExpr():
            yield from _walk(node.lhs)
            yield from _walk(node.rhs)
        case promql_parser.AggregateExpr() | promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            yield from _walk(node.expr)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            pass
        case _:
            raise TypeError(f"a part of PromQL that no expression of Berth needs: {node}")


def labels_of_result(text: str) -> tuple[str, ...] | None:
    """The labels that the outermost aggregation keeps; None where nothing is aggregated."""
    return _kept(promql_parser.parse(text))


def _kept(node: Any) -> tuple[str, ...] | None:
    match node:
        case promql_parser.AggregateExpr() if node.modifier is not None:
            return tuple(node.modifier.labels)
        case promql_parser.AggregateExpr():
            return _kept(node.expr) if str(node.op) in ("topk", "bottomk") else ()
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            return _kept(node.expr)
        case promql_parser.BinaryExpr():
            left, right = _kept(node.lhs), _kept(node.rhs)
            return right if isinstance(node.lhs, promql_parser.NumberLiteral) else left
        case promql_parser.Call():
            kept = [_kept(each) for each in node.args]
            labels = next((each for each in kept if each is not None), None)
            return tuple(each for each in labels if each != "le") if labels is not None else None
        case _:
            return None
