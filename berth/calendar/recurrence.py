"""Recurrence rules (RFC 5545), of which maintenance windows and windows of guarantees use the same parts."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def parsed_rule(recurrence: str) -> dict[str, str] | None:
    """Return the parts of a rule by name, or None for one with other parts than FREQ, INTERVAL, BYDAY, BYMONTHDAY."""
    parts = {name: value for name, _, value in (part.partition("=") for part in recurrence.split(";"))}
    is_monthly = parts["FREQ"] == "MONTHLY"
    day, number = rf"{'[1-4]' if is_monthly else ''}({'|'.join(_DAYS)})", "([1-9]|[12][0-9]|3[01])"
    known = {"FREQ": ".+", "INTERVAL": "[1-9]", "BYDAY": f"{day}(,{day})*", "WKST": "|".join(_DAYS)}
    if is_monthly and "BYDAY" not in parts:
        known["BYMONTHDAY"] = f"{number}(,{number})*"
    return parts if all(re.fullmatch(known.get(name, ""), value) for name, value in parts.items()) else None


def recurs(rule: dict[str, str], first: date, days: int) -> bool:
    """Return whether a window begins this many days after the first."""
    today, interval = first + timedelta(days=days), int(rule.get("INTERVAL", "1"))
    weekday = _DAYS[today.weekday()]
    if rule["FREQ"] == "MONTHLY":
        months = (today.year - first.year) * 12 + today.month - first.month
        of_week, of_month = f"{(today.day + 6) // 7}{weekday}", rule.get("BYMONTHDAY", str(first.day))
        is_day = of_week in rule["BYDAY"].split(",") if "BYDAY" in rule else str(today.day) in of_month.split(",")
        return months % interval == 0 and is_day
    if rule["FREQ"] == "WEEKLY":
        weeks = (days + (first.weekday() - _DAYS.index(rule.get("WKST", "MO"))) % 7) // 7
        return weeks % interval == 0 and weekday in rule.get("BYDAY", _DAYS[first.weekday()]).split(",")
    return days % interval == 0 and weekday in rule.get("BYDAY", weekday).split(",")


def period_days(rule: dict[str, str]) -> int:
    """Return after how many days the windows of a daily or weekly rule fall on the same weekdays again."""
    return int(rule.get("INTERVAL", "1")) * 7
